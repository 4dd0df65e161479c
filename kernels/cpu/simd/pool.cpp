// Owns the compressor's pooling: a softmax per channel over slots.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

void pool(const float* previousK, const float* previousZ, const float* currentK, const float* currentZ,
          std::int64_t slots, std::int64_t stride, std::int64_t dim, float* out) {
  const float* const k[2] = {previousK, currentK};
  const float* const z[2] = {previousZ, currentZ};
  const int firstRun = previousZ != nullptr ? 0 : 1;
  for (std::int64_t d = 0; d < dim; d += 16) {
    const std::int64_t lanes = dim - d;
    F16 top = broadcast(-__builtin_inff());
    for (int run = firstRun; run < 2; ++run) {
      for (std::int64_t s = 0; s < slots; ++s) top = max(top, loadFirst(z[run] + s * stride + d, lanes));
    }
    F16 total = zero();
    F16 acc = zero();
    for (int run = firstRun; run < 2; ++run) {
      for (std::int64_t s = 0; s < slots; ++s) {
        const F16 e = exp16(loadFirst(z[run] + s * stride + d, lanes) - top);
        total = total + e;
        acc = fma(e, loadFirst(k[run] + s * stride + d, lanes), acc);
      }
    }
    storeFirst(out + d, lanes, acc / total);
  }
}

}  // namespace qk::QK_ISA
