// Owns 16 float lanes, and 64 bytes of codes, for the instruction set that this file is compiled for. Every function
// gives the same bits on each: float lanes are element-wise, and fma is fused everywhere.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace qk::QK_ISA {

#if defined(__AVX512VNNI__) && defined(__AVX512VBMI__)

struct Lanes {
  __m512 v;
};
inline Lanes zeroLanes() { return {_mm512_setzero_ps()}; }
inline Lanes broadcast(float x) { return {_mm512_set1_ps(x)}; }
inline Lanes loadF32(const void* p) { return {_mm512_loadu_ps(p)}; }
inline Lanes loadF16(const void* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
inline Lanes loadBF16(const void* p) {
  const __m256i bits = _mm256_loadu_si256(static_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
}
// UE4M3 bytes: shifted into an fp16 they are the value times 2^-7, subnormals included.
inline Lanes loadUE4M3(const void* p) {
  const __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  return {_mm512_mul_ps(_mm512_cvtph_ps(_mm256_slli_epi16(wide, 7)), _mm512_set1_ps(128.0f))};
}
// 2^(byte - 128), subnormals for 0 and 1.
inline Lanes loadE8M0(const void* p) {
  const __m512i e = _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
  const __m512i small = _mm512_sllv_epi32(_mm512_set1_epi32(0x200000), e);
  const __mmask16 isSmall = _mm512_cmplt_epu32_mask(e, _mm512_set1_epi32(2));
  return {_mm512_castsi512_ps(_mm512_mask_blend_epi32(isSmall, normal, small))};
}
// 2^(e - 11), the lower two bits of e at the top of low's bytes and the upper two at the top of high's.
inline Lanes loadUnit(const void* low, const void* high) {
  const __m512i l = _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(low)));
  const __m512i h = _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(high)));
  const __m512i e =
      _mm512_or_si512(_mm512_srli_epi32(l, 6), _mm512_slli_epi32(_mm512_srli_epi32(h, 6), 2));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(e, _mm512_set1_epi32(116)), 23))};
}
inline void store(float* p, Lanes a) { _mm512_storeu_ps(p, a.v); }
inline Lanes mul(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }

// 64 unsigned bytes: 16 lanes x 4.
struct Codes {
  __m512i v;
};
inline Codes loadCodes(const void* p) { return {_mm512_loadu_si512(p)}; }
inline void storeCodes(std::uint8_t* p, Codes a) { _mm512_store_si512(p, a.v); }
template <int shift, int mask>
inline Codes field(Codes a) {
  return {_mm512_and_si512(_mm512_srli_epi16(a.v, shift), _mm512_set1_epi8(mask))};
}
template <int shift, int mask>
inline Codes maskedLeft(Codes a) {
  return {_mm512_and_si512(_mm512_slli_epi16(a.v, shift), _mm512_set1_epi8(mask))};
}
inline Codes either(Codes a, Codes b) { return {_mm512_or_si512(a.v, b.v)}; }
// table[code], codes below 16.
inline Codes lookUp(const std::uint8_t (&table)[16], Codes code) {
  const __m128i t = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return {_mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), code.v)};
}

#elif defined(__AVX2__)

