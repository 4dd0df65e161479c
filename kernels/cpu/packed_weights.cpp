// Owns repacking: from the file's rows of blocks to tiles of 16 interleaved rows. Bits are moved, never
// changed, except that scale bytes which decode to zero become zero.
#include "qk/packed_weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

#include "cpu/packed_layout.h"

namespace qk {
namespace {

// Blocks of 32 weights, as in the file.
constexpr std::int64_t fileBytesROCmFP2 = 10;  // 8 codes, 2 scales
constexpr std::int64_t fileBytesROCmFP3 = 14;  // 12 codes, 2 scales
constexpr std::int64_t fileBytesQ4_0 = 18;     // fp16 scale, 16 codes
constexpr std::int64_t fileBytesQ8_0 = 34;     // fp16 scale, 32 codes

std::uint32_t word(const std::byte* p) {
  std::uint32_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

void putWord(std::byte* p, std::uint32_t value) { std::memcpy(p, &value, sizeof value); }

// UE4M3: bytes above 0x7e mean zero.
std::byte scaleByte(std::byte e) { return e > std::byte{0x7e} ? std::byte{0} : e; }

// 16 codes of 2 bits, k = 4s + j at bit 2k, moved to bit 8j + 2s: a transpose of 4 x 4 two-bit cells.
std::uint32_t transposeCells(std::uint32_t x) {
  std::uint32_t swap = (x ^ (x >> 6)) & 0x00cc00ccU;
  x ^= swap ^ (swap << 6);
  swap = (x ^ (x >> 12)) & 0x0000f0f0U;
  return x ^ swap ^ (swap << 12);
}

void packROCmFP2(const std::byte* block, std::byte* codes, std::byte* scales, std::int64_t lane) {
  for (std::int64_t group = 0; group < 2; ++group) {
    putWord(codes + group * 64 + lane * 4, transposeCells(word(block + group * 4)));
    scales[group * tileRows + lane] = scaleByte(block[8 + group]);
  }
}

// Four 3-bit codes (12 bits) -> a byte each: magnitude index at bits 0..1, sign at bit 2.
constexpr std::array<std::uint32_t, 4096> makeSpread() {
  std::array<std::uint32_t, 4096> spread{};
  for (std::uint32_t bits = 0; bits < 4096; ++bits) {
    spread[bits] = (bits & 7U) | (bits >> 3 & 7U) << 8 | (bits >> 6 & 7U) << 16 | (bits >> 9 & 7U) << 24;
  }
  return spread;
}
constexpr std::array<std::uint32_t, 4096> spread = makeSpread();

void packROCmFP3(const std::byte* block, std::byte* codes, std::byte* scales, std::int64_t lane) {
  std::uint32_t magnitudes[2] = {0, 0};
  std::uint32_t signs = 0;
  for (unsigned s = 0; s < 8; ++s) {
    const auto at = [&](unsigned i) { return static_cast<std::uint32_t>(block[i]); };
    const unsigned byte = s * 12 / 8;
    const std::uint32_t bits = (at(byte) | at(byte + 1) << 8) >> (s * 12 % 8) & 0xfffU;
    magnitudes[s / 4] |= (spread[bits] & 0x03030303U) << (2 * (s % 4));
    signs |= (spread[bits] >> 2 & 0x01010101U) << s;
  }
  putWord(codes + lane * 4, magnitudes[0]);
  putWord(codes + 64 + lane * 4, magnitudes[1]);
  putWord(codes + 128 + lane * 4, signs);
  scales[lane] = scaleByte(block[12]);
  scales[tileRows + lane] = scaleByte(block[13]);
}

void packQ4_0(const std::byte* block, std::byte* codes, std::byte* scales, std::int64_t lane) {
  std::memcpy(scales + lane * 2, block, 2);
  for (std::int64_t p = 0; p < 4; ++p) putWord(codes + p * 64 + lane * 4, word(block + 2 + p * 4));
}

void packQ8_0(const std::byte* block, std::byte* codes, std::byte* scales, std::int64_t lane) {
  std::memcpy(scales + lane * 2, block, 2);
  for (std::int64_t s = 0; s < 8; ++s)
    putWord(codes + s * 64 + lane * 4, word(block + 2 + s * 4) ^ 0x80808080U);
}

using PackBlock = void (*)(const std::byte* block, std::byte* codes, std::byte* scales, std::int64_t lane);

struct Layout {
  std::int64_t fileBytes;  // of a block of 32, or of one value
  std::int64_t codeBytes;  // of a step; 0 for float types
  PackBlock pack;
};

Layout layoutOf(Type type) {
  switch (type) {
    case Type::F32:
      return {4, 0, nullptr};
    case Type::F16:
    case Type::BF16:
      return {2, 0, nullptr};
    case Type::ROCmFP2:
      return {fileBytesROCmFP2, codeBytesROCmFP2, packROCmFP2};
    case Type::ROCmFP3:
      return {fileBytesROCmFP3, codeBytesROCmFP3, packROCmFP3};
    case Type::Q4_0:
      return {fileBytesQ4_0, codeBytesQ4_0, packQ4_0};
    case Type::Q8_0:
      return {fileBytesQ8_0, codeBytesQ8_0, packQ8_0};
    case Type::Q2_K:
    case Type::MXFP4:
    case Type::ROCmFP4:
    case Type::ROCmFP4_FAST:
    case Type::I32:
      break;
  }
  throw std::invalid_argument("weights of type " + std::to_string(static_cast<std::uint32_t>(type)) +
                              " cannot be multiplied");
}

std::int64_t roundUp(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// rows: pointers to 1..16 rows of the file.
void packQuantisedTile(const Layout& layout, const std::byte* rows, std::int64_t rowBytes,
                       std::int64_t rowCount, std::int64_t cols, std::byte* tile) {
  const std::int64_t steps = cols / stepLength;
  std::byte* scales = tile + steps * layout.codeBytes;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::int64_t lane = 0; lane < rowCount; ++lane) {
      layout.pack(rows + lane * rowBytes + step * layout.fileBytes, tile + step * layout.codeBytes,
                  scales + step * scaleBytesPerStep, lane);
    }
  }
}

void packFloatTile(const Layout& layout, const std::byte* rows, std::int64_t rowBytes, std::int64_t rowCount,
                   std::int64_t cols, std::byte* tile) {
  const auto width = static_cast<std::size_t>(layout.fileBytes);
  for (std::int64_t k = 0; k < cols; ++k) {
    for (std::int64_t lane = 0; lane < rowCount; ++lane) {
      std::memcpy(tile + (k * tileRows + lane) * layout.fileBytes,
                  rows + lane * rowBytes + k * layout.fileBytes, width);
    }
  }
}

}  // namespace

bool takesInt8(Type type) { return layoutOf(type).codeBytes != 0; }

PackedWeights::PackedWeights(ThreadPool& pool, const Matrix& matrix)
    : PackedWeights(pool, ExpertMatrices{matrix, 1}) {}

PackedWeights::PackedWeights(ThreadPool& pool, const ExpertMatrices& experts) : count_(experts.experts) {
  const Matrix& first = experts.first;
  const Layout layout = layoutOf(first.type);
  const bool quantised = layout.codeBytes != 0;
  if (first.rows < 1 || first.cols < 1 || count_ < 1)
    throw std::invalid_argument("weights need at least one row and column");
  if (quantised && first.cols % stepLength != 0) {
    throw std::invalid_argument("quantised weights need a multiple of 32 columns, not " +
                                std::to_string(first.cols));
  }
  const std::int64_t rowBytes =
      quantised ? first.cols / stepLength * layout.fileBytes : first.cols * layout.fileBytes;
  const std::int64_t dataBytes = quantised ? first.cols / stepLength * (layout.codeBytes + scaleBytesPerStep)
                                           : first.cols * tileRows * layout.fileBytes;
  shape_ = {first.type, first.rows, first.cols, roundUp(dataBytes, 64), nullptr};
  const std::int64_t tilesEach = shape_.tileCount();
  tiles_.reserve(static_cast<std::size_t>(tilesEach * count_ * shape_.tileBytes));
  std::byte* const tiles = tiles_.data();
  pool.run(tilesEach * count_, [&](std::int64_t item, int) {
    const std::int64_t expert = item / tilesEach;
    const std::int64_t firstRow = item % tilesEach * tileRows;
    const std::int64_t rowCount = std::min(tileRows, first.rows - firstRow);
    std::byte* tile = tiles + item * shape_.tileBytes;
    if (rowCount < tileRows || dataBytes < shape_.tileBytes) {
      std::memset(tile, 0, static_cast<std::size_t>(shape_.tileBytes));
    }
    const std::byte* rows = experts.expert(expert).data + firstRow * rowBytes;
    (quantised ? packQuantisedTile : packFloatTile)(layout, rows, rowBytes, rowCount, first.cols, tile);
  });
}

PackedMatrix PackedWeights::matrix(std::int64_t e) const {
  PackedMatrix m = shape_;
  m.tiles = tiles_.data() + e * m.tileCount() * m.tileBytes;
  return m;
}

}  // namespace qk
