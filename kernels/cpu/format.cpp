// Owns the table of storage formats and their decoders, one plain loop a format. This is the definition that every
// fast path is compared with; it is not on the hot path itself.
#include "qk/format.h"

#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

#include "cpu/levels.h"
#include "qk/half.h"

namespace qk {
namespace {

constexpr std::array<Format, 12> kFormats = {{
    {Type::F32, "f32", 1, 4},
    {Type::F16, "f16", 1, 2},
    {Type::BF16, "bf16", 1, 2},
    {Type::I32, "i32", 1, 4},
    {Type::Q4_0, "q4_0", 32, 18},
    {Type::Q8_0, "q8_0", 32, 34},
    {Type::Q2_K, "q2_k", 256, 84},
    {Type::MXFP4, "mxfp4", 32, 17},
    {Type::ROCmFP4, "rocmfp4", 32, 18},
    {Type::ROCmFP4_FAST, "rocmfp4_fast", 32, 17},
    {Type::ROCmFP2, "rocmfp2", 32, 10},
    {Type::ROCmFP3, "rocmfp3", 32, 14},
}};

static_assert(std::endian::native == std::endian::little, "GGUF data is little-endian and is used in place");

std::uint16_t load16(const std::byte* at) {
  std::uint16_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// F16 scale, 16 bytes: low nibble of byte j is weight j, high nibble weight j + 16, zero point 8.
void decodeQ4_0(const std::byte* block, float* out) {
  const float scale = halfToFloat(load16(block));
  for (int j = 0; j < 16; ++j) {
    const auto pair = std::to_integer<int>(block[2 + j]);
    out[j] = static_cast<float>((pair & 15) - 8) * scale;
    out[j + 16] = static_cast<float>((pair >> 4) - 8) * scale;
  }
}

// F16 scale, 32 signed bytes.
void decodeQ8_0(const std::byte* block, float* out) {
  const float scale = halfToFloat(load16(block));
  for (int j = 0; j < 32; ++j) {
    out[j] = static_cast<float>(std::bit_cast<std::int8_t>(block[2 + j])) * scale;
  }
}

// 8 bytes of 2-bit codes (weight i at bit 2 i, level = code - 1), then a scale byte for each half.
void decodeFp2(const std::byte* block, float* out) {
  for (int i = 0; i < 32; ++i) {
    const float scale = scaleByteToFloat(std::to_integer<std::uint8_t>(block[8 + i / 16]));
    const int code = (std::to_integer<int>(block[i / 4]) >> (2 * (i % 4))) & 3;
    out[i] = static_cast<float>(code - 1) * scale;
  }
}

// 12 bytes of 3-bit codes (weight i at bit 3 i; low two bits pick 0, 1, 2, 4, the third is the sign), two scale bytes.
void decodeFp3(const std::byte* block, float* out) {
  constexpr std::array<float, 8> kLevels = {0, 1, 2, 4, -0.0f, -1, -2, -4};
  for (int i = 0; i < 32; ++i) {
    const float scale = scaleByteToFloat(std::to_integer<std::uint8_t>(block[12 + i / 16]));
    const int bit = 3 * i;
    // A code may straddle two bytes; the last one never does, so the read of the next byte stays inside the block.
    const int window = std::to_integer<int>(block[bit / 8]) | (std::to_integer<int>(block[bit / 8 + 1]) << 8);
    out[i] = kLevels[static_cast<std::size_t>((window >> (bit % 8)) & 7)] * scale;
  }
}

using NibbleLevels = LevelTable<float>;
constexpr NibbleLevels kFp4Levels = levelTable<float>(magnitudesROCmFP4, 0);
constexpr NibbleLevels kMxfp4Levels = levelTable<float>(magnitudesMXFP4, 0);

// 16 bytes: low nibble of byte j is weight j, high nibble weight j + 16, so each scale belongs to one half of each
// byte.
void decodeNibbles(const std::byte* codes, const NibbleLevels& levels, float low, float high, float* out) {
  for (int j = 0; j < 16; ++j) {
    const auto pair = std::to_integer<unsigned>(codes[j]);
    out[j] = levels.of[pair & 15u] * low;
    out[j + 16] = levels.of[pair >> 4] * high;
  }
}

float scaleAt(const std::byte* at) { return scaleByteToFloat(std::to_integer<std::uint8_t>(*at)); }

// 16 bytes of codes, then a scale byte for each half (ROCmFP4), or one for all (ROCmFP4_FAST).
void decodeFp4(const std::byte* block, float* out) {
  decodeNibbles(block, kFp4Levels, scaleAt(block + 16), scaleAt(block + 17), out);
}

void decodeFp4Fast(const std::byte* block, float* out) {
  decodeNibbles(block, kFp4Levels, scaleAt(block + 16), scaleAt(block + 16), out);
}

// One E8M0 byte, then 16 bytes of codes.
void decodeMxfp4(const std::byte* block, float* out) {
  const float scale = halfE8M0ToFloat(std::to_integer<std::uint8_t>(block[0]));
  decodeNibbles(block + 1, kMxfp4Levels, scale, scale, out);
}

// 256 weights: 16 bytes (low nibble: scale, high nibble: minimum of 16 weights), 64 bytes of 2-bit codes, F16 d, F16
// dmin. Weight i of a half of 128 has its code in byte i % 32 of the half's 32, at bit 2 (i / 32).
void decodeQ2_K(const std::byte* block, float* out) {
  const float d = halfToFloat(load16(block + 80));
  const float dmin = halfToFloat(load16(block + 82));
  for (int i = 0; i < 256; ++i) {
    const int group = std::to_integer<int>(block[i / 16]);
    const int code = (std::to_integer<int>(block[16 + i / 128 * 32 + i % 32]) >> (2 * (i % 128 / 32))) & 3;
    // All but the subtraction is exact: at most 11 + 4 + 2 bits.
    out[i] = d * static_cast<float>((group & 15) * code) - dmin * static_cast<float>(group >> 4);
  }
}

}  // namespace

std::span<const Format> formats() { return kFormats; }

std::string formatNames() {
  std::string names;
  for (const Format& known : kFormats) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

const Format* findFormat(std::uint32_t id) {
  for (const Format& known : kFormats) {
    if (static_cast<std::uint32_t>(known.type) == id) return &known;
  }
  return nullptr;
}

const Format* findFormat(std::string_view name) {
  for (const Format& known : kFormats) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

const Format& format(Type type) {
  const Format* found = findFormat(static_cast<std::uint32_t>(type));
  if (found == nullptr) {
    throw std::invalid_argument("no storage format has the id " + std::to_string(static_cast<std::uint32_t>(type)));
  }
  return *found;
}

void dequantize(Type type, const std::byte* blocks, std::int64_t n, float* out) {
  const Format& shape = format(type);
  if (n % shape.weights != 0) {
    throw std::invalid_argument("cannot decode " + std::to_string(n) + " values of " + std::string(shape.name) +
                                ": its block holds " + std::to_string(shape.weights));
  }
  for (std::int64_t b = 0; b < n / shape.weights; ++b, blocks += shape.bytes, out += shape.weights) {
    switch (type) {
      case Type::F32: std::memcpy(out, blocks, sizeof(float)); break;
      case Type::F16: *out = halfToFloat(load16(blocks)); break;
      case Type::BF16: *out = bfloatToFloat(load16(blocks)); break;
      case Type::Q4_0: decodeQ4_0(blocks, out); break;
      case Type::Q8_0: decodeQ8_0(blocks, out); break;
      case Type::ROCmFP2: decodeFp2(blocks, out); break;
      case Type::ROCmFP3: decodeFp3(blocks, out); break;
      case Type::ROCmFP4: decodeFp4(blocks, out); break;
      case Type::ROCmFP4_FAST: decodeFp4Fast(blocks, out); break;
      case Type::MXFP4: decodeMxfp4(blocks, out); break;
      case Type::Q2_K: decodeQ2_K(blocks, out); break;
      case Type::I32: throw std::invalid_argument("i32 holds indices, not weights");
    }
  }
}

}  // namespace qk
