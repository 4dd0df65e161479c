// Owns how each packed format (cpu/packed_layout.h) yields its operands and scales: weight = scale * (code - zero),
// with a scale for each group of `groupLength` k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/packed_layout.h"
#include "cpu/simd/lanes.h"

namespace qk::QK_ISA {

inline constexpr int operandsPerBlock = 32;  // of 4 k

template <int n>
struct Constant {
  constexpr operator int() const { return n; }
};

template <int... s, class F>
inline void unrolled(F f, std::integer_sequence<int, s...>) {
  (f(Constant<s>{}), ...);
}

// f(constant 0) .. f(constant n - 1).
template <int n, class F>
inline void unrolled(F f) {
  unrolled(f, std::make_integer_sequence<int, n>{});
}

// operands(codes, out): the 32 operands of a block, 64 bytes each. scale(scales, group): of a group, as it is in the
// file. Codes are at most maxCode.
struct FormatROCmFP2 {
  static constexpr int groupLength = 16;
  static constexpr int zero = 1;
  static constexpr int maxCode = 3;
  static constexpr bool folds = true;
  static constexpr bool hasMinimum = false;
  static constexpr std::int64_t codeBytes = codeBytesROCmFP2;
  static constexpr std::int64_t scaleBytes = scaleBytes16;
  static void operands(const std::byte* codes, std::uint8_t* out) {
    for (int group = 0; group < 8; ++group, out += 256) {
      const Codes four = loadCodes(codes + 64 * group);
      unrolled<4>([&](auto s) { storeCodes(out + 64 * s, field<2 * s, 3>(four)); });
    }
  }
  static Lanes scale(const std::byte* scales, int group) { return loadUE4M3(scales + 16 * group); }
};

struct FormatROCmFP3 {
  static constexpr int groupLength = 16;
  static constexpr int zero = 4;
  static constexpr int maxCode = 8;
  static constexpr bool folds = true;
  static constexpr bool hasMinimum = false;
  static constexpr std::int64_t codeBytes = codeBytesROCmFP3;
  static constexpr std::int64_t scaleBytes = scaleBytes16;
  static constexpr std::uint8_t levels[16] = {4, 5, 6, 8, 4, 3, 2, 0};  // by magnitude and sign
  static void operands(const std::byte* codes, std::uint8_t* out) {
    for (int step = 0; step < 4; ++step, codes += 192) {
      const Codes sign = loadCodes(codes + 128);
      for (int half = 0; half < 2; ++half, out += 256) {
        const Codes four = loadCodes(codes + 64 * half);
        const Codes signs = half == 0 ? sign : field<4, 15>(sign);
        unrolled<4>([&](auto s) {
          storeCodes(out + 64 * s, lookUp(levels, either(field<2 * s, 3>(four), moved<s>(signs))));
        });
      }
    }
  }
  static Lanes scale(const std::byte* scales, int group) { return loadUE4M3(scales + 16 * group); }

