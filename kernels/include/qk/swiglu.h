// Owns the gated activation of experts: m = silu(min(gate, limit)) * clamp(up, -limit, limit) * weight. A
// file's limit of 0 means none: pass infinity then.
#pragma once

#include <cstdint>

#include "qk/isa.h"

namespace qk::cpu {

// out [n], (silu * up) * weight in this order; the shared expert has weight 1. out may be gate or up. Fused
// kernels in cpu/simd call swiglu16 of cpu/simd/vector_math.h: the same bits.
void swiglu(Isa isa, const float* gate, const float* up, std::int64_t n, float limit, float weight,
            float* out);

}  // namespace qk::cpu

namespace qk::reference {

void swiglu(const double* gate, const double* up, std::int64_t n, double limit, double weight, double* out);

}  // namespace qk::reference
