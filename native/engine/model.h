// Owns the weights of an open model: matrices packed for the kernels, vectors decoded to fp32, and the file,
// whose pages are given back once a tensor has been packed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "gguf_reader.h"
#include "qk/dimensions.h"
#include "qk/hyper.h"
#include "qk/matrix.h"
#include "qk/owners.h"
#include "qk/packed_weights.h"
#include "qk/placement.h"
#include "qk/reference_model.h"
#include "qk/thread_pool.h"

namespace qe {

// One hyper-connection site; see qk::HyperSite for shapes.
struct HyperWeights {
  std::vector<float> fn, scale, base;
};

struct CompressorWeights {
  qk::PackedWeights kv, gate;    // [c dim][D]
  std::vector<float> ape, norm;  // [ratio][c dim], [dim]
};

struct IndexerWeights {
  qk::PackedWeights queryB, weights;  // [heads dim][queryRank], [heads][D]
  CompressorWeights compressor;
};

struct AttentionWeights {
  HyperWeights hyper;
  std::vector<float> norm, queryNorm, kvNorm, sinks;
  qk::PackedWeights queryA, queryB, kv;
  qk::PackedWeights outputA;  // outputGroups matrices [outputRank][H d / groups]
  qk::PackedWeights outputB;
  std::optional<CompressorWeights> compressor;  // ratio 4 and 128
  std::optional<IndexerWeights> indexer;        // ratio 4
};

struct ExpertWeights {
  HyperWeights hyper;
  std::vector<float> norm;
  qk::PackedWeights router;             // [E][D]
  std::vector<float> bias;              // [E]; empty in hash layers
  std::vector<std::int32_t> hashTable;  // [V][k] in hash layers, else empty
  qk::OwnedLayer routed;                // E matrices each, divided over the owners
  qk::PackedWeights sharedGate, sharedUp, sharedDown;
  float clamp = 0;
};

struct Layer {
  std::int32_t ratio = 0;
  AttentionWeights attention;
  ExpertWeights experts;
};

// How the routed experts are divided over owners: by budget if there is one, else by critical path; loads are
// those of the CSV, else equal.
struct OwnerOptions {
  std::int64_t owners = 1;
  std::optional<std::int64_t> budgetBytes;  // of the first owner's experts, in the file
  std::optional<std::filesystem::path> hotnessCsv;
  double rate = 1;  // of the first owner, where the others have 1
};

class Model {
 public:
  // Throws std::runtime_error naming file and tensor, std::invalid_argument naming the CSV and what is wrong with it.
  Model(const std::filesystem::path& path, qk::ThreadPool& pool, const OwnerOptions& owners = {});

  const qk::Dimensions& dimensions() const { return dimensions_; }
  const std::vector<Layer>& layers() const { return layers_; }
  const qk::Matrix& embedding() const { return embedding_; }  // in the file
  const HyperWeights& headHyper() const { return headHyper_; }
  const std::vector<float>& outputNorm() const { return outputNorm_; }
  const qk::PackedWeights& output() const { return output_; }
  const qk::Placement& placement() const { return placement_; }

  // Everything as doubles, read from the file again.
  qk::reference::Weights referenceWeights() const;

  std::int64_t fileBytes() const { return static_cast<std::int64_t>(file_.sizeBytes()); }
  std::int64_t weightBytes() const;
  // Of the routed experts that an owner holds.
  std::int64_t ownedBytes(std::int64_t owner) const;

 private:
  Gguf file_;
  qk::Dimensions dimensions_;
  qk::Placement placement_;
  qk::Matrix embedding_;
  std::vector<Layer> layers_;
  HyperWeights headHyper_;
  std::vector<float> outputNorm_;
  qk::PackedWeights output_;
};

// The parameters of a site as the kernels take them.
qk::HyperSite hyperSite(const qk::Dimensions& dimensions, const HyperWeights& weights);

}  // namespace qe