struct Lanes {
  __m256 lo, hi;
};
inline Lanes zeroLanes() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline Lanes broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Lanes loadF32(const void* p) {
  const float* f = static_cast<const float*>(p);
  return {_mm256_loadu_ps(f), _mm256_loadu_ps(f + 8)};
}
inline Lanes loadF16(const void* p) {
  const __m128i* h = static_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(h)), _mm256_cvtph_ps(_mm_loadu_si128(h + 1))};
}
inline __m256 widenBF16(__m128i bits) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
inline Lanes loadBF16(const void* p) {
  const __m128i* h = static_cast<const __m128i*>(p);
  return {widenBF16(_mm_loadu_si128(h)), widenBF16(_mm_loadu_si128(h + 1))};
}
inline Lanes loadUE4M3(const void* p) {
  const __m256i wide =
      _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(p))), 7);
  const __m256 unit = _mm256_set1_ps(128.0f);
  return {_mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(wide)), unit),
          _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(wide, 1)), unit)};
}
inline __m256i widenBytes(const void* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
}
inline __m256 powerE8M0(__m256i e) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23);
  const __m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), e);
  return _mm256_castsi256_ps(_mm256_blendv_epi8(small, normal, _mm256_cmpgt_epi32(e, one)));
}
inline Lanes loadE8M0(const void* p) {
  const auto* e = static_cast<const std::uint8_t*>(p);
  return {powerE8M0(widenBytes(e)), powerE8M0(widenBytes(e + 8))};
}
inline __m256 unitPower(__m256i low, __m256i high) {
  const __m256i e =
      _mm256_or_si256(_mm256_srli_epi32(low, 6), _mm256_slli_epi32(_mm256_srli_epi32(high, 6), 2));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(e, _mm256_set1_epi32(116)), 23));
}
inline Lanes loadUnit(const void* low, const void* high) {
  const auto* l = static_cast<const std::uint8_t*>(low);
  const auto* h = static_cast<const std::uint8_t*>(high);
  return {unitPower(widenBytes(l), widenBytes(h)), unitPower(widenBytes(l + 8), widenBytes(h + 8))};
}
inline void store(float* p, Lanes a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
inline Lanes mul(Lanes a, Lanes b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}

struct Codes {
  __m256i lo, hi;
};
inline Codes loadCodes(const void* p) {
  const __m256i* c = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(c), _mm256_loadu_si256(c + 1)};
}
inline void storeCodes(std::uint8_t* p, Codes a) {
  __m256i* c = reinterpret_cast<__m256i*>(p);
  _mm256_store_si256(c, a.lo);
  _mm256_store_si256(c + 1, a.hi);
}
template <int shift, int mask>
inline Codes field(Codes a) {
  const __m256i m = _mm256_set1_epi8(mask);
  return {_mm256_and_si256(_mm256_srli_epi16(a.lo, shift), m),
          _mm256_and_si256(_mm256_srli_epi16(a.hi, shift), m)};
}
template <int shift, int mask>
inline Codes maskedLeft(Codes a) {
  const __m256i m = _mm256_set1_epi8(mask);
  return {_mm256_and_si256(_mm256_slli_epi16(a.lo, shift), m),
          _mm256_and_si256(_mm256_slli_epi16(a.hi, shift), m)};
}
inline Codes either(Codes a, Codes b) {
  return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
}
inline Codes lookUp(const std::uint8_t (&table)[16], Codes code) {
  const __m256i t = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return {_mm256_shuffle_epi8(t, code.lo), _mm256_shuffle_epi8(t, code.hi)};
}

#else