 private:
  // Bit s at bit 2.
  template <int s>
  static Codes moved(Codes a) {
    if constexpr (s < 2) return maskedLeft<2 - s, 4>(a);
    if constexpr (s >= 2) return field<s - 2, 4>(a);
  }
};

// The four formats of nibbles: codes, or levels + zero from a table.
template <class Levels>
struct Nibbles {
  static constexpr bool folds = false;
  static constexpr bool hasMinimum = false;
  static constexpr std::int64_t codeBytes = codeBytesNibbles;
  static void operands(const std::byte* codes, std::uint8_t* out) {
    for (int step = 0; step < 4; ++step, codes += 256, out += 512) {
      for (int p = 0; p < 4; ++p) {
        const Codes both = loadCodes(codes + 64 * p);
        storeCodes(out + 64 * p, Levels::of(field<0, 15>(both)));
        storeCodes(out + 256 + 64 * p, Levels::of(field<4, 15>(both)));
      }
    }
  }
};

struct LevelsQ4_0 {
  static Codes of(Codes code) { return code; }
};
struct LevelsROCmFP4 {
  static Codes of(Codes code) {
    static constexpr std::uint8_t levels[16] = {10, 11, 12, 13, 14, 16, 18, 20, 10, 9, 8, 7, 6, 4, 2, 0};
    return lookUp(levels, code);
  }
};
struct LevelsMXFP4 {
  static Codes of(Codes code) {
    static constexpr std::uint8_t levels[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
    return lookUp(levels, code);
  }
};

struct FormatQ4_0 : Nibbles<LevelsQ4_0> {
  static constexpr int groupLength = 32;
  static constexpr int zero = 8;
  static constexpr int maxCode = 15;
  static constexpr std::int64_t scaleBytes = scaleBytesF16;
  static Lanes scale(const std::byte* scales, int group) { return loadF16(scales + 32 * group); }
};

struct FormatROCmFP4 : Nibbles<LevelsROCmFP4> {
  static constexpr int groupLength = 16;
  static constexpr int zero = 10;
  static constexpr int maxCode = 20;
  static constexpr std::int64_t scaleBytes = scaleBytes16;
  static Lanes scale(const std::byte* scales, int group) { return loadUE4M3(scales + 16 * group); }
};

struct FormatROCmFP4Fast : Nibbles<LevelsROCmFP4> {
  static constexpr int groupLength = 32;
  static constexpr int zero = 10;
  static constexpr int maxCode = 20;
  static constexpr std::int64_t scaleBytes = scaleBytes32;
  static Lanes scale(const std::byte* scales, int group) { return loadUE4M3(scales + 16 * group); }
};

struct FormatMXFP4 : Nibbles<LevelsMXFP4> {
  static constexpr int groupLength = 32;
  static constexpr int zero = 12;
  static constexpr int maxCode = 24;
  static constexpr std::int64_t scaleBytes = scaleBytes32;
  static Lanes scale(const std::byte* scales, int group) { return loadE8M0(scales + 16 * group); }
};

struct FormatQ8_0 {
  static constexpr int groupLength = 32;
  static constexpr int zero = 128;
  static constexpr int maxCode = 255;
  static constexpr bool folds = false;
  static constexpr bool hasMinimum = false;
  static constexpr std::int64_t codeBytes = codeBytesQ8_0;
  static constexpr std::int64_t scaleBytes = scaleBytesF16;
  static Lanes scale(const std::byte* scales, int group) { return loadF16(scales + 32 * group); }
};

// Always one run: the numerators are the lower nibbles of the scale bytes, the minima the upper ones; scale is d.
struct FormatQ2_K {
  static constexpr int groupLength = 16;
  static constexpr int zero = 0;
  static constexpr int maxCode = 3;
  static constexpr bool folds = true;
  static constexpr bool hasMinimum = true;
  static constexpr std::int64_t codeBytes = codeBytesROCmFP2;
  static constexpr std::int64_t scaleBytes = scaleBytesQ2_K;
  static void operands(const std::byte* codes, std::uint8_t* out) { FormatROCmFP2::operands(codes, out); }
  static Lanes scale(const std::byte* scales, int) { return loadF16(scales + 128); }
  static Lanes minimum(const std::byte* scales) { return loadF16(scales + 160); }
};

// Where a block is in its tile.
struct PackedBlock {
  const std::byte* codes;
  const std::byte* scales;
  int runs;  // 1, 2, 4 or 8
};

template <class Format>
inline PackedBlock packedBlock(std::int64_t cols, const std::byte* tile, std::int64_t block) {
  const std::int64_t blocks = (cols + blockLength - 1) / blockLength;
  const std::byte* const scales = tile + blocks * Format::codeBytes;
  const std::byte* const runs = scales + blocks * Format::scaleBytes;
  int count = blockLength / Format::groupLength;
  if (Format::folds) count = Format::hasMinimum ? 1 : static_cast<int>(runs[block]);
  return {tile + block * Format::codeBytes, scales + block * Format::scaleBytes, count};
}

// The scales of the runs of a block, 16 floats each.
template <class Format>
inline void runScales(const PackedBlock& block, float* out) {
  if constexpr (Format::folds && !Format::hasMinimum) {
    if (block.runs < 8) {
      for (int run = 0; run < block.runs; ++run) {
        const std::byte* const first = block.scales + 16 * (8 / block.runs) * run;
        store(out + 16 * run, loadUnit(first, first + 16));
      }
      return;
    }
  }
  for (int run = 0; run < block.runs; ++run) store(out + 16 * run, Format::scale(block.scales, run));
}

}  // namespace qk::QK_ISA
