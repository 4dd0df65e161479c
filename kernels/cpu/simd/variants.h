// Owns the declarations of what cpu/simd defines for every instruction set; the public headers say what each
// does.
#pragma once

#include "cpu/dispatch.h"
#include "qk/attention.h"
#include "qk/hyper.h"

namespace qk {

// Rows beyond its last that a tile of staged rows may be read at; nothing of them is used.
inline constexpr std::int64_t kAttentionTilePadding = 16;

// Of scores that are numbers; how many these are.
struct ScoreRange {
  float lowest, highest;
  std::int64_t numbers;
};

// What qk::cpu::indexerScores hands to the instruction sets.
struct IndexerOperands {
  std::int64_t heads, dim;
  const std::int8_t* queryCodes;
  const float* queryScales;
  const std::int32_t* queryOffsets;
  const float* queryValues;  // [dim][heads]
  const float* weights;
  const std::uint8_t* keyCodes;
  const float* keyScales;
  const float* keyValues;
  bool rounded;
};

}  // namespace qk

// clang-format off
QK_DECLARE_VARIANTS(
  void exp(const float* x, std::int64_t n, float* y);
  void log1pUnit(const float* x, std::int64_t n, float* y);
  void sigmoid(const float* x, std::int64_t n, float* y);
  void silu(const float* x, std::int64_t n, float* y);
  void softplus(const float* x, std::int64_t n, float* y);
  float dot(const float* a, const float* b, std::int64_t n);
  float sum(const float* a, std::int64_t n);
  void swiglu(const float* gate, const float* up, std::int64_t n, float limit, float weight, float* out);

  void rmsNorm(const float* x, std::int64_t rows, std::int64_t n, const float* weight, float eps, float* y);
  // direction +1 forward, -1 inverse.
  void rope(float* x, std::int64_t rows, std::int64_t n, std::int64_t ropeDims, const float* tableRow,
            float direction);

  void roundTripE4m3(float* x, std::int64_t n);
  void roundTripE2m1(float* x, std::int64_t n);
  void hadamard(float* x, std::int64_t n);

  void hyperPre(const HyperSite& site, const float* h, std::int64_t tokens, float* u, float* post,
                float* mix);
  void hyperPost(std::int64_t streams, std::int64_t hidden, const float* y, const float* post,
                 const float* mix, std::int64_t tokens, float* h);
  void hyperHead(const HyperSite& site, const float* h, std::int64_t tokens, float* z);

  // `slots` rows of k and z, each [dim], the next one `stride` floats on, in two runs: previous (may be
  // null), then current.
  void pool(const float* previousK, const float* previousZ, const float* currentK, const float* currentZ,
            std::int64_t slots, std::int64_t stride, std::int64_t dim, float* out);

  // Raw pointers of an IndexerQuery and of IndexerKeys (from group 0).
  void indexerScores(const IndexerOperands& operands, std::int64_t n, float* scores);
  ScoreRange scoreRange(const float* scores, std::int64_t n);
  std::int64_t countAbove(const float* scores, std::int64_t n, float threshold);
  // One group of 16 heads after the other. values: the rows that give values, `keys` unless some are left out.
  void attentionDense(const AttentionOperands& operands, const float* const* values, float* scratch);
  // One block of rows after the other, for all heads; the first `tiled` rows come from the tile.
  void attentionStreamed(const AttentionOperands& operands, bool fastExp, float* scratch);
  void stageRows(const float* rows, std::int64_t count, std::int64_t dim, float* tile);
  // a[i] = sqrt(softplus(logits[i])).
  void affinity(const float* logits, std::int64_t n, float* a);
)
// clang-format on
