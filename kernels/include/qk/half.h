// Bit-exact conversions between float and the 16-bit and 8-bit numbers of the storage formats. Integer work only, so
// that every machine gives the same bits; inline because decoders call them once a block.
#pragma once

#include <bit>
#include <cstdint>

namespace qk {

// IEEE binary16. Subnormals, infinities and NaN included.
inline float halfToFloat(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

// Round to nearest, ties to even. Too large becomes infinity; a NaN stays a (quiet) NaN.
inline std::uint16_t floatToHalf(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and above
  std::uint32_t kept = 0;      // the half's bits before rounding
  std::uint32_t remainder = 0;  // what is cut off, and half a unit of it
  std::uint32_t halfway = 0;
  if (magnitude >= 0x38800000u) {  // 2^-14 and above: normal
    kept = (magnitude - 0x38000000u) >> 13;
    remainder = magnitude & 0x1fffu;
    halfway = 0x1000u;
  } else if (magnitude >= 0x33000000u) {  // 2^-25 and above: subnormal, or rounds to one
    const std::uint32_t shift = 126 - (magnitude >> 23);
    const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    kept = mantissa >> shift;
    remainder = mantissa & ((1u << shift) - 1);
    halfway = 1u << (shift - 1);
  }
  if (remainder > halfway || (remainder == halfway && (kept & 1u) != 0)) ++kept;
  return static_cast<std::uint16_t>(sign | kept);
}

inline float bfloatToFloat(std::uint16_t bfloat) { return std::bit_cast<float>(std::uint32_t{bfloat} << 16); }

// Round to nearest, ties to even; a NaN stays a (quiet) NaN.
inline std::uint16_t floatToBfloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Scale byte of the ROCmFP family: unsigned E4M3 at half scale, 0x00..0x7e; every other byte decodes to 0.
constexpr float scaleByteToFloat(std::uint8_t byte) {
  if (byte > 0x7e) return 0.0f;
  const std::uint32_t exponent = byte >> 3;
  const std::uint32_t mantissa = byte & 7u;
  if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10f;
  return std::bit_cast<float>(((exponent + 119) << 23) | (mantissa << 20));  // (8 + m) * 2^(exponent - 11)
}

// Scale byte of MXFP4: 2^(byte - 128), half of what E8M0 says because the levels are doubled; 0 and 1 are subnormal.
inline float halfE8M0ToFloat(std::uint8_t byte) {
  return std::bit_cast<float>(byte < 2 ? 0x00200000u << byte : std::uint32_t{byte - 1u} << 23);
}

}  // namespace qk
