// Owns the transcendental functions on sixteen lanes; qk/math.h states their domains. All of them are
// straight-line arithmetic, so a lane's bits do not depend on its neighbours or on the instruction set.
#pragma once

#include "cpu/simd/vector.h"

namespace qk::QK_ISA {

// x = n ln2 + r with |r| <= ln2 / 2, n by adding and taking away 1.5 * 2^23 (round to nearest even); a
// degree-7 polynomial in r; 2^n in two factors because n reaches 128.
QK_INLINE F16 exp16(F16 x) {
  const F16 magic = broadcast(12582912.0f);
  const F16 shifted = fma(x, broadcast(1.44269504f), magic);
  const F16 n = shifted - magic;
  F16 r = fma(n, broadcast(-0.693359375f), x);  // 9 bits of ln2: n times it is exact
  r = fma(n, broadcast(2.12194440e-4f), r);     // the rest
  F16 p = broadcast(1.9875691500e-4f);
  p = fma(p, r, broadcast(1.3981999507e-3f));
  p = fma(p, r, broadcast(8.3334519073e-3f));
  p = fma(p, r, broadcast(4.1665795894e-2f));
  p = fma(p, r, broadcast(1.6666665459e-1f));
  p = fma(p, r, broadcast(5.0000001201e-1f));
  p = fma(p, r * r, r) + broadcast(1.0f);
  const U16 exponent = bits(shifted) - bits(magic);
  const U16 half = shiftRight<1>(exponent);
  const U16 bias = broadcastBits(127);
  const F16 y = p * bits(shiftLeft<23>(half + bias)) * bits(shiftLeft<23>(exponent - half + bias));
  const F16 bounded = ifLess(broadcast(88.7228317f), x, broadcast(__builtin_inff()), y);
  return ifLess(x, broadcast(-87.3365402f), zero(), bounded);
}

// ln(1 + x) = 2 atanh(s), s = x / (2 + x) <= 1/3: the odd series to s^17.
QK_INLINE F16 log1pUnit16(F16 x) {
  const F16 s = x / (x + broadcast(2.0f));
  const F16 square = s * s;
  F16 p = broadcast(1.0f / 17);
  p = fma(p, square, broadcast(1.0f / 15));
  p = fma(p, square, broadcast(1.0f / 13));
  p = fma(p, square, broadcast(1.0f / 11));
  p = fma(p, square, broadcast(1.0f / 9));
  p = fma(p, square, broadcast(1.0f / 7));
  p = fma(p, square, broadcast(1.0f / 5));
  p = fma(p, square, broadcast(1.0f / 3));
  const F16 twice = s + s;
  return fma(twice * square, p, twice);
}

QK_INLINE F16 sigmoid16(F16 x) { return broadcast(1.0f) / (broadcast(1.0f) + exp16(-x)); }

QK_INLINE F16 silu16(F16 x) { return x * sigmoid16(x); }

QK_INLINE F16 softplus16(F16 x) { return max(x, zero()) + log1pUnit16(exp16(-abs(x))); }

// silu(min(gate, limit)) * clamp(up, -limit, limit) * weight. A NaN stays: min and max keep their second
// operand then.
QK_INLINE F16 swiglu16(F16 gate, F16 up, float limit, float weight) {
  const F16 g = min(broadcast(limit), gate);
  const F16 u = max(broadcast(-limit), min(broadcast(limit), up));
  return silu16(g) * u * broadcast(weight);
}

// Lanes l and l+8, l and l+4, l and l+2, l and l+1.
QK_INLINE float sumOfLanes(F16 x) {
  x = x + exchange<8>(x);
  x = x + exchange<4>(x);
  x = x + exchange<2>(x);
  x = x + exchange<1>(x);
  return first(x);
}

QK_INLINE float maxOfLanes(F16 x) {
  x = max(x, exchange<8>(x));
  x = max(x, exchange<4>(x));
  x = max(x, exchange<2>(x));
  x = max(x, exchange<1>(x));
  return first(x);
}

}  // namespace qk::QK_ISA
