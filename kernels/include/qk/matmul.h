// Owns y = W x for many tokens. Every output is one chain in ascending k, so that tiles, threads, chunks and
// instruction sets do not change its bits.
#pragma once

#include <cstdint>

#include "qk/activations.h"
#include "qk/execution.h"
#include "qk/packed_weights.h"
#include "qk/token_tiles.h"

namespace qk {

// Activations of some tokens, in fp32, in int8, or both; a matmul reads the one that its weight type takes.
// Token t is row t, or row index[t] when `index` is given.
struct Inputs {
  const float* values = nullptr;            // row r at values + r * valueStride
  std::int64_t valueStride = 0;             // floats
  const ActivationBlock* blocks = nullptr;  // row r at blocks + r * blockStride
  std::int64_t blockStride = 0;             // blocks
  const std::int32_t* index = nullptr;
};

// x [T][cols] contiguous, with its int8 form (may be null when every weight that will read it is a float
// type).
Inputs inputs(const float* x, std::int64_t cols, const Activations* quantised);

// y[t][r] = sum_k W[r][k] x[t][k], t < tokens, r < W.rows; token t at y + t * yStride floats.
// F32/F16/BF16: acc = fma(w, x, acc) from +0, k ascending. Quantised: for each block of 128, bacc = +0, for
// each group of one weight scale bacc = fma(float(exact integer dot), scale, bacc); then acc = fma(bacc,
// activation scale, acc). Q2_K has bacc = fma(float(S), d, float(N) * dmin) with S = sum(scale * code * x) and
// N = sum(minimum * -x), both exact. tokenTiles changes no bit. Throws std::invalid_argument when the form of x
// that W takes is missing.
void matmul(Execution& ex, const PackedMatrix& w, const Inputs& x, std::int64_t tokens, float* y,
            std::int64_t yStride, TokenTiles tokenTiles = TokenTiles::adaptive);

}  // namespace qk
