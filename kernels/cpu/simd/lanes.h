// Owns 16 float lanes and the exact byte dot product, for the instruction set that this file is compiled for.
// Every function gives the same bits on each: float lanes are element-wise (fma is fused everywhere),
// integers are exact.
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
inline void store(float* p, Lanes a) { _mm512_storeu_ps(p, a.v); }
inline Lanes add(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }

// 16 lanes x 4 unsigned bytes.
struct Codes {
  __m512i v;
};
inline Codes loadCodes(const void* p) { return {_mm512_loadu_si512(p)}; }
template <int shift, int mask>
inline Codes field(Codes a) {
  return {_mm512_and_si512(_mm512_srli_epi16(a.v, shift), _mm512_set1_epi8(mask))};
}
// ROCmFP3: magnitude index at bits `shift`, sign at bit `s`; gives value + 4.
template <int shift, int s>
inline Codes levelROCmFP3(Codes magnitude, Codes sign) {
  const __m512i m = _mm512_srli_epi16(magnitude.v, shift);
  const __m512i n =
      s <= 2 ? _mm512_slli_epi16(sign.v, 2 - (s < 2 ? s : 2)) : _mm512_srli_epi16(sign.v, s > 2 ? s - 2 : 0);
  // Bits 0..1 of m, the rest of n; the look-up reads six bits, of which the upper three do not matter.
  const __m512i index = _mm512_ternarylogic_epi32(_mm512_set1_epi8(3), m, n, 0xca);
  const __m512i table = _mm512_set1_epi64(0x0002030408060504);
  return {_mm512_permutexvar_epi8(index, table)};
}

// Exact sums over 4 k a lane; codes of any size.
struct Dot {
  __m512i v;
};
inline Dot startDot(std::int32_t start) { return {_mm512_set1_epi32(start)}; }
inline void addDot(Dot& dot, Codes w, const std::int8_t* x) {
  std::int32_t four;
  __builtin_memcpy(&four, x, sizeof four);
  dot.v = _mm512_dpbusd_epi32(dot.v, w.v, _mm512_set1_epi32(four));
}
inline Lanes finishDot(Dot dot, std::int32_t) { return {_mm512_cvtepi32_ps(dot.v)}; }
using SmallDot = Dot;
using WideDot = Dot;

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
inline void store(float* p, Lanes a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
inline Lanes add(Lanes a, Lanes b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
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
template <int shift, int mask>
inline Codes field(Codes a) {
  const __m256i m = _mm256_set1_epi8(mask);
  return {_mm256_and_si256(_mm256_srli_epi16(a.lo, shift), m),
          _mm256_and_si256(_mm256_srli_epi16(a.hi, shift), m)};
}
template <int shift, int s>
inline Codes levelROCmFP3(Codes magnitude, Codes sign) {
  const Codes m = field<shift, 3>(magnitude);
  const Codes n = field<s, 1>(sign);
  const __m256i table = _mm256_set1_epi64x(0x0002030408060504);
  const auto look = [&](__m256i index, __m256i bit) {
    return _mm256_shuffle_epi8(table, _mm256_or_si256(index, _mm256_slli_epi16(bit, 2)));
  };
  return {look(m.lo, n.lo), look(m.hi, n.hi)};
}

inline __m256i broadcastFour(const std::int8_t* x) {
  std::int32_t four;
  __builtin_memcpy(&four, x, sizeof four);
  return _mm256_set1_epi32(four);
}

// Codes up to 15: a pair of products is at most 2 x 15 x 127, and eight of those still fit 16 bits.
struct SmallDot {
  __m256i lo, hi;  // int16
};
inline void addDot(SmallDot& dot, Codes w, const std::int8_t* x) {
  const __m256i four = broadcastFour(x);
  dot.lo = _mm256_add_epi16(dot.lo, _mm256_maddubs_epi16(w.lo, four));
  dot.hi = _mm256_add_epi16(dot.hi, _mm256_maddubs_epi16(w.hi, four));
}
inline Lanes finishDot(SmallDot dot, std::int32_t start) {
  const __m256i one = _mm256_set1_epi16(1);
  const __m256i s = _mm256_set1_epi32(start);
  return {_mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_madd_epi16(dot.lo, one), s)),
          _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_madd_epi16(dot.hi, one), s))};
}

// Codes up to 255: widened to 16 bits first, as maddubs would saturate.
struct WideDot {
  __m256i lo, hi;  // int32
};
inline __m256i addWide(__m256i sum, __m256i w, __m256i even, __m256i odd) {
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_and_si256(w, _mm256_set1_epi16(255)), even));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_srli_epi16(w, 8), odd));
}
inline void addDot(WideDot& dot, Codes w, const std::int8_t* x) {
  const __m256i four = broadcastFour(x);
  const __m256i even = _mm256_srai_epi16(_mm256_slli_epi16(four, 8), 8);
  const __m256i odd = _mm256_srai_epi16(four, 8);
  dot.lo = addWide(dot.lo, w.lo, even, odd);
  dot.hi = addWide(dot.hi, w.hi, even, odd);
}
inline Lanes finishDot(WideDot dot, std::int32_t start) {
  const __m256i s = _mm256_set1_epi32(start);
  return {_mm256_cvtepi32_ps(_mm256_add_epi32(dot.lo, s)), _mm256_cvtepi32_ps(_mm256_add_epi32(dot.hi, s))};
}

struct ZeroStart {
  template <class D>
  operator D() const {
    return {_mm256_setzero_si256(), _mm256_setzero_si256()};
  }
};
inline ZeroStart startDot(std::int32_t) { return {}; }

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
inline void store(float* p, Lanes a) { __builtin_memcpy(p, a.v, sizeof a.v); }
inline Lanes add(Lanes a, Lanes b) {
  return each([&](int i) { return a.v[i] + b.v[i]; });
}
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  return each([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
}

struct Codes {
  std::uint8_t v[64];
};
inline Codes loadCodes(const void* p) {
  Codes c;
  __builtin_memcpy(c.v, p, sizeof c.v);
  return c;
}
template <int shift, int mask>
inline Codes field(Codes a) {
  for (std::uint8_t& c : a.v) c = static_cast<std::uint8_t>(c >> shift & mask);
  return a;
}
template <int shift, int s>
inline Codes levelROCmFP3(Codes magnitude, Codes sign) {
  static constexpr std::uint8_t table[8] = {4, 5, 6, 8, 4, 3, 2, 0};
  for (int i = 0; i < 64; ++i)
    magnitude.v[i] = table[(magnitude.v[i] >> shift & 3) | (sign.v[i] >> s & 1) << 2];
  return magnitude;
}

struct Dot {
  std::int32_t v[16];
};
inline Dot startDot(std::int32_t start) {
  Dot d;
  for (std::int32_t& v : d.v) v = start;
  return d;
}
inline void addDot(Dot& dot, Codes w, const std::int8_t* x) {
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 4; ++j) dot.v[i] += w.v[4 * i + j] * x[j];
  }
}
inline Lanes finishDot(Dot dot, std::int32_t) {
  return each([&](int i) { return static_cast<float>(dot.v[i]); });
}
using SmallDot = Dot;
using WideDot = Dot;

#endif

}  // namespace qk::QK_ISA
