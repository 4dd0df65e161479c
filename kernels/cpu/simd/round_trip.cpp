// Owns the storage roundings of keys and the Hadamard transform.
//
// Bytes: 8 a value, of rows that are in the first-level cache, so operations are the floor: a maximum over each
// block, then a rounding a value; the Hadamard transform is log2(dim) additions a value. Reached: E4M3 of 192
// values 0.08 us with AVX-512 (Intel), 0.14 us with AVX2 (Zen 1, 2.0 GHz): 33 and 22 times the plain loop. Done
// once a key and an entry.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

namespace {

// 2^e as a float, e in [-126, 127].
QK_INLINE float powerOfTwo(int e) {
  const std::uint32_t word = static_cast<std::uint32_t>(e + 127) << 23;
  float value;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}

// The smallest e with amax <= top * 2^e where top = topSignificand * 2^topExponent; amax is a normal number.
// The logarithm of the formula is taken on the bits: no rounding.
QK_INLINE int scaleExponentOf(float amax, std::uint32_t topSignificand, int topExponent) {
  std::uint32_t word;
  __builtin_memcpy(&word, &amax, sizeof word);
  const int exponent = static_cast<int>(word >> 23) - 127;
  return exponent - topExponent + ((word & 0x7fffffu) > topSignificand ? 1 : 0);
}

// Rounds v to `mantissaBits` bits after the leading one, ties to even; below 2^minExponent the step stays
// that of 2^minExponent. Adding and taking away 1.5 * 2^23 steps does it.
QK_INLINE F16 roundMantissa(F16 v, int mantissaBits, F16 minPower) {
  const F16 power = max(bits(bits(v) & broadcastBits(0x7f800000u)), minPower);
  const F16 magic = power * broadcast(1.5f * powerOfTwo(23 - mantissaBits));
  return (v + magic) - magic;
}

QK_INLINE void roundTrip(float* x, std::int64_t n, std::int64_t block, float floor,
                         std::uint32_t topSignificand, int topExponent, int mantissaBits, int minExponent) {
  const F16 minPower = broadcast(powerOfTwo(minExponent));
  for (std::int64_t start = 0; start < n; start += block) {
    const std::int64_t end = start + block < n ? start + block : n;
    F16 amax = broadcast(floor);
    for (std::int64_t i = start; i < end; i += 16) amax = max(abs(loadFirst(x + i, end - i)), amax);
    const int e = scaleExponentOf(maxOfLanes(amax), topSignificand, topExponent);
    const F16 scale = broadcast(powerOfTwo(e));
    const F16 inverse = broadcast(powerOfTwo(-e));
    for (std::int64_t i = start; i < end; i += 16) {
      storeFirst(x + i, end - i,
                 roundMantissa(loadFirst(x + i, end - i) * inverse, mantissaBits, minPower) * scale);
    }
  }
}

// Lane l of the sum is x[l] + x[l ^ Distance], of the difference (bit set in l) x[l ^ Distance] - x[l].
template <int Distance>
QK_INLINE F16 butterfly(F16 x) {
  alignas(64) float signs[16];
  for (int l = 0; l < 16; ++l) signs[l] = (l & Distance) != 0 ? -0.0f : 0.0f;
  return exchange<Distance>(x) + bits(bits(x) ^ bits(load(signs)));
}

}  // namespace

// E4M3: 448 = 1.75 * 2^8, three bits of mantissa, subnormal below 2^-6.
void roundTripE4m3(float* x, std::int64_t n) { roundTrip(x, n, 64, 1e-4f, 0x600000u, 8, 3, -6); }

// E2M1: 6 = 1.5 * 2^2, one bit of mantissa, subnormal below 1. The floor is 6 * 2^-126.
void roundTripE2m1(float* x, std::int64_t n) {
  roundTrip(x, n, 32, 6 * powerOfTwo(-126), 0x400000u, 2, 1, 0);
}

// Distances n/2 down to 1: pairs of vectors first, then lanes.
void hadamard(float* x, std::int64_t n) {
  for (std::int64_t distance = n / 2; distance >= 16; distance /= 2) {
    for (std::int64_t start = 0; start < n; start += 2 * distance) {
      for (std::int64_t i = start; i < start + distance; i += 16) {
        const F16 a = load(x + i);
        const F16 b = load(x + i + distance);
        store(x + i, a + b);
        store(x + i + distance, a - b);
      }
    }
  }
  const F16 norm = broadcast(1.0f / __builtin_sqrtf(static_cast<float>(n)));
  for (std::int64_t i = 0; i < n; i += 16) {
    F16 v = load(x + i);
    v = butterfly<8>(v);
    v = butterfly<4>(v);
    v = butterfly<2>(v);
    v = butterfly<1>(v);
    store(x + i, v * norm);
  }
}

}  // namespace qk::QK_ISA
