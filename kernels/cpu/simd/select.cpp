// Owns the passes over scores that selection needs: their range, and how many lie above a threshold.
//
// Bytes: 4 n a pass, of scores that were just written and lie in the first-level cache; n compares. top_k.cpp has
// the number of passes and what the whole reaches.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

namespace {

// Scores start .. start+15; beyond the last one NaN, which no comparison counts.
QK_INLINE F16 scoresAt(const float* scores, std::int64_t start, std::int64_t n) {
  if (n - start >= 16) return load(scores + start);
  alignas(64) float lanes[16];
  for (std::int64_t i = 0; i < 16; ++i) lanes[i] = start + i < n ? scores[start + i] : __builtin_nanf("");
  return load(lanes);
}

}  // namespace

ScoreRange scoreRange(const float* scores, std::int64_t n) {
  const F16 infinity = broadcast(__builtin_inff());
  const F16 one = broadcast(1.0f);
  F16 highest = -infinity;
  F16 lowest = infinity;
  F16 count = zero();
  for (std::int64_t start = 0; start < n; start += 16) {
    const F16 s = scoresAt(scores, start, n);
    highest = max(s, highest);
    lowest = min(s, lowest);
    count = count + ifLess(s, infinity, one, zero()) + ifLess(broadcast(__FLT_MAX__), s, one, zero());
  }
  return {-maxOfLanes(-lowest), maxOfLanes(highest), static_cast<std::int64_t>(sumOfLanes(count))};
}

std::int64_t countAbove(const float* scores, std::int64_t n, float threshold) {
  const F16 limit = broadcast(threshold);
  const F16 one = broadcast(1.0f);
  F16 count = zero();
  std::int64_t start = 0;
  for (; start + 16 <= n; start += 16) count = count + ifLess(limit, load(scores + start), one, zero());
  if (start < n) count = count + ifLess(limit, scoresAt(scores, start, n), one, zero());
  return static_cast<std::int64_t>(sumOfLanes(count));
}

}  // namespace qk::QK_ISA
