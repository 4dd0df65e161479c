// Owns the int8 tile kernel in plain C++ with vectors of 16 bytes, which every compiler of this project has for every
// machine: levels as int16, whose products with activations are summed in int16 as far as they fit.
//
// Reached with the vectors of plain x86-64 (SSE2) on Zen 1, K = 2048, N = 128, GOPS at 1, 4 and 9 rows: ROCmFP2 1.3,
// 4.4, 7.0 (before 2.6 at each), Q8_0 3.3, 5.2, 5.8 (before 3.4), Q4_0 3.8, 6.7, 7.2. One row pays the unpacking alone.
#pragma once

#include "cpu/simd/tile_loop.h"
#include "cpu/simd/weight_formats.h"

namespace qk::QK_ISA {

typedef std::int16_t Short8 __attribute__((vector_size(16)));
typedef std::int32_t Int4 __attribute__((vector_size(16)));

template <class Format>
struct Int8Kernel {
  using Input = ActivationBlock;
  static constexpr int widestTokens = 1;
  static constexpr int tilesAtOnce = 1;
  static constexpr bool wide = Format::maxCode == 255;
  // Operands after which an int16 sum is widened. Each adds one product to it: levels of at most 128 (Q8_0, and those
  // multiplied by their numerator) twice, of at most 45 (Q2_K: 3 * 15) four times.
  static constexpr int operandsPerSum = wide || (Format::folds && !Format::hasMinimum) ? 2 : 4;

  struct alignas(16) Token {
    std::int16_t q[operandsPerBlock * 8];  // 4 activations, twice
    const ActivationBlock* x;
  };

  struct alignas(16) Unpacked {
    std::int16_t levels[operandsPerBlock * 64];  // times the numerator of a folded block
    std::int32_t minima[8 * 16];
    float scales[8 * 16];
    int runs;
    const std::byte* packedScales;
  };

  static void load(const ActivationBlock* input, std::int64_t block, std::int64_t, Token& token) {
    token.x = input + block;
    for (int s = 0; s < operandsPerBlock; ++s) {
      for (int i = 0; i < 8; ++i) token.q[8 * s + i] = token.x->q[4 * s + i % 4];
    }
  }

  static void unpack(const PackedMatrix& w, const std::byte* tile, std::int64_t block, std::int64_t,
                     Unpacked& out) {
    const PackedBlock packed = packedBlock<Format>(w.cols, tile, block);
    out.runs = packed.runs;
    out.packedScales = packed.scales;
    runScales<Format>(packed, out.scales);
    std::uint8_t operands[operandsPerBlock * 64];
    unpackOperands<Format>(packed.codes, operands);
    for (int group = 0; group < 8; ++group) {
      std::int16_t* const levels = out.levels + 256 * group;
      for (int i = 0; i < 256; ++i)
        levels[i] = static_cast<std::int16_t>(operands[256 * group + i] - Format::zero);
      if (Format::folds && packed.runs != 8) {
        const std::byte* const bytes = packed.scales + 16 * group;
        std::int16_t n[64];
        for (int i = 0; i < 64; ++i)
          n[i] = static_cast<std::int16_t>(static_cast<int>(bytes[i / 4]) & (Format::hasMinimum ? 15 : 63));
        for (int i = 0; i < 256; ++i) levels[i] = static_cast<std::int16_t>(levels[i] * n[i % 64]);
      }
    }
    if constexpr (Format::hasMinimum) {
      for (int i = 0; i < 128; ++i) out.minima[i] = static_cast<int>(packed.scales[i]) >> 4;
    }
  }

  static void multiply(const Unpacked* w, int, std::int64_t, const Token* x, std::int64_t tokens, float* sums) {
    for (std::int64_t t = 0; t < tokens; ++t) tile(*w, x[t], sums + 16 * t);
  }

 private:
  // dot[row] of operands first .. first + count - 1, for the 8 rows from 8 * half on.
  static void dotOf(const Unpacked& w, const Token& x, int first, int count, int half, std::int32_t* dot) {
    Int4 sums[4] = {};
    for (int s = first; s < first + count; s += operandsPerSum) {
      Short8 parts[4] = {};
#pragma GCC unroll 4
      for (int i = 0; i < operandsPerSum; ++i) {
        Short8 q;
        __builtin_memcpy(&q, x.q + 8 * (s + i), sizeof q);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
          Short8 level;
          __builtin_memcpy(&level, w.levels + 64 * (s + i) + 32 * half + 8 * v, sizeof level);
          parts[v] += level * q;
        }
      }
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const Int4 pairs = reinterpret_cast<Int4>(parts[v]);
        sums[v] += ((pairs << 16) >> 16) + (pairs >> 16);
      }
    }
    for (int row = 0; row < 8; ++row) dot[row] = sums[row / 2][row % 2 * 2] + sums[row / 2][row % 2 * 2 + 1];
  }

  static void tile(const Unpacked& w, const Token& x, float* sums) {
    Lanes block = zeroLanes();
    const int length = operandsPerBlock / w.runs;
    for (int run = 0; run < w.runs; ++run) {
      std::int32_t dot[16];
      for (int half = 0; half < 2; ++half) dotOf(w, x, run * length, length, half, dot + 8 * half);
      const Lanes value = each([&](int row) { return static_cast<float>(dot[row]); });
      if constexpr (Format::hasMinimum) block = minimumOf(w, *x.x);
      block = fma(value, loadF32(w.scales + 16 * run), block);
    }
    store(sums, fma(block, broadcast(x.x->scale), loadF32(sums)));
  }

  static Lanes minimumOf(const Unpacked& w, const ActivationBlock& x) {
    std::int32_t sum[16] = {};
    for (int group = 0; group < 8; ++group) {
      for (int row = 0; row < 16; ++row) sum[row] += w.minima[16 * group + row] * x.negatedSum16[group];
    }
    return mul(each([&](int row) { return static_cast<float>(sum[row]); }), Format::minimum(w.packedScales));
  }
};

}  // namespace qk::QK_ISA
