// Owns the choice of instruction set for math.h and swiglu.h.
#include "qk/math.h"

#include "cpu/simd/variants.h"
#include "qk/swiglu.h"

namespace qk::cpu {

void exp(Isa isa, const float* x, std::int64_t n, float* y) { QK_PICK(isa, exp)(x, n, y); }
void log1pUnit(Isa isa, const float* x, std::int64_t n, float* y) { QK_PICK(isa, log1pUnit)(x, n, y); }
void sigmoid(Isa isa, const float* x, std::int64_t n, float* y) { QK_PICK(isa, sigmoid)(x, n, y); }
void silu(Isa isa, const float* x, std::int64_t n, float* y) { QK_PICK(isa, silu)(x, n, y); }
void softplus(Isa isa, const float* x, std::int64_t n, float* y) { QK_PICK(isa, softplus)(x, n, y); }

float dot(Isa isa, const float* a, const float* b, std::int64_t n) { return QK_PICK(isa, dot)(a, b, n); }
float sum(Isa isa, const float* a, std::int64_t n) { return QK_PICK(isa, sum)(a, n); }

void swiglu(Isa isa, const float* gate, const float* up, std::int64_t n, float limit, float weight,
            float* out) {
  QK_PICK(isa, swiglu)(gate, up, n, limit, weight, out);
}

}  // namespace qk::cpu
