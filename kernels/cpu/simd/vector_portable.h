// Owns the plain C++ form of F16 and U16: loops over arrays; include cpu/simd/vector.h, whose AVX-512 form
// describes the functions.
#pragma once

namespace qk::QK_ISA {

struct F16 {
  float v[16];
};
struct U16 {
  std::uint32_t v[16];
};

// r[i] = expression in i.
#define QK_LANES(Vector, expression)                  \
  Vector r;                                           \
  for (int i = 0; i < 16; ++i) r.v[i] = (expression); \
  return r

QK_INLINE F16 load(const float* p) { QK_LANES(F16, p[i]); }
QK_INLINE void store(float* p, F16 x) {
  for (int i = 0; i < 16; ++i) p[i] = x.v[i];
}
QK_INLINE F16 broadcast(float x) { QK_LANES(F16, x); }
QK_INLINE F16 operator+(F16 a, F16 b) { QK_LANES(F16, a.v[i] + b.v[i]); }
QK_INLINE F16 operator-(F16 a, F16 b) { QK_LANES(F16, a.v[i] - b.v[i]); }
QK_INLINE F16 operator*(F16 a, F16 b) { QK_LANES(F16, a.v[i] * b.v[i]); }
QK_INLINE F16 operator/(F16 a, F16 b) { QK_LANES(F16, a.v[i] / b.v[i]); }
QK_INLINE F16 fma(F16 a, F16 b, F16 c) { QK_LANES(F16, __builtin_fmaf(a.v[i], b.v[i], c.v[i])); }
QK_INLINE F16 sqrt(F16 a) { QK_LANES(F16, __builtin_sqrtf(a.v[i])); }
QK_INLINE F16 max(F16 a, F16 b) { QK_LANES(F16, a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
QK_INLINE F16 min(F16 a, F16 b) { QK_LANES(F16, a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
QK_INLINE F16 ifLess(F16 a, F16 b, F16 x, F16 y) { QK_LANES(F16, a.v[i] < b.v[i] ? x.v[i] : y.v[i]); }
template <int Distance>
QK_INLINE F16 exchange(F16 x) {
  QK_LANES(F16, x.v[i ^ Distance]);
}
QK_INLINE float first(F16 x) { return x.v[0]; }

QK_INLINE U16 broadcastBits(std::uint32_t x) { QK_LANES(U16, x); }
QK_INLINE U16 bits(F16 x) {
  U16 r;
  __builtin_memcpy(&r, &x, sizeof r);
  return r;
}
QK_INLINE F16 bits(U16 x) {
  F16 r;
  __builtin_memcpy(&r, &x, sizeof r);
  return r;
}
QK_INLINE U16 operator+(U16 a, U16 b) { QK_LANES(U16, a.v[i] + b.v[i]); }
QK_INLINE U16 operator-(U16 a, U16 b) { QK_LANES(U16, a.v[i] - b.v[i]); }
QK_INLINE U16 operator&(U16 a, U16 b) { QK_LANES(U16, a.v[i] & b.v[i]); }
QK_INLINE U16 operator^(U16 a, U16 b) { QK_LANES(U16, a.v[i] ^ b.v[i]); }
template <int N>
QK_INLINE U16 shiftLeft(U16 x) {
  QK_LANES(U16, x.v[i] << N);
}
template <int N>
QK_INLINE U16 shiftRight(U16 x) {
  QK_LANES(U16, static_cast<std::uint32_t>(static_cast<std::int32_t>(x.v[i]) >> N));
}
QK_INLINE F16 toFloat(U16 x) { QK_LANES(F16, static_cast<float>(static_cast<std::int32_t>(x.v[i]))); }

#undef QK_LANES

}  // namespace qk::QK_ISA
