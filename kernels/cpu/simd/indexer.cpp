// Owns the indexer's scores of 16 keys at a time: exact int32 dots of 32 codes, then a fixed order of fma.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector.h"

namespace qk::QK_ISA {

namespace {

// sums[l] += k[4l .. 4l+3] (unsigned) . q[0 .. 3] (signed), exact: products are at most 28 * 12.
QK_INLINE U16 dot4(U16 sums, const std::uint8_t* k, const std::int8_t* q) {
#if defined(__AVX512VNNI__)
  std::int32_t word;
  __builtin_memcpy(&word, q, sizeof word);
  return {_mm512_dpbusd_epi32(sums.v, _mm512_loadu_si512(k), _mm512_set1_epi32(word))};
#elif defined(__AVX2__)
  std::int32_t word;
  __builtin_memcpy(&word, q, sizeof word);
  const __m256i codes = _mm256_set1_epi32(word);
  const __m256i ones = _mm256_set1_epi16(1);
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(k));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(k + 32));
  return {_mm256_add_epi32(sums.a, _mm256_madd_epi16(_mm256_maddubs_epi16(a, codes), ones)),
          _mm256_add_epi32(sums.b, _mm256_madd_epi16(_mm256_maddubs_epi16(b, codes), ones))};
#else
  for (int l = 0; l < 16; ++l) {
    std::int32_t total = 0;
    for (int i = 0; i < 4; ++i) total += static_cast<std::int32_t>(k[4 * l + i]) * q[i];
    sums.v[l] += static_cast<std::uint32_t>(total);
  }
  return sums;
#endif
}

QK_INLINE F16 roundedDot(const IndexerOperands& o, std::int64_t head, const std::uint8_t* codes,
                         const float* scales) {
  const std::int64_t groups = o.dim / 32;
  const std::int8_t* q = o.queryCodes + head * o.dim;
  F16 acc = zero();
  for (std::int64_t g = 0; g < groups; ++g) {
    U16 sums = broadcastBits(static_cast<std::uint32_t>(o.queryOffsets[head * groups + g]));
    for (std::int64_t i = 0; i < 32; i += 4) sums = dot4(sums, codes + (g * 32 + i) * 16, q + g * 32 + i);
    acc = fma(toFloat(sums), broadcast(o.queryScales[head * groups + g]) * load(scales + g * 16), acc);
  }
  return acc;
}

QK_INLINE F16 plainDot(const IndexerOperands& o, std::int64_t head, const float* values) {
  F16 acc = zero();
  for (std::int64_t i = 0; i < o.dim; ++i) {
    acc = fma(broadcast(o.queryValues[head * o.dim + i]), load(values + i * 16), acc);
  }
  return acc;
}

}  // namespace

void indexerScores(const IndexerOperands& o, std::int64_t n, float* scores) {
  for (std::int64_t start = 0; start < n; start += 16) {
    F16 score = zero();
    for (std::int64_t head = 0; head < o.heads; ++head) {
      const F16 d = o.rounded
                        ? roundedDot(o, head, o.keyCodes + start * o.dim, o.keyScales + start * (o.dim / 32))
                        : plainDot(o, head, o.keyValues + start * o.dim);
      score = fma(max(d, zero()), broadcast(o.weights[head]), score);
    }
    storeFirst(scores + start, n - start, score);
  }
}

}  // namespace qk::QK_ISA
