// Owns the rotation of vectors by one row of a RopeTable (qk/rope.h has its layout).
#include "cpu/simd/variants.h"
#include "cpu/simd/vector.h"

namespace qk::QK_ISA {

// (x, y) -> (x c - y s, y c + x s): the product with the cosine is rounded, the other is fused.
void rope(float* x, std::int64_t rows, std::int64_t n, std::int64_t ropeDims, const float* tableRow,
          float direction) {
  const float* cosines = tableRow;
  const float* sines = tableRow + ropeDims;
  const F16 sign = broadcast(direction);
  for (std::int64_t i = 0; i < ropeDims; i += 16) {
    const std::int64_t lanes = ropeDims - i;
    const F16 c = loadFirst(cosines + i, lanes);
    const F16 s = loadFirst(sines + i, lanes) * sign;
    float* p = x + (n - ropeDims) + i;
    for (std::int64_t row = 0; row < rows; ++row, p += n) {
      const F16 v = loadFirst(p, lanes);
      storeFirst(p, lanes, fma(exchange<1>(v), s, v * c));
    }
  }
}

}  // namespace qk::QK_ISA
