// Owns the int8 tile kernel with AVX2: 16 weight rows by up to 4 tokens. Codes below 32: maddubs sums pairs of
// products in int16, widened once a group, by the group's numerators where the block is folded. Codes of Q8_0 are
// multiplied as int16, since maddubs would saturate. Operands that cost a shift and a mask are unpacked in registers
// for each token tile; those that cost a look-up once for all.
//
// For 4 k of 16 rows and a token: two maddubs and two adds, and two madd for each widened sum. On a core with one
// 128-bit multiplier of bytes (Zen 1, about 2.5 GHz under load) the floor is compute: 8 or 16 multiplies of 16 products
// a sum and one or two madd, 4/5 of its 80 GOPS where every 16 k are widened, 8/9 where every 32; Q8_0 half of it.
// Reached there, AVX2, Zen 1, K = 2048, N = 512, one thread, GOPS at 1, 4, 9 and 48 rows: ROCmFP2 26, 40, 44, 45;
// ROCmFP3 13, 28, 37, 45; Q4_0 24, 40, 44, 45; Q2_K 22, 36, 40, 43; Q8_0 11, 23, 27, 29. Before: ROCmFP2 33, 40, 41,
// 40; Q8_0 16, 17, 17, 17. One row is slower than before (a panel and sums in memory for one token); so are blocks
// that cannot be folded (ROCmFP2 34 against 40 at 48 rows), whose sums are widened and converted a group at a time.
#pragma once

#include "cpu/simd/tile_loop.h"
#include "cpu/simd/weight_formats.h"

namespace qk::QK_ISA {

inline __m256i loadInts(const void* p) { return _mm256_load_si256(static_cast<const __m256i*>(p)); }
inline __m256i broadcastInt(const void* p) {
  std::int32_t value;
  __builtin_memcpy(&value, p, sizeof value);
  return _mm256_set1_epi32(value);
}

template <class Format>
struct Int8Kernel {
  using Input = ActivationBlock;
  static constexpr int widestTokens = 4;
  static constexpr int tilesAtOnce = 1;
  static constexpr bool wide = Format::maxCode == 255;
  // Operands after which a pair of int16 is widened: 2 products of 127 * maxCode each.
  static constexpr int operandsPerSum = Format::groupLength == 32 && Format::maxCode <= 15 ? 8 : 4;
  static constexpr int sumsPerBlock = operandsPerBlock / operandsPerSum;
  static constexpr bool direct = Format::unitOperands == operandsPerSum || wide;

  struct alignas(32) Token {
    std::int8_t q[128];
    std::int16_t pairs[wide ? 128 : 2];  // of every 4 activations 0 and 2, then 1 and 3
    // Minus zero times the sum of a group's activations: of folding formats as a pair (sum, 0) of int16, which starts
    // the int16 sums; of Q2_K pairs of group sums; else int32.
    std::int32_t start[8];
    float scale;
  };

  struct alignas(64) Unpacked {
    std::uint8_t bytes[direct ? 64 : operandsPerBlock * 64];
    std::int16_t numerators[8 * 32];  // a pair a row
    float scales[8 * 16];
    std::int16_t minima[4 * 32];
    float minimum[16];
    const std::byte* codes;
    int runs;
  };

  static void load(const ActivationBlock* input, std::int64_t block, std::int64_t, Token& token) {
    const ActivationBlock& x = input[block];
    prefetch(&x + 1, sizeof x);
    __builtin_memcpy(token.q, x.q, sizeof token.q);
    token.scale = x.scale;
    if constexpr (wide) {
      for (int i = 0; i < 128; i += 4) {
        for (int j = 0; j < 4; ++j) token.pairs[i + j] = x.q[i + (j % 2 * 2 + j / 2)];
      }
    }
    if constexpr (Format::hasMinimum) {
      for (int i = 0; i < 4; ++i)
        token.start[i] = (x.negatedSum16[2 * i] & 0xffff) | x.negatedSum16[2 * i + 1] * 65536;
    } else if constexpr (Format::folds) {
      for (int i = 0; i < 8; ++i) token.start[i] = (x.negatedSum16[i] * Format::zero) & 0xffff;
    } else if constexpr (Format::groupLength == 16) {
      for (int i = 0; i < 8; ++i) token.start[i] = x.negatedSum16[i] * Format::zero;
    } else {
      for (int i = 0; i < 4; ++i) token.start[i] = x.negatedSum32[i] * Format::zero;
    }
  }

