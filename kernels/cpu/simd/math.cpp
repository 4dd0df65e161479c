// Owns the array forms of the transcendental functions, dot and sum.
//
// exp: 8 bytes a value and a polynomial, so operations are the floor. Reached: 2048 values in 0.76 us with AVX-512
// (Intel; 26 % of the rate of fma alone, 12 times libm), 2.9 us with AVX2 (Zen 1, 2.0 GHz; 28 %, 2.6 times).
// swiglu: one exp and one division for two values read and one written, 12 bytes: memory is the floor beyond the
// caches. Reached: 2 M outputs in 4.7 ms (Intel), 8.7 ms (Zen 1), one thread. dot and sum: 16 chains, in the order
// that qk/math.h fixes; they serve short rows.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

namespace {

template <typename Function>
QK_INLINE void each(const float* x, std::int64_t n, float* y, Function function) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, function(load(x + i)));
  if (i < n) storeFirst(y + i, n - i, function(loadFirst(x + i, n - i)));
}

}  // namespace

void exp(const float* x, std::int64_t n, float* y) {
  each(x, n, y, [](F16 v) QK_LAMBDA { return exp16(v); });
}

void log1pUnit(const float* x, std::int64_t n, float* y) {
  each(x, n, y, [](F16 v) QK_LAMBDA { return log1pUnit16(v); });
}

void sigmoid(const float* x, std::int64_t n, float* y) {
  each(x, n, y, [](F16 v) QK_LAMBDA { return sigmoid16(v); });
}

void silu(const float* x, std::int64_t n, float* y) {
  each(x, n, y, [](F16 v) QK_LAMBDA { return silu16(v); });
}

void softplus(const float* x, std::int64_t n, float* y) {
  each(x, n, y, [](F16 v) QK_LAMBDA { return softplus16(v); });
}

float dot(const float* a, const float* b, std::int64_t n) {
  F16 acc = zero();
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) acc = fma(load(a + i), load(b + i), acc);
  if (i < n) acc = fma(loadFirst(a + i, n - i), loadFirst(b + i, n - i), acc);
  return sumOfLanes(acc);
}

float sum(const float* a, std::int64_t n) {
  F16 acc = zero();
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) acc = acc + load(a + i);
  if (i < n) acc = acc + loadFirst(a + i, n - i);
  return sumOfLanes(acc);
}

void swiglu(const float* gate, const float* up, std::int64_t n, float limit, float weight, float* out) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(out + i, swiglu16(load(gate + i), load(up + i), limit, weight));
  if (i < n) {
    storeFirst(out + i, n - i,
               swiglu16(loadFirst(gate + i, n - i), loadFirst(up + i, n - i), limit, weight));
  }
}

}  // namespace qk::QK_ISA
