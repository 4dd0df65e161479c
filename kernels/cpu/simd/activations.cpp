// Owns the rounding of fp32 activations to int8 blocks, and the sum of rows.
//
// Bytes: 128 values are 512 bytes in, read twice, and 192 bytes out. Work: a maximum of magnitudes, then product,
// rounding and two packings a value, then sums of codes by multiply-add with ones. Floor: about 90 instructions of 256
// bits a block of 128; nothing comes from beyond the L2 cache, because the matmul before or the one behind has the row
// there. The portable form, which is also that of a last block that is not whole, is the definition.
#include "cpu/kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace qk::QK_ISA {
namespace {

constexpr std::uint32_t infinityBits = 0x7f800000;
constexpr float smallestNormal = 0x1p-126f;
// Adding and subtracting this rounds to the nearest integer, ties to even, for |x| < 2^22.
constexpr float roundingBias = 0x1.8p23f;

float fromBits(std::uint32_t bits) {
  float f;
  __builtin_memcpy(&f, &bits, sizeof f);
  return f;
}

// Bits of the largest magnitude: ordered as the magnitudes are, with infinities and NaN above all.
std::uint32_t largestBits(const float* x, std::int64_t n) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

// Codes and their negated sums; codes beyond n are 0.
void roundBlock(const float* x, std::int64_t n, float inverse, ActivationBlock& out) {
  for (std::int8_t& q : out.q) q = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    out.q[i] =
        static_cast<std::int8_t>(static_cast<std::int32_t>((x[i] * inverse + roundingBias) - roundingBias));
  }
  for (int group = 0; group < 8; ++group) {
    std::int32_t sum = 0;
    for (int i = 0; i < 16; ++i) sum += out.q[16 * group + i];
    out.negatedSum16[group] = -sum;
  }
  for (int group = 0; group < 4; ++group) {
    out.negatedSum32[group] = out.negatedSum16[2 * group] + out.negatedSum16[2 * group + 1];
  }
}

#if defined(__AVX2__)

std::uint32_t largestBits128(const float* x) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  __m256i largest[4];
  for (int i = 0; i < 4; ++i) largest[i] = _mm256_setzero_si256();
  for (int k = 0; k < 128; k += 32) {
    for (int i = 0; i < 4; ++i) {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + k + 8 * i));
      largest[i] = _mm256_max_epu32(largest[i], _mm256_and_si256(bits, magnitude));
    }
  }
  const __m256i four = _mm256_max_epu32(_mm256_max_epu32(largest[0], largest[1]),
                                        _mm256_max_epu32(largest[2], largest[3]));
  __m128i half = _mm_max_epu32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  half = _mm_max_epu32(half, _mm_shuffle_epi32(half, 0x4e));
  half = _mm_max_epu32(half, _mm_shuffle_epi32(half, 0xb1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(half));
}

// Eight codes: the conversion rounds to nearest even, as adding roundingBias does, and |x * inverse| is below 2^22.
__m256i codes(const float* x, __m256 inverse) {
  return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inverse));
}

void roundBlock128(const float* x, float inverseScale, ActivationBlock& out) {
  const __m256 inverse = _mm256_set1_ps(inverseScale);
  // Both packings go by halves of 128 bits, which leaves dwords in the order 0 2 4 6 1 3 5 7.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  __m256i sums[4];  // of 4 codes each
  for (int i = 0; i < 4; ++i) {
    const float* p = x + 32 * i;
    const __m256i low = _mm256_packs_epi32(codes(p, inverse), codes(p + 8, inverse));
    const __m256i high = _mm256_packs_epi32(codes(p + 16, inverse), codes(p + 24, inverse));
    const __m256i q = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    _mm256_store_si256(reinterpret_cast<__m256i*>(out.q + 32 * i), q);
    sums[i] = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), q), _mm256_set1_epi16(1));
  }
  // The lower half has groups 0 2 4 6, the upper 1 3 5 7.
  const __m256i groups =
      _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
  const __m128i zero = _mm_setzero_si128();
  const __m128i even = _mm_sub_epi32(zero, _mm256_castsi256_si128(groups));
  const __m128i odd = _mm_sub_epi32(zero, _mm256_extracti128_si256(groups, 1));
  _mm_store_si128(reinterpret_cast<__m128i*>(out.negatedSum16), _mm_unpacklo_epi32(even, odd));
  _mm_store_si128(reinterpret_cast<__m128i*>(out.negatedSum16 + 4), _mm_unpackhi_epi32(even, odd));
  _mm_store_si128(reinterpret_cast<__m128i*>(out.negatedSum32), _mm_add_epi32(even, odd));
}

#endif

void quantizeBlock(const float* x, std::int64_t n, ActivationBlock& out) {
#if defined(__AVX2__)
  const bool wide = n == activationBlock;
  const std::uint32_t largest = wide ? largestBits128(x) : largestBits(x, n);
#else
  const std::uint32_t largest = largestBits(x, n);
#endif
  const float scale = fromBits(largest) / 127.0f;
  if (largest >= infinityBits || scale < smallestNormal) {
    __builtin_memset(&out, 0, sizeof out);
    out.scale = largest >= infinityBits ? __builtin_nanf("") : 0.0f;
    return;
  }
  out.scale = scale;
  for (std::int32_t& unused : out.unused) unused = 0;
#if defined(__AVX2__)
  if (wide) return roundBlock128(x, 1.0f / scale, out);
#endif
  roundBlock(x, n, 1.0f / scale, out);
}

}  // namespace

void quantizeRow(const float* x, std::int64_t cols, ActivationBlock* out) {
  for (std::int64_t k = 0; k < cols; k += activationBlock) {
    quantizeBlock(x + k, cols - k < activationBlock ? cols - k : activationBlock, *out++);
  }
}

void addRow(const float* x, std::int64_t n, float* sum) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

}  // namespace qk::QK_ISA
