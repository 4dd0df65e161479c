// Owns the int8 tile kernel in plain C++, written for compilers that make vectors of loops: levels as int16
// [k][16 rows], whose products with an activation are summed in int16 as far as they fit.
#pragma once

#include "cpu/simd/tile_loop.h"
#include "cpu/simd/weight_formats.h"

namespace qk::QK_ISA {

template <class Format>
struct Int8Kernel {
  using Input = ActivationBlock;
  static constexpr int widestTokens = 1;
  static constexpr int tilesAtOnce = 1;
  static constexpr bool wide = Format::maxCode == 255;
  // k after which an int16 sum is widened: 16 * 12 * 127 and 2 * 128 * 127 fit.
  static constexpr int sumLength = wide ? 2 : 16;

  struct Token {
    const ActivationBlock* x;
  };

  struct Unpacked {
    std::int16_t levels[128 * 16];
    std::int32_t numerators[8 * 16];
    std::int32_t minima[8 * 16];
    float scales[8 * 16];
    int runs;
    const std::byte* packedScales;
  };

  static void load(const ActivationBlock* input, std::int64_t block, std::int64_t, Token& token) {
    token.x = input + block;
  }

  static void unpack(const PackedMatrix& w, const std::byte* tile, std::int64_t block, std::int64_t,
                     Unpacked& out) {
    const PackedBlock packed = packedBlock<Format>(w.cols, tile, block);
    out.runs = packed.runs;
    out.packedScales = packed.scales;
    runScales<Format>(packed, out.scales);
    std::uint8_t operands[operandsPerBlock * 64];
    unpackOperands<Format>(packed.codes, operands);
    for (int k = 0; k < 128; ++k) {
      for (int row = 0; row < 16; ++row) {
        out.levels[16 * k + row] =
            static_cast<std::int16_t>(operands[k / 4 * 64 + 4 * row + k % 4] - Format::zero);
      }
    }
    for (int i = 0; i < 128; ++i) {
      const int byte = Format::folds ? static_cast<int>(packed.scales[i]) : 1;
      out.numerators[i] = !Format::folds || packed.runs == 8 ? 1 : byte & (Format::hasMinimum ? 15 : 63);
      out.minima[i] = byte >> 4;
    }
  }

  static void multiply(const Unpacked* w, int, std::int64_t, const Token* x, std::int64_t tokens, float* sums) {
    for (std::int64_t t = 0; t < tokens; ++t) tile(*w, *x[t].x, sums + 16 * t);
  }

 private:
  static void tile(const Unpacked& w, const ActivationBlock& x, float* sums) {
    Lanes block = zeroLanes();
    const int length = 128 / w.runs;
    for (int run = 0; run < w.runs; ++run) {
      std::int32_t dot[16] = {};
      for (int k = run * length; k < (run + 1) * length; k += sumLength) {
        std::int16_t part[16] = {};
        for (int i = 0; i < sumLength; ++i) {
          for (int row = 0; row < 16; ++row)
            part[row] = static_cast<std::int16_t>(part[row] + w.levels[16 * (k + i) + row] * x.q[k + i]);
        }
        if constexpr (Format::folds) {
          for (int row = 0; row < 16; ++row) dot[row] += part[row] * w.numerators[k / 16 * 16 + row];
        } else {
          for (int row = 0; row < 16; ++row) dot[row] += part[row];
        }
      }
      const Lanes value = each([&](int row) { return static_cast<float>(dot[row]); });
      if constexpr (Format::hasMinimum) block = minimumOf(w, x);
      block = fma(value, loadF32(w.scales + 16 * run), block);
    }
    store(sums, fma(block, broadcast(x.scale), loadF32(sums)));
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