struct Lanes {
  float v[16];
};
template <class F>
inline Lanes each(F f) {
  Lanes a;
  for (int i = 0; i < 16; ++i) a.v[i] = f(i);
  return a;
}
inline Lanes zeroLanes() {
  return each([](int) { return 0.0f; });
}
inline Lanes broadcast(float x) {
  return each([=](int) { return x; });
}
inline Lanes loadF32(const void* p) {
  Lanes a;
  __builtin_memcpy(a.v, p, sizeof a.v);
  return a;
}
inline float fromBits(std::uint32_t bits) {
  float f;
  __builtin_memcpy(&f, &bits, sizeof f);
  return f;
}
inline float fromF16(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16;
  const std::uint32_t exponent = h >> 10 & 31;
  const std::uint32_t fraction = h & 1023;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return fromBits(sign | wide << 23 | fraction << 13);
}
inline std::uint16_t halfAt(const void* p, int i) {
  std::uint16_t h;
  __builtin_memcpy(&h, static_cast<const char*>(p) + 2 * i, sizeof h);
  return h;
}
inline Lanes loadF16(const void* p) {
  return each([=](int i) { return fromF16(halfAt(p, i)); });
}
inline Lanes loadBF16(const void* p) {
  return each([=](int i) { return fromBits(static_cast<std::uint32_t>(halfAt(p, i)) << 16); });
}
inline Lanes loadUE4M3(const void* p) {
  const auto* e = static_cast<const std::uint8_t*>(p);
  return each([=](int i) { return fromF16(static_cast<std::uint16_t>(e[i] << 7)) * 128.0f; });
}
inline Lanes loadE8M0(const void* p) {
  const auto* e = static_cast<const std::uint8_t*>(p);
  return each([=](int i) { return fromBits(e[i] < 2 ? 0x200000u << e[i] : (e[i] - 1u) << 23); });
}
inline Lanes loadUnit(const void* low, const void* high) {
  const auto* l = static_cast<const std::uint8_t*>(low);
  const auto* h = static_cast<const std::uint8_t*>(high);
  return each([=](int i) { return fromBits(((l[i] >> 6 | (h[i] >> 6) << 2) + 116u) << 23); });
}
inline void store(float* p, Lanes a) { __builtin_memcpy(p, a.v, sizeof a.v); }
inline Lanes mul(Lanes a, Lanes b) {
  return each([&](int i) { return a.v[i] * b.v[i]; });
}
// Fused without the instruction: a product of floats is exact in double, so the double sum is rounded once. Rounded
// again to float it is the fused result unless it lies halfway between two floats (its lower 29 bits are then
// 2^28) or may become subnormal: the exact value is on the same side of every midpoint as the double, since
// midpoints are doubles and rounding is monotonic. Those few lanes ask the library.
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  Lanes r;
  double sums[16];
  for (int i = 0; i < 16; ++i)
    sums[i] = static_cast<double>(a.v[i]) * static_cast<double>(b.v[i]) + static_cast<double>(c.v[i]);
  for (int i = 0; i < 16; ++i) r.v[i] = static_cast<float>(sums[i]);
  std::uint64_t bits[16];
  __builtin_memcpy(bits, sums, sizeof bits);
  std::uint32_t low[16];
  std::uint32_t high[16];
  for (int i = 0; i < 16; ++i) low[i] = static_cast<std::uint32_t>(bits[i]) & 0x1fffffffu;
  for (int i = 0; i < 16; ++i) high[i] = static_cast<std::uint32_t>(bits[i] >> 32) & 0x7ff00000u;
  std::uint32_t unsure = 0;
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t halfway = low[i] == 0x10000000u ? 1 : 0;
    const std::uint32_t small = high[i] - 0x100000u < 0x38000000u ? 1 : 0;  // not 0, below 2^-126
    unsure |= halfway | small;
  }
  if (unsure != 0) {
    for (int i = 0; i < 16; ++i) r.v[i] = __builtin_fmaf(a.v[i], b.v[i], c.v[i]);
  }
  return r;
}

struct Codes {
  std::uint8_t v[64];
};
inline Codes loadCodes(const void* p) {
  Codes c;
  __builtin_memcpy(c.v, p, sizeof c.v);
  return c;
}
inline void storeCodes(std::uint8_t* p, Codes a) { __builtin_memcpy(p, a.v, sizeof a.v); }
template <int shift, int mask>
inline Codes field(Codes a) {
  for (std::uint8_t& c : a.v) c = static_cast<std::uint8_t>(c >> shift & mask);
  return a;
}
template <int shift, int mask>
inline Codes maskedLeft(Codes a) {
  for (std::uint8_t& c : a.v) c = static_cast<std::uint8_t>(c << shift & mask);
  return a;
}
inline Codes either(Codes a, Codes b) {
  for (int i = 0; i < 64; ++i) a.v[i] |= b.v[i];
  return a;
}
inline Codes lookUp(const std::uint8_t (&table)[16], Codes code) {
  for (std::uint8_t& c : code.v) c = table[c];
  return code;
}

#endif

}  // namespace qk::QK_ISA