  static void unpack(const PackedMatrix& w, const std::byte* tile, std::int64_t block, std::int64_t,
                     Unpacked& out) {
    const PackedBlock packed = packedBlock<Format>(w.cols, tile, block);
    prefetch(packed.codes + Format::codeBytes, Format::codeBytes);
    out.runs = packed.runs;
    runScales<Format>(packed, out.scales);
    out.codes = packed.codes;
    if constexpr (!direct) unpackOperands<Format>(packed.codes, out.bytes);
    if constexpr (Format::folds) unpackNumerators(packed, out);
    if constexpr (Format::hasMinimum) store(out.minimum, Format::minimum(packed.scales));
  }

  static void multiply(const Unpacked* w, int, std::int64_t, const Token* x, std::int64_t tokens, float* sums) {
    eachTokenTile(tokens, widestTokens, [&](std::int64_t first, int count) {
      tokenTile<widestTokens>(*w, x + first, count, sums + first * 16);
    });
  }

 private:
  static void unpackNumerators(const PackedBlock& packed, Unpacked& out) {
    // Byte r of 16 as two int16, r = 0..7; rows 8..15 are 8 further.
    const __m256i twice = _mm256_setr_epi8(0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3, -1,  //
                                           4, -1, 4, -1, 5, -1, 5, -1, 6, -1, 6, -1, 7, -1, 7, -1);
    const __m256i twiceUpper = _mm256_or_si256(twice, _mm256_set1_epi8(8));
    const __m256i mask = _mm256_set1_epi8(Format::hasMinimum ? 15 : 63);
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i* const numerators = reinterpret_cast<__m256i*>(out.numerators);
    for (int group = 0; group < 8; ++group) {
      const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(packed.scales + 16 * group));
      const __m256i n = _mm256_and_si256(_mm256_broadcastsi128_si256(bytes), mask);
      _mm256_store_si256(numerators + 2 * group, packed.runs == 8 ? ones : _mm256_shuffle_epi8(n, twice));
      _mm256_store_si256(numerators + 2 * group + 1, packed.runs == 8 ? ones : _mm256_shuffle_epi8(n, twiceUpper));
    }
    if constexpr (Format::hasMinimum) {
      for (int pair = 0; pair < 4; ++pair) {
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(packed.scales) + 32 * pair;
        for (int row = 0; row < 16; ++row) {
          out.minima[32 * pair + 2 * row] = static_cast<std::int16_t>(bytes[row] >> 4);
          out.minima[32 * pair + 2 * row + 1] = static_cast<std::int16_t>(bytes[16 + row] >> 4);
        }
      }
    }
  }

  // Finds the tile of `count` tokens, 1 <= count <= T.
  template <int T>
  static void tokenTile(const Unpacked& w, const Token* x, int count, float* sums) {
    if (count == T) return tile<T>(w, x, sums);
    if constexpr (T > 1) tokenTile<T - 1>(w, x, count, sums);
  }

  struct Sums {
    __m256i lo, hi;
  };

  // The products of operandsPerSum operands, as pairs of int16.
  template <int T>
  static void addProducts(const Unpacked& w, const Token* x, int sum, Sums (&pairs)[T]) {
#pragma GCC unroll 4
    for (int t = 0; t < T; ++t) {
      pairs[t] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
      if constexpr (Format::folds && !Format::hasMinimum) {
        pairs[t].lo = broadcastInt(x[t].start + sum);
        pairs[t].hi = pairs[t].lo;
      }
    }
    const std::byte* const unit = Format::unit(w.codes, sum);
    const std::uint8_t* const operands = w.bytes + 64 * operandsPerSum * sum;
    const std::int64_t first = 4 * operandsPerSum * sum;
    unrolled<operandsPerSum>([&](auto s) __attribute__((always_inline)) {
      Codes operand;
      if constexpr (direct) {
        operand = Format::template operand<s>(unit);
      } else {
        operand = loadCodes(operands + 64 * s);
      }
#pragma GCC unroll 4
      for (int t = 0; t < T; ++t) {
        const __m256i four = broadcastInt(x[t].q + first + 4 * s);
        pairs[t].lo = _mm256_add_epi16(pairs[t].lo, _mm256_maddubs_epi16(operand.lo, four));
        pairs[t].hi = _mm256_add_epi16(pairs[t].hi, _mm256_maddubs_epi16(operand.hi, four));
      }
    });
  }

