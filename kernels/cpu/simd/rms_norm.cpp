// Owns RMSNorm.
//
// Bytes: a row is read twice, the second time from the L1 or L2 cache, and written once: 8 bytes a value from and to
// where it lies. Flops: 4 a value. Floor: the caches' bandwidth; but one chain of fma, which the order of qk::cpu::dot
// asks for, waits the latency of an fma for each 16 values, so kTogether rows go at once and their chains fill the
// pipes.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kTogether = 8;
#else
constexpr int kTogether = 4;
#endif

// Mean squares of Rows rows at once, each in the order of qk::cpu::dot; then every row times 1 / sqrt(mean + eps).
template <int Rows>
void normRows(const float* x, std::int64_t n, const float* weight, float eps, float* y) {
  const std::int64_t whole = n / 16 * 16;
  F16 sums[Rows];
  for (int row = 0; row < Rows; ++row) sums[row] = zero();
  for (std::int64_t i = 0; i < whole; i += 16) {
    for (int row = 0; row < Rows; ++row) {
      const F16 v = load(x + row * n + i);
      sums[row] = fma(v, v, sums[row]);
    }
  }
  for (int row = 0; row < Rows; ++row, x += n, y += n) {
    const F16 rest = whole < n ? loadFirst(x + whole, n - whole) : zero();
    if (whole < n) sums[row] = fma(rest, rest, sums[row]);
    const float mean = sumOfLanes(sums[row]) / static_cast<float>(n);
    const F16 r = broadcast(1.0f / __builtin_sqrtf(mean + eps));
    if (weight != nullptr) {
      for (std::int64_t i = 0; i < whole; i += 16) store(y + i, load(x + i) * r * load(weight + i));
      if (whole < n) storeFirst(y + whole, n - whole, rest * r * loadFirst(weight + whole, n - whole));
    } else {
      for (std::int64_t i = 0; i < whole; i += 16) store(y + i, load(x + i) * r);
      if (whole < n) storeFirst(y + whole, n - whole, rest * r);
    }
  }
}

}  // namespace

void rmsNorm(const float* x, std::int64_t rows, std::int64_t n, const float* weight, float eps, float* y) {
  std::int64_t row = 0;
  for (; row + kTogether <= rows; row += kTogether) normRows<kTogether>(x + row * n, n, weight, eps, y + row * n);
  for (; row < rows; ++row) normRows<1>(x + row * n, n, weight, eps, y + row * n);
}

}  // namespace qk::QK_ISA
