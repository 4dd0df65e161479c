// Owns the AVX-512 form of F16 and U16; include cpu/simd/vector.h.
#pragma once

namespace qk::QK_ISA {

struct F16 {
  __m512 v;
};
struct U16 {
  __m512i v;
};

QK_INLINE F16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
QK_INLINE void store(float* p, F16 x) { _mm512_storeu_ps(p, x.v); }
QK_INLINE F16 broadcast(float x) { return {_mm512_set1_ps(x)}; }
QK_INLINE F16 operator+(F16 a, F16 b) { return {_mm512_add_ps(a.v, b.v)}; }
QK_INLINE F16 operator-(F16 a, F16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
QK_INLINE F16 operator*(F16 a, F16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
QK_INLINE F16 operator/(F16 a, F16 b) { return {_mm512_div_ps(a.v, b.v)}; }
QK_INLINE F16 fma(F16 a, F16 b, F16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
QK_INLINE F16 sqrt(F16 a) { return {_mm512_sqrt_ps(a.v)}; }
// a > b ? a : b, so b when one is NaN.
QK_INLINE F16 max(F16 a, F16 b) { return {_mm512_max_ps(a.v, b.v)}; }
// a < b ? a : b, so b when one is NaN.
QK_INLINE F16 min(F16 a, F16 b) { return {_mm512_min_ps(a.v, b.v)}; }
// a < b ? x : y.
QK_INLINE F16 ifLess(F16 a, F16 b, F16 x, F16 y) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)};
}
// Lane l from lane l ^ Distance; Distance 1, 2, 4 or 8.
template <int Distance>
QK_INLINE F16 exchange(F16 x) {
  if constexpr (Distance == 8) return {_mm512_shuffle_f32x4(x.v, x.v, 0x4e)};
  if constexpr (Distance == 4) return {_mm512_shuffle_f32x4(x.v, x.v, 0xb1)};
  if constexpr (Distance == 2) return {_mm512_permute_ps(x.v, 0x4e)};
  if constexpr (Distance == 1) return {_mm512_permute_ps(x.v, 0xb1)};
}
QK_INLINE float first(F16 x) { return _mm512_cvtss_f32(x.v); }

QK_INLINE U16 broadcastBits(std::uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
QK_INLINE U16 bits(F16 x) { return {_mm512_castps_si512(x.v)}; }
QK_INLINE F16 bits(U16 x) { return {_mm512_castsi512_ps(x.v)}; }
QK_INLINE U16 operator+(U16 a, U16 b) { return {_mm512_add_epi32(a.v, b.v)}; }
QK_INLINE U16 operator-(U16 a, U16 b) { return {_mm512_sub_epi32(a.v, b.v)}; }
QK_INLINE U16 operator&(U16 a, U16 b) { return {_mm512_and_si512(a.v, b.v)}; }
QK_INLINE U16 operator^(U16 a, U16 b) { return {_mm512_xor_si512(a.v, b.v)}; }
template <int N>
QK_INLINE U16 shiftLeft(U16 x) {
  return {_mm512_slli_epi32(x.v, N)};
}
// Arithmetic: the sign is kept.
template <int N>
QK_INLINE U16 shiftRight(U16 x) {
  return {_mm512_srai_epi32(x.v, N)};
}
// As int32 to float (exact below 2^24).
QK_INLINE F16 toFloat(U16 x) { return {_mm512_cvtepi32_ps(x.v)}; }

}  // namespace qk::QK_ISA
