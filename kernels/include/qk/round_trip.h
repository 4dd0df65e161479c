// Owns the storage roundings of keys: E4M3 per 64 values and E2M1 per 32, both with a power-of-two scale,
// and the orthonormal Hadamard transform in front of the latter. The results are the rounded values
// themselves, in float.
#pragma once

#include <cstdint>

#include "qk/isa.h"

namespace qk {

// The smallest e with amax <= top * 2^e, exactly; amax > 0 and finite, top = 448 (E4M3) or 6 (E2M1).
int scaleExponent(double amax, double top);

}  // namespace qk

namespace qk::cpu {

// x[0, n) in blocks of 64 (the last may be shorter): s = 2^ceil(log2(max(amax, 1e-4) / 448)), x = E4M3(x /
// s) * s, ties to even. In place. Attention keys: n = headDim - ropeDims.
void roundTripE4m3(Isa isa, float* x, std::int64_t n);

// Hadamard (Sylvester order) over n values, n a power of two from 32 on, times n^-0.5 once at the end. In
// place.
void hadamard(Isa isa, float* x, std::int64_t n);

// x[0, n) in blocks of 32, n a multiple: s = 2^ceil(log2(max(amax, 6 * 2^-126) / 6)), x = E2M1(x / s) * s,
// ties to the even code. In place.
void roundTripE2m1(Isa isa, float* x, std::int64_t n);

}  // namespace qk::cpu

namespace qk::reference {

void roundTripE4m3(double* x, std::int64_t n);
void hadamard(double* x, std::int64_t n);
void roundTripE2m1(double* x, std::int64_t n);

}  // namespace qk::reference