  template <int T>
  static void addWide(const Unpacked& w, const Token* x, int group, Sums (&dots)[T]) {
    const std::byte* const unit = Format::unit(w.codes, group);
    const __m256i low = _mm256_set1_epi16(255);
    for (int s = 0; s < 8; ++s) {
      const Codes operand = loadCodes(unit + 64 * s);
      const Codes even{_mm256_and_si256(operand.lo, low), _mm256_and_si256(operand.hi, low)};
      const Codes odd{_mm256_srli_epi16(operand.lo, 8), _mm256_srli_epi16(operand.hi, 8)};
#pragma GCC unroll 4
      for (int t = 0; t < T; ++t) {
        const __m256i x02 = broadcastInt(x[t].pairs + 32 * group + 4 * s);
        const __m256i x13 = broadcastInt(x[t].pairs + 32 * group + 4 * s + 2);
        dots[t].lo = _mm256_add_epi32(dots[t].lo, _mm256_madd_epi16(even.lo, x02));
        dots[t].hi = _mm256_add_epi32(dots[t].hi, _mm256_madd_epi16(even.hi, x02));
        dots[t].lo = _mm256_add_epi32(dots[t].lo, _mm256_madd_epi16(odd.lo, x13));
        dots[t].hi = _mm256_add_epi32(dots[t].hi, _mm256_madd_epi16(odd.hi, x13));
      }
    }
  }

  template <int T>
  __attribute__((noinline)) static void tile(const Unpacked& w, const Token* x, float* sums) {
    Lanes block[T];
#pragma GCC unroll 4
    for (int t = 0; t < T; ++t) block[t] = zeroLanes();
    const int runs = Format::folds ? w.runs : 128 / Format::groupLength;
    const int length = sumsPerBlock / runs;
    for (int run = 0; run < runs; ++run) {
      Sums dots[T];
#pragma GCC unroll 4
      for (int t = 0; t < T; ++t) {
        dots[t] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        if constexpr (!Format::folds) {
          dots[t].lo = broadcastInt(x[t].start + run);
          dots[t].hi = dots[t].lo;
        }
      }
      if constexpr (wide) {
        addWide<T>(w, x, run, dots);
      } else {
        for (int sum = run * length; sum < (run + 1) * length; ++sum) {
          Sums pairs[T];
          addProducts<T>(w, x, sum, pairs);
          __m256i lo = _mm256_set1_epi16(1);
          __m256i hi = lo;
          if constexpr (Format::folds) {
            lo = loadInts(w.numerators + 32 * sum);
            hi = loadInts(w.numerators + 32 * sum + 16);
          }
#pragma GCC unroll 4
          for (int t = 0; t < T; ++t) {
            dots[t].lo = _mm256_add_epi32(dots[t].lo, _mm256_madd_epi16(pairs[t].lo, lo));
            dots[t].hi = _mm256_add_epi32(dots[t].hi, _mm256_madd_epi16(pairs[t].hi, hi));
          }
        }
      }
      const Lanes scale = loadF32(w.scales + 16 * run);
#pragma GCC unroll 4
      for (int t = 0; t < T; ++t) {
        const Lanes value{_mm256_cvtepi32_ps(dots[t].lo), _mm256_cvtepi32_ps(dots[t].hi)};
        if constexpr (Format::hasMinimum) {
          block[t] = fma(value, scale, minimumOf(w, x[t]));
        } else {
          block[t] = fma(value, scale, block[t]);
        }
      }
    }
#pragma GCC unroll 4
    for (int t = 0; t < T; ++t)
      store(sums + 16 * t, fma(block[t], broadcast(x[t].scale), loadF32(sums + 16 * t)));
  }

  static Lanes minimumOf(const Unpacked& w, const Token& x) {
    __m256i lo = _mm256_setzero_si256();
    __m256i hi = lo;
    for (int pair = 0; pair < 4; ++pair) {
      const __m256i two = _mm256_set1_epi32(x.start[pair]);
      lo = _mm256_add_epi32(lo, _mm256_madd_epi16(loadInts(w.minima + 32 * pair), two));
      hi = _mm256_add_epi32(hi, _mm256_madd_epi16(loadInts(w.minima + 32 * pair + 16), two));
    }
    return mul({_mm256_cvtepi32_ps(lo), _mm256_cvtepi32_ps(hi)}, loadF32(w.minimum));
  }
};

}  // namespace qk::QK_ISA
