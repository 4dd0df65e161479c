// Owns the int8 tile kernel with AVX-512 VNNI: 2 x 16 weight rows by up to 12 tokens, operands of bytes from the
// unpacked block, one dpbusd for 4 k of 16 rows and a token. Blocks of one run have their numerators multiplied into
// the operands (128 + level * n), so that a block is 32 dpbusd, one conversion, one product and one fma.
//
// A weight tile of a block is 2048 weights: 640 bytes of ROCmFP2, 1088 or 1152 of 4-bit formats, 2176 of Q8_0. It takes
// 4096 operations a token, 32 dpbusd and at least 3 others: from about 4 tokens on the floor is compute, two 512-bit
// dpbusd a cycle. A folded block can reach 32/35 of it where conversions share those ports, a block of 4 runs 32/41,
// one of 8 runs 32/49. Unpacking a pair of tiles costs 53 ns (ROCmFP2), 81 (ROCmFP3), 37 (Q4_0) once for 64 tokens.
// Reached on a shared server (Xeon, AVX512 VNNI and VBMI, one core, K = 4096, N = 2048), best of several passes; the
// ceiling there, dpbusd on registers only, was 704 to 760 GOPS. Tile kernel on cached operands: folded 645 to 679,
// 4 runs 528 to 545, 8 runs 426 to 466. Whole matmul with weights from memory, GOPS at 9, 48 and 192 rows, in two
// sessions on that shared server: ROCmFP2 426, 506, 512 and 383, 383, 478; ROCmFP3 312, 464, 508 and 310, 464, 481;
// Q8_0 156, 337, 388 and 196, 340, 354; in the second Q4_0 336, 374, 403; MXFP4 345, 382, 408; ROCmFP4 295, 300, 344;
// ROCmFP4_FAST 362, 402, 396; Q2_K 339, 428, 422; ROCmFP2 with scales too far apart to fold 338, 343, 361. Before
// folding and unpacking once, in a third session: ROCmFP2 272, 290, 285;
// ROCmFP3 223, 239, 235; Q4_0 227, 257, 258; Q8_0 143, 248, 251. Between kernel and matmul a quarter is lost; not
// measured apart, supposed to be the laying of panels and the sums' way through the second-level cache, and memory
// for Q8_0 at few rows.
#pragma once

#include "cpu/simd/tile_loop.h"
#include "cpu/simd/weight_formats.h"

namespace qk::QK_ISA {

// sum += 4 products of unsigned bytes of w and signed bytes of x a lane. The instruction is written out because gcc 12
// copies the sum of the intrinsic to another register and back in every round of a loop.
inline void addDot(__m512i& sum, __m512i w, __m512i x) { asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x)); }

// Operands of folding formats are 128 + level * n (with 8 runs n = 1); Q2_K's are code * n.
template <class Format>
inline constexpr int operandZero = Format::folds && !Format::hasMinimum ? 128 : Format::zero;

template <class Format>
struct Int8Kernel {
  using Input = ActivationBlock;
  static constexpr int widestTokens = 12;  // 24 sums, 2 operands and a broadcast activation fill the registers
  static constexpr int tilesAtOnce = 2;

  struct alignas(64) Token {
    std::int8_t q[128];
    // Minus zero times the sum of a run's activations, at runs - 1 + run, as the sums of ActivationBlock lie; of Q2_K
    // the group sums as pairs of int16.
    std::int32_t start[15];
    float scale;
  };
  static_assert(sizeof(Token) == 192);

  struct alignas(64) Unpacked {
    std::uint8_t bytes[operandsPerBlock * 64];
    float scales[8 * 16];
    std::int16_t minima[4 * 16 * 2];  // pairs of groups
    float minimum[16];
    const std::uint8_t* operands;
    int runs;
  };

