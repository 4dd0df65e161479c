// Owns F16 and U16: sixteen lanes of float and of uint32, element-wise, as one AVX-512 register, two AVX2
// registers or an array. Every function does the same IEEE operation on each lane on every instruction set:
// that is what makes bits equal.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define QK_INLINE inline __attribute__((always_inline))
#define QK_LAMBDA __attribute__((always_inline))

#if defined(__AVX512F__)
#include "cpu/simd/vector_avx512.h"
#elif defined(__AVX2__)
#include "cpu/simd/vector_avx2.h"
#else
#include "cpu/simd/vector_portable.h"
#endif

namespace qk::QK_ISA {

// The first n (1 .. 16) lanes from memory, the others 0.
QK_INLINE F16 loadFirst(const float* p, std::int64_t n) {
  if (n >= 16) return load(p);
  alignas(64) float lanes[16] = {};
  for (std::int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return load(lanes);
}

QK_INLINE void storeFirst(float* p, std::int64_t n, F16 x) {
  if (n >= 16) return store(p, x);
  alignas(64) float lanes[16];
  store(lanes, x);
  for (std::int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

QK_INLINE F16 operator-(F16 x) { return bits(bits(x) ^ broadcastBits(0x80000000u)); }
QK_INLINE F16 abs(F16 x) { return bits(bits(x) & broadcastBits(0x7fffffffu)); }
QK_INLINE F16 zero() { return broadcast(0.0f); }

}  // namespace qk::QK_ISA
