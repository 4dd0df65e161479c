// Owns the transcendental functions of the engine: fixed polynomials with explicit fma, so that a value has
// the same bits on every instruction set (libm's does not). Inside cpu/simd use the vector forms of
// cpu/simd/vector_math.h: the same bits.
#pragma once

#include <cstdint>

#include "qk/isa.h"

namespace qk::cpu {

// y[i] = f(x[i]) for i in [0, n). `y` may be `x`. No allocation. NaN gives NaN.
//   exp       exactly 0 below -87.336 (no denormals), +inf above 88.722
//   log1pUnit ln(1 + x) for 0 <= x <= 1 only
//   sigmoid   1 / (1 + exp(-x))
//   silu      x * sigmoid(x)
//   softplus  max(x, 0) + log1pUnit(exp(-|x|))
void exp(Isa isa, const float* x, std::int64_t n, float* y);
void log1pUnit(Isa isa, const float* x, std::int64_t n, float* y);
void sigmoid(Isa isa, const float* x, std::int64_t n, float* y);
void silu(Isa isa, const float* x, std::int64_t n, float* y);
void softplus(Isa isa, const float* x, std::int64_t n, float* y);

// Reductions in the order that all of this library uses: lane l of 16 takes the elements l, l+16, l+32, ...
// ascending by fma from +0; then lanes l and l+8, l and l+4, l and l+2, l and l+1 are added.
float dot(Isa isa, const float* a, const float* b, std::int64_t n);
float sum(Isa isa, const float* a, std::int64_t n);

}  // namespace qk::cpu