  static void load(const ActivationBlock* input, std::int64_t block, std::int64_t, Token& token) {
    const ActivationBlock& x = input[block];
    prefetch(&x + 1, sizeof x);
    _mm512_store_si512(token.q, _mm512_load_si512(x.q));
    _mm512_store_si512(token.q + 64, _mm512_load_si512(x.q + 64));
    if constexpr (Format::hasMinimum) {
      const __m256i sums = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x.negatedSum16));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(token.start), _mm256_cvtepi32_epi16(sums));
      token.scale = x.scale;
    } else {  // the scale, which is last, is kept as it is
      const __m512i sums = _mm512_load_si512(&x.negatedSum128);
      const __m512i zero = _mm512_set1_epi32(operandZero<Format>);
      _mm512_store_si512(token.start, _mm512_mask_mullo_epi32(sums, 0x7fff, sums, zero));
    }
  }

  static void unpack(const PackedMatrix& w, const std::byte* tile, std::int64_t block, std::int64_t,
                     Unpacked& out) {
    const PackedBlock packed = packedBlock<Format>(w.cols, tile, block);
    prefetch(packed.codes + Format::codeBytes, Format::codeBytes);
    out.runs = packed.runs;
    out.operands = out.bytes;
    runScales<Format>(packed, out.scales);
    if constexpr (Format::folds) {
      unpackFolded(packed, out);
    } else if constexpr (Format::maxCode == 255) {
      out.operands = reinterpret_cast<const std::uint8_t*>(packed.codes);
    } else {
      unpackOperands<Format>(packed.codes, out.bytes);
    }
  }

  static void multiply(const Unpacked* w, int tiles, std::int64_t, const Token* x, std::int64_t tokens,
                       float* sums) {
    if (tiles == 2 && w[0].runs == w[1].runs) return multiplyRuns<2>(w, x, tokens, sums);
    for (int r = 0; r < tiles; ++r) multiplyRuns<1>(w + r, x, tokens, sums + r * panelTokens * 16);
  }

 private:
  // A table of 4 bytes a row, in the row's lane: base + n * factor; indexed by 4 * (row % 4) + code.
  static void unpackFolded(const PackedBlock& packed, Unpacked& out) {
    constexpr bool isROCmFP3 = Format::maxCode == 8;
    const __m512i base = _mm512_set1_epi32(Format::hasMinimum ? 0 : static_cast<int>(0x80808080u));
    // Levels of codes 0..3: -1 0 1 2; magnitudes 0 1 2 4; 0 1 2 3.
    const __m512i factor = _mm512_set1_epi32(Format::hasMinimum ? 0x03020100 : isROCmFP3 ? 0x04020100 : 0x0200ffff);
    const __m512i row = _mm512_broadcast_i32x4(_mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0));
    const __m512i three = _mm512_set1_epi8(3);
    const __m512i numeratorMask = _mm512_set1_epi32(Format::hasMinimum ? 15 : 63);
    const __m512i zero = _mm512_setzero_si512();
    for (int group = 0; group < 8; ++group) {
      const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(packed.scales + 16 * group));
      __m512i n = _mm512_and_si512(_mm512_cvtepu8_epi32(bytes), numeratorMask);
      if constexpr (Format::hasMinimum) {
        const __m512i m = _mm512_cvtepu8_epi32(_mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(15)));
        __m512i* const pair = reinterpret_cast<__m512i*>(out.minima + group / 2 * 32);
        if (group % 2 == 0) {
          _mm512_store_si512(pair, m);
        } else {
          _mm512_store_si512(pair, _mm512_or_si512(_mm512_load_si512(pair), _mm512_slli_epi32(m, 16)));
        }
      } else if (packed.runs == 8) {
        n = _mm512_set1_epi32(1);
      }
      const __m512i table = _mm512_add_epi32(base, _mm512_mullo_epi32(n, factor));
      const std::byte* const codes =
          isROCmFP3 ? packed.codes + 192 * (group / 2) + 64 * (group % 2) : packed.codes + 64 * group;
      const __m512i four = _mm512_load_si512(codes);
      __m512i signs = zero;
      if constexpr (isROCmFP3) {
        signs = _mm512_load_si512(packed.codes + 192 * (group / 2) + 128);
        if (group % 2 != 0) signs = _mm512_srli_epi16(signs, 4);
      }
      unrolled<4>([&](auto s) {
        // (four >> 2 s & 3) | row
        const __m512i index = _mm512_ternarylogic_epi32(_mm512_srli_epi16(four, 2 * s), three, row, 0xea);
        __m512i operand = _mm512_shuffle_epi8(table, index);
        if constexpr (isROCmFP3) {  // 256 - (128 + level * n) = 128 - level * n
          const __mmask64 negative = _mm512_test_epi8_mask(signs, _mm512_set1_epi8(1 << s));
          operand = _mm512_mask_sub_epi8(operand, negative, zero, operand);
        }
        _mm512_store_si512(out.bytes + 256 * group + 64 * s, operand);
      });
    }
    if constexpr (Format::hasMinimum) store(out.minimum, Format::minimum(packed.scales));
  }

  template <int R>
  static void multiplyRuns(const Unpacked* w, const Token* x, std::int64_t tokens, float* sums) {
    const auto run = [&](auto runs) {
      eachTokenTile(tokens, widestTokens, [&](std::int64_t first, int count) {
        tokenTile<runs, R, widestTokens>(w, x + first, count, sums + first * 16);
      });
    };
    if constexpr (Format::hasMinimum) return run(Constant<1>{});
    if constexpr (!Format::folds) return run(Constant<128 / Format::groupLength>{});
    if constexpr (Format::folds && !Format::hasMinimum) {
      if (w->runs == 1) return run(Constant<1>{});
      if (w->runs == 2) return run(Constant<2>{});
      if (w->runs == 4) return run(Constant<4>{});
      run(Constant<8>{});
    }
  }

  // Finds the tile of `count` tokens, 1 <= count <= T.
  template <int runs, int R, int T>
  static void tokenTile(const Unpacked* w, const Token* x, int count, float* sums) {
    if (count == T) return tile<runs, R, T>(w, x, sums);
    if constexpr (T > 1) tokenTile<runs, R, T - 1>(w, x, count, sums);
  }

  template <int runs, int R, int T>
  __attribute__((noinline)) static void tile(const Unpacked* w, const Token* x, float* sums) {
    __m512 block[R][T];
#pragma GCC unroll 8
    for (int run = 0; run < runs; ++run) {
      __m512i dot[R][T];
      const std::uint8_t* operands[R];
#pragma GCC unroll 12
      for (int t = 0; t < T; ++t) {
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) {
          dot[r][t] = Format::hasMinimum ? _mm512_setzero_si512()
                                         : _mm512_set1_epi32(x[t].start[runs - 1 + run]);
        }
      }
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) operands[r] = w[r].operands;
      constexpr int length = operandsPerBlock / runs;
