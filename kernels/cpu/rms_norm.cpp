// Owns the choice of instruction set for rms_norm.h.
#include "qk/rms_norm.h"

#include "cpu/simd/variants.h"

namespace qk::cpu {

void rmsNorm(Isa isa, const float* x, std::int64_t rows, std::int64_t n, const float* weight, float eps,
             float* y) {
  QK_PICK(isa, rmsNorm)(x, rows, n, weight, eps, y);
}

}  // namespace qk::cpu
