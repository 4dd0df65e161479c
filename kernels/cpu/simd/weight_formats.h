// Owns how each packed format (cpu/packed_layout.h) yields its operands and scales: weight = scale * (code - zero),
// with a scale for each group of `groupLength` k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/levels.h"
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

// A block is read in units of `unitOperands` operands: operand<s>(unit) is one of them, unit(codes, i) where the i-th
// begins. scale(scales, group): of a group, as it is in the file. Codes are at most maxCode.
struct FormatROCmFP2 {
  static constexpr int groupLength = 16;
  static constexpr int zero = 1;
  static constexpr int maxCode = 3;
  static constexpr bool folds = true;
  static constexpr bool hasMinimum = false;
  static constexpr std::int64_t codeBytes = codeBytesROCmFP2;
  static constexpr std::int64_t scaleBytes = scaleBytes16;
  static constexpr int unitOperands = 4;
  static const std::byte* unit(const std::byte* codes, int i) { return codes + 64 * i; }
  template <int s>
  static Codes operand(const std::byte* unit) {
    return field<2 * s, 3>(loadCodes(unit));
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
  static constexpr LevelTable<std::uint8_t> levels = levelTable<std::uint8_t>(magnitudesROCmFP3, zero);
  static constexpr int unitOperands = 8;
  static const std::byte* unit(const std::byte* codes, int i) { return codes + 192 * i; }
  template <int s>
  static Codes operand(const std::byte* unit) {
    const Codes magnitude = field<2 * (s % 4), 3>(loadCodes(unit + s / 4 * 64));
    return lookUp(levels.of, either(magnitude, signAtBit2<s>(loadCodes(unit + 128))));
  }
  static Lanes scale(const std::byte* scales, int group) { return loadUE4M3(scales + 16 * group); }

 private:
  template <int s>
  static Codes signAtBit2(Codes a) {
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
  static constexpr int unitOperands = 8;
  static const std::byte* unit(const std::byte* codes, int i) { return codes + 256 * i; }
  template <int s>
  static Codes operand(const std::byte* unit) {
    return Levels::of(field<s / 4 * 4, 15>(loadCodes(unit + s % 4 * 64)));
  }
};

struct LevelsQ4_0 {
  static Codes of(Codes code) { return code; }
};
struct LevelsROCmFP4 {
  static Codes of(Codes code) {
    static constexpr LevelTable<std::uint8_t> levels = levelTable<std::uint8_t>(magnitudesROCmFP4, 10);
    return lookUp(levels.of, code);
  }
};
struct LevelsMXFP4 {
  static Codes of(Codes code) {
    static constexpr LevelTable<std::uint8_t> levels = levelTable<std::uint8_t>(magnitudesMXFP4, 12);
    return lookUp(levels.of, code);
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
  static constexpr int unitOperands = 8;
  static const std::byte* unit(const std::byte* codes, int i) { return codes + 512 * i; }
  template <int s>
  static Codes operand(const std::byte* unit) {
    return loadCodes(unit + 64 * s);
  }
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
  static constexpr int unitOperands = 4;
  static const std::byte* unit(const std::byte* codes, int i) { return codes + 64 * i; }
  template <int s>
  static Codes operand(const std::byte* unit) {
    return FormatROCmFP2::operand<s>(unit);
  }
  static Lanes scale(const std::byte* scales, int) { return loadF16(scales + 128); }
  static Lanes minimum(const std::byte* scales) { return loadF16(scales + 160); }
};

// The 32 operands of a block, 64 bytes each.
template <class Format>
inline void unpackOperands(const std::byte* codes, std::uint8_t* out) {
  for (int i = 0; i < operandsPerBlock / Format::unitOperands; ++i, out += 64 * Format::unitOperands) {
    const std::byte* const unit = Format::unit(codes, i);
    unrolled<Format::unitOperands>([&](auto s) { storeCodes(out + 64 * s, Format::template operand<s>(unit)); });
  }
}

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