#pragma GCC unroll 4
      for (int s = run * length; s < (run + 1) * length; ++s) {
        __m512i operand[R];
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) operand[r] = _mm512_load_si512(operands[r] + 64 * s);
#pragma GCC unroll 12
        for (int t = 0; t < T; ++t) {
          std::int32_t four;
          __builtin_memcpy(&four, x[t].q + 4 * s, sizeof four);
          const __m512i value = _mm512_set1_epi32(four);
#pragma GCC unroll 2
          for (int r = 0; r < R; ++r) addDot(dot[r][t], operand[r], value);
        }
      }
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) {
        const __m512 scale = _mm512_load_ps(w[r].scales + 16 * run);
#pragma GCC unroll 12
        for (int t = 0; t < T; ++t) {
          const __m512 value = _mm512_cvtepi32_ps(dot[r][t]);
          if constexpr (Format::hasMinimum) {
            block[r][t] = _mm512_fmadd_ps(value, scale, minimumOf(w[r], x[t]));
          } else if (run == 0) {
            block[r][t] = _mm512_mul_ps(value, scale);  // + 0; a -0 from it changes no sum that began at +0
          } else {
            block[r][t] = _mm512_fmadd_ps(value, scale, block[r][t]);
          }
        }
      }
    }
#pragma GCC unroll 12
    for (int t = 0; t < T; ++t) {
      const __m512 scale = _mm512_set1_ps(x[t].scale);
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) {
        float* const sum = sums + (r * panelTokens + t) * 16;
        _mm512_store_ps(sum, _mm512_fmadd_ps(block[r][t], scale, _mm512_load_ps(sum)));
      }
    }
  }

  static __m512 minimumOf(const Unpacked& w, const Token& x) {
    __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int pair = 0; pair < 4; ++pair) {
      sum = _mm512_dpwssd_epi32(sum, _mm512_load_si512(w.minima + 32 * pair), _mm512_set1_epi32(x.start[pair]));
    }
    return _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_load_ps(w.minimum));
  }
};

}  // namespace qk::QK_ISA
