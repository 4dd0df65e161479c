// Owns how each packed format (cpu/packed_layout.h) yields its operands and scales: value = scale * (code -
// zero).
#pragma once

#include "cpu/packed_layout.h"
#include "cpu/simd/lanes.h"

namespace qk::QK_ISA {

// A step is 32 k; `groups` scales a step; operand<s> holds codes of k = 4s .. 4s+3, s < 8; zero = 1 <<
// zeroShift.
struct FormatROCmFP2 {
  static constexpr int groups = 2;
  static constexpr int zeroShift = 0;
  static constexpr std::int64_t codeBytes = codeBytesROCmFP2;
  using Sum = SmallDot;
  template <int s>
  static Codes operand(const std::byte* codes) {
    return field<2 * (s % 4), 3>(loadCodes(codes + s / 4 * 64));
  }
  static Lanes scale(const std::byte* scales, int group) { return loadUE4M3(scales + 16 * group); }
};

struct FormatROCmFP3 {
  static constexpr int groups = 2;
  static constexpr int zeroShift = 2;
  static constexpr std::int64_t codeBytes = codeBytesROCmFP3;
  using Sum = SmallDot;
  template <int s>
  static Codes operand(const std::byte* codes) {
    return levelROCmFP3<2 * (s % 4), s>(loadCodes(codes + s / 4 * 64), loadCodes(codes + 128));
  }
  static Lanes scale(const std::byte* scales, int group) { return loadUE4M3(scales + 16 * group); }
};

struct FormatQ4_0 {
  static constexpr int groups = 1;
  static constexpr int zeroShift = 3;
  static constexpr std::int64_t codeBytes = codeBytesQ4_0;
  using Sum = SmallDot;
  template <int s>
  static Codes operand(const std::byte* codes) {
    return field<s / 4 * 4, 15>(loadCodes(codes + s % 4 * 64));
  }
  static Lanes scale(const std::byte* scales, int) { return loadF16(scales); }
};

struct FormatQ8_0 {
  static constexpr int groups = 1;
  static constexpr int zeroShift = 7;
  static constexpr std::int64_t codeBytes = codeBytesQ8_0;
  using Sum = WideDot;
  template <int s>
  static Codes operand(const std::byte* codes) {
    return loadCodes(codes + s * 64);
  }
  static Lanes scale(const std::byte* scales, int) { return loadF16(scales); }
};

}  // namespace qk::QK_ISA
