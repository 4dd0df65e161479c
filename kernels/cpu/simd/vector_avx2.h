// Owns the AVX2 form of F16 and U16: two registers; include cpu/simd/vector.h, whose AVX-512 form describes
// the functions.
#pragma once

namespace qk::QK_ISA {

struct F16 {
  __m256 a, b;
};
struct U16 {
  __m256i a, b;
};

QK_INLINE F16 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
QK_INLINE void store(float* p, F16 x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
QK_INLINE F16 broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
QK_INLINE F16 operator+(F16 x, F16 y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
QK_INLINE F16 operator-(F16 x, F16 y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
QK_INLINE F16 operator*(F16 x, F16 y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
QK_INLINE F16 operator/(F16 x, F16 y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
QK_INLINE F16 fma(F16 x, F16 y, F16 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
QK_INLINE F16 sqrt(F16 x) { return {_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)}; }
QK_INLINE F16 max(F16 x, F16 y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
QK_INLINE F16 min(F16 x, F16 y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
QK_INLINE F16 ifLess(F16 a, F16 b, F16 x, F16 y) {
  return {_mm256_blendv_ps(y.a, x.a, _mm256_cmp_ps(a.a, b.a, _CMP_LT_OQ)),
          _mm256_blendv_ps(y.b, x.b, _mm256_cmp_ps(a.b, b.b, _CMP_LT_OQ))};
}
template <int Distance>
QK_INLINE F16 exchange(F16 x) {
  if constexpr (Distance == 8) return {x.b, x.a};
  if constexpr (Distance == 4)
    return {_mm256_permute2f128_ps(x.a, x.a, 1), _mm256_permute2f128_ps(x.b, x.b, 1)};
  if constexpr (Distance == 2) return {_mm256_permute_ps(x.a, 0x4e), _mm256_permute_ps(x.b, 0x4e)};
  if constexpr (Distance == 1) return {_mm256_permute_ps(x.a, 0xb1), _mm256_permute_ps(x.b, 0xb1)};
}
QK_INLINE float first(F16 x) { return _mm256_cvtss_f32(x.a); }

QK_INLINE U16 broadcastBits(std::uint32_t x) {
  const __m256i v = _mm256_set1_epi32(static_cast<int>(x));
  return {v, v};
}
QK_INLINE U16 bits(F16 x) { return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)}; }
QK_INLINE F16 bits(U16 x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
QK_INLINE U16 operator+(U16 x, U16 y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
QK_INLINE U16 operator-(U16 x, U16 y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
QK_INLINE U16 operator&(U16 x, U16 y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
QK_INLINE U16 operator^(U16 x, U16 y) { return {_mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b)}; }
template <int N>
QK_INLINE U16 shiftLeft(U16 x) {
  return {_mm256_slli_epi32(x.a, N), _mm256_slli_epi32(x.b, N)};
}
template <int N>
QK_INLINE U16 shiftRight(U16 x) {
  return {_mm256_srai_epi32(x.a, N), _mm256_srai_epi32(x.b, N)};
}
QK_INLINE F16 toFloat(U16 x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }

}  // namespace qk::QK_ISA
