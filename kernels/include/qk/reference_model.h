// Owns the oracle: the whole model in fp64, read off its formulae. Nothing is cached, chunked or fused; a
// forward of T tokens costs O(T^2). What it computes is the definition that the fast path is held against.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "qk/dimensions.h"

namespace qk::reference {

using Values = std::vector<double>;

struct HyperWeights {
  Values fn, scale, base;  // [n*(2+n)][n*D], [3], [n*(2+n)]; head: [n][n*D], [1], [n]
};

struct CompressorWeights {
  Values kv, gate, ape, norm;  // [c*dim][D], [c*dim][D], [ratio][c*dim], [dim]; c = 2 at ratio 4, else 1
};

// Matrices are row-major [rows][cols], cols contiguous as in the file.
struct LayerWeights {
  HyperWeights hyperAttention, hyperFfn;
  Values attentionNorm, queryA, queryANorm, queryB, kv, kvNorm, sinks, outputA, outputB;
  CompressorWeights compressor;         // ratio 4 and 128
  CompressorWeights indexerCompressor;  // ratio 4
  Values indexerWeights,
      indexerQueryB;  // [indexer heads][D], [indexer heads * indexer dim][queryRank]; ratio 4
  Values ffnNorm, router, routerBias;   // routerBias empty in hash layers
  std::vector<std::int32_t> hashTable;  // [V][k] in hash layers, else empty
  Values gate, up, down;                // [E][F][D], [E][F][D], [E][D][F]
  Values sharedGate, sharedUp, sharedDown;
};

struct Weights {
  Values embedding, outputNorm, output;  // [V][D], [D], [V][D]
  HyperWeights head;
  std::vector<LayerWeights> layers;
};

// Asks for every tensor by its name in the file ("token_embd.weight", "blk.3.hc_attn_fn.weight", ...) and
// checks its size; throws std::invalid_argument naming the tensor otherwise. I32 tables arrive as doubles
// too.
Weights loadWeights(const Dimensions& dimensions,
                    const std::function<Values(const std::string& name)>& tensor);

class Model {
 public:
  Model(Dimensions dimensions, Weights weights);
  const Dimensions& dimensions() const { return dimensions_; }
  // Logits [T][V] of a cold run over `tokens`; throws std::out_of_range for an id outside the vocabulary.
  Values forward(const std::vector<std::int32_t>& tokens) const;

 private:
  Dimensions dimensions_;
  Weights weights_;
};

}  // namespace qk::reference
