// Owns RMSNorm.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

void rmsNorm(const float* x, std::int64_t rows, std::int64_t n, const float* weight, float eps, float* y) {
  const std::int64_t whole = n / 16 * 16;
  for (std::int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const float mean = dot(x, x, n) / static_cast<float>(n);
    const F16 r = broadcast(1.0f / __builtin_sqrtf(mean + eps));
    if (weight != nullptr) {
      for (std::int64_t i = 0; i < whole; i += 16) store(y + i, load(x + i) * r * load(weight + i));
      if (whole < n) {
        storeFirst(y + whole, n - whole,
                   loadFirst(x + whole, n - whole) * r * loadFirst(weight + whole, n - whole));
      }
    } else {
      for (std::int64_t i = 0; i < whole; i += 16) store(y + i, load(x + i) * r);
      if (whole < n) storeFirst(y + whole, n - whole, loadFirst(x + whole, n - whole) * r);
    }
  }
}

}  // namespace qk::QK_ISA
