// Owns the array forms of the transcendental functions, dot and sum.
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
