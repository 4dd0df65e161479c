// Owns the choice of instruction set for round_trip.h, and the exact exponent of a block's scale.
#include "qk/round_trip.h"

#include <cmath>

#include "cpu/simd/variants.h"

namespace qk {

int scaleExponent(double amax, double top) {
  int amaxExponent = 0;
  int topExponent = 0;
  const double amaxSignificand = std::frexp(amax, &amaxExponent);
  const double topSignificand = std::frexp(top, &topExponent);
  return amaxExponent - topExponent + (amaxSignificand > topSignificand ? 1 : 0);
}

}  // namespace qk

namespace qk::cpu {

void roundTripE4m3(Isa isa, float* x, std::int64_t n) { QK_PICK(isa, roundTripE4m3)(x, n); }
void hadamard(Isa isa, float* x, std::int64_t n) { QK_PICK(isa, hadamard)(x, n); }
void roundTripE2m1(Isa isa, float* x, std::int64_t n) { QK_PICK(isa, roundTripE2m1)(x, n); }

}  // namespace qk::cpu
