// Owns the indexer's scores of 16 keys at a time: exact int32 dots of 32 codes, then a fixed order of fma.
// The codes of a group of keys are loaded once for all heads.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector.h"

namespace qk::QK_ISA {

namespace {

constexpr std::int64_t kHeads = 16;  // whose dots are in flight together
#if defined(__AVX512F__)
constexpr int kPlainHeads = 8;  // whose plain dots are in registers
#else
constexpr int kPlainHeads = 4;
#endif

// 32 codes of 16 keys, [8][16][4] unsigned. dot(q, start)[l] = start + k[l] . q[0 .. 31] (signed), exact: a
// product is at most 28 * 12.
#if defined(__AVX512VNNI__)
struct KeyCodes {
  explicit QK_INLINE KeyCodes(const std::uint8_t* codes) {
    for (int i = 0; i < 8; ++i) k[i] = _mm512_loadu_si512(codes + 64 * i);
  }
  QK_INLINE U16 dot(const std::int8_t* q, std::int32_t start) const {
    __m512i sums = _mm512_set1_epi32(start);
    for (int i = 0; i < 8; ++i) {
      std::int32_t word;
      __builtin_memcpy(&word, q + 4 * i, sizeof word);
      sums = _mm512_dpbusd_epi32(sums, k[i], _mm512_set1_epi32(word));
    }
    return {sums};
  }
  __m512i k[8];
};
#elif defined(__AVX2__)
struct KeyCodes {
  explicit QK_INLINE KeyCodes(const std::uint8_t* codes) : k(codes) {}
  // int16 holds the sums of 8 pairs: at most 8 * 2 * 28 * 12.
  QK_INLINE U16 dot(const std::int8_t* q, std::int32_t start) const {
    __m256i low = _mm256_setzero_si256();
    __m256i high = _mm256_setzero_si256();
    for (int i = 0; i < 8; ++i) {
      std::int32_t word;
      __builtin_memcpy(&word, q + 4 * i, sizeof word);
      const __m256i codes = _mm256_set1_epi32(word);
      const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(k + 64 * i));
      const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(k + 64 * i + 32));
      low = _mm256_add_epi16(low, _mm256_maddubs_epi16(a, codes));
      high = _mm256_add_epi16(high, _mm256_maddubs_epi16(b, codes));
    }
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i sums = _mm256_set1_epi32(start);
    return {_mm256_add_epi32(sums, _mm256_madd_epi16(low, ones)),
            _mm256_add_epi32(sums, _mm256_madd_epi16(high, ones))};
  }
  const std::uint8_t* k;
};
#else
struct KeyCodes {
  explicit QK_INLINE KeyCodes(const std::uint8_t* codes) : k(codes) {}
  QK_INLINE U16 dot(const std::int8_t* q, std::int32_t start) const {
    U16 sums = broadcastBits(static_cast<std::uint32_t>(start));
    for (int i = 0; i < 8; ++i) {
      for (int l = 0; l < 16; ++l) {
        std::int32_t total = 0;
        for (int j = 0; j < 4; ++j) total += static_cast<std::int32_t>(k[(i * 16 + l) * 4 + j]) * q[4 * i + j];
        sums.v[l] += static_cast<std::uint32_t>(total);
      }
    }
    return sums;
  }
  const std::uint8_t* k;
};
#endif

// dots [count][16] of the heads first .. first+count-1 with a group of keys, scale groups ascending.
QK_INLINE void roundedDots(const IndexerOperands& o, std::int64_t first, std::int64_t count,
                           const std::uint8_t* codes, const float* scales, float* dots) {
  const std::int64_t groups = o.dim / 32;
  for (std::int64_t h = 0; h < count; ++h) store(dots + h * 16, zero());
  for (std::int64_t g = 0; g < groups; ++g) {
    const KeyCodes keys(codes + g * 512);
    const F16 keyScales = load(scales + g * 16);
    for (std::int64_t h = 0; h < count; ++h) {
      const std::int64_t block = (first + h) * groups + g;
      const U16 sums = keys.dot(o.queryCodes + block * 32, o.queryOffsets[block]);
      const F16 scale = broadcast(o.queryScales[block]) * keyScales;
      store(dots + h * 16, fma(toFloat(sums), scale, load(dots + h * 16)));
    }
  }
}

// The same of plain floats, `Heads` of them at once, dimension ascending.
template <int Heads>
QK_INLINE void plainDots(const IndexerOperands& o, std::int64_t first, const float* values, float* dots) {
  F16 acc[Heads];
  for (int h = 0; h < Heads; ++h) acc[h] = zero();
  for (std::int64_t i = 0; i < o.dim; ++i) {
    const F16 key = load(values + i * 16);
    const float* q = o.queryValues + i * o.heads + first;
    for (int h = 0; h < Heads; ++h) acc[h] = fma(broadcast(q[h]), key, acc[h]);
  }
  for (int h = 0; h < Heads; ++h) store(dots + h * 16, acc[h]);
}

}  // namespace

void indexerScores(const IndexerOperands& o, std::int64_t n, float* scores) {
  alignas(64) float dots[kHeads * 16];
  for (std::int64_t start = 0; start < n; start += 16) {
    F16 score = zero();
    for (std::int64_t first = 0; first < o.heads; first += kHeads) {
      const std::int64_t count = o.heads - first < kHeads ? o.heads - first : kHeads;
      if (o.rounded) {
        roundedDots(o, first, count, o.keyCodes + start * o.dim, o.keyScales + start * (o.dim / 32), dots);
      } else {
        const float* values = o.keyValues + start * o.dim;
        std::int64_t h = 0;
        for (; h + kPlainHeads <= count; h += kPlainHeads) {
          plainDots<kPlainHeads>(o, first + h, values, dots + h * 16);
        }
        for (; h < count; ++h) plainDots<1>(o, first + h, values, dots + h * 16);
      }
      for (std::int64_t h = 0; h < count; ++h) {
        score = fma(max(load(dots + h * 16), zero()), broadcast(o.weights[first + h]), score);
      }
    }
    storeFirst(scores + start, n - start, score);
  }
}

}  // namespace qk::QK_ISA
