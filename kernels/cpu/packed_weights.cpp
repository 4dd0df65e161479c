// Owns repacking: from the file's rows of blocks to tiles of 16 interleaved rows. Codes are moved, never changed;
// scale bytes that decode to zero become zero, and those of blocks that can be folded numerators (packed_fold.h).
#include "qk/packed_weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

#include "cpu/packed_fold.h"
#include "cpu/packed_layout.h"

namespace qk {
namespace {

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

// A block of 128 is packed a step of 32 k and a row at a time: `file` is the step's first byte in the file (for
// Q2_K: the superblock's), `lane` the row, `step` 0..3 the place in the block (for Q2_K: 0..7 in the superblock).
struct Step {
  const std::byte* file;
  std::byte* codes;   // of the step
  std::byte* scales;  // of the block
  std::int64_t step;
  std::int64_t lane;

  void putCodes(std::int64_t operand, std::uint32_t four) const { putWord(codes + operand * 64 + lane * 4, four); }
  // Scale bytes at group 0..7 of 16 k, or 0..3 of 32 k.
  void putScale(std::int64_t group, std::byte scale) const { scales[group * tileRows + lane] = scale; }
  void putHalf(std::int64_t row, const std::byte* half) const {
    std::memcpy(scales + (row * tileRows + lane) * 2, half, 2);
  }
};

void packROCmFP2(const Step& s) {
  for (std::int64_t group = 0; group < 2; ++group) {
    s.putCodes(group, transposeCells(word(s.file + group * 4)));
    s.putScale(2 * s.step + group, scaleByte(s.file[8 + group]));
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

void packROCmFP3(const Step& step) {
  std::uint32_t magnitudes[2] = {0, 0};
  std::uint32_t signs = 0;
  for (unsigned s = 0; s < 8; ++s) {
    const auto at = [&](unsigned i) { return static_cast<std::uint32_t>(step.file[i]); };
    const unsigned byte = s * 12 / 8;
    const std::uint32_t bits = (at(byte) | at(byte + 1) << 8) >> (s * 12 % 8) & 0xfffU;
    magnitudes[s / 4] |= (spread[bits] & 0x03030303U) << (2 * (s % 4));
    signs |= (spread[bits] >> 2 & 0x01010101U) << s;
  }
  step.putCodes(0, magnitudes[0]);
  step.putCodes(1, magnitudes[1]);
  step.putCodes(2, signs);
  for (std::int64_t group = 0; group < 2; ++group)
    step.putScale(2 * step.step + group, scaleByte(step.file[12 + group]));
}

void packNibbles(const Step& s, const std::byte* nibbles) {
  for (std::int64_t p = 0; p < 4; ++p) s.putCodes(p, word(nibbles + p * 4));
}

void packQ4_0(const Step& s) {
  s.putHalf(s.step, s.file);
  packNibbles(s, s.file + 2);
}

void packROCmFP4(const Step& s) {
  packNibbles(s, s.file);
  for (std::int64_t group = 0; group < 2; ++group)
    s.putScale(2 * s.step + group, scaleByte(s.file[16 + group]));
}

void packROCmFP4Fast(const Step& s) {
  packNibbles(s, s.file);
  s.putScale(s.step, scaleByte(s.file[16]));
}

void packMXFP4(const Step& s) {
  s.putScale(s.step, s.file[0]);
  packNibbles(s, s.file + 1);
}

void packQ8_0(const Step& s) {
  s.putHalf(s.step, s.file);
  for (std::int64_t p = 0; p < 8; ++p) s.putCodes(p, word(s.file + 2 + p * 4) ^ 0x80808080U);
}

// Superblock: 16 bytes of scales and mins, 64 of codes (32 k at bits 2j of 32 bytes), d, dmin.
void packQ2_K(const Step& s) {
  const std::int64_t half = s.step / 4;
  const std::int64_t j = s.step % 4;
  for (std::int64_t group = 0; group < 2; ++group) {
    std::uint32_t codes = 0;
    for (std::int64_t p = 0; p < 4; ++p) {
      codes |= (word(s.file + 16 + 32 * half + 16 * group + 4 * p) >> (2 * j) & 0x03030303U) << (2 * p);
    }
    s.putCodes(group, codes);
    s.putScale(2 * j + group, s.file[8 * half + 2 * j + group]);
  }
  s.putHalf(4, s.file + 80);
  s.putHalf(5, s.file + 82);
}

struct Layout {
  std::int64_t fileWeights;  // of a block of the file; 1 for float types
  std::int64_t fileBytes;
  std::int64_t codeBytes;  // of a packed block of 128; 0 for float types
  std::int64_t scaleBytes;
  void (*pack)(const Step&);
  int numeratorLimit;  // 0: blocks are not folded
  int maxLevel;
};

Layout layoutOf(Type type) {
  switch (type) {
    case Type::F32:
      return {1, 4, 0, 0, nullptr, 0, 0};
    case Type::F16:
    case Type::BF16:
      return {1, 2, 0, 0, nullptr, 0, 0};
    case Type::ROCmFP2:
      return {32, 10, codeBytesROCmFP2, scaleBytes16, packROCmFP2, numeratorLimitROCmFP2, 2};
    case Type::ROCmFP3:
      return {32, 14, codeBytesROCmFP3, scaleBytes16, packROCmFP3, numeratorLimitROCmFP3, 4};
    case Type::ROCmFP4:
      return {32, 18, codeBytesNibbles, scaleBytes16, packROCmFP4, 0, 0};
    case Type::ROCmFP4_FAST:
      return {32, 17, codeBytesNibbles, scaleBytes32, packROCmFP4Fast, 0, 0};
    case Type::MXFP4:
      return {32, 17, codeBytesNibbles, scaleBytes32, packMXFP4, 0, 0};
    case Type::Q4_0:
      return {32, 18, codeBytesNibbles, scaleBytesF16, packQ4_0, 0, 0};
    case Type::Q8_0:
      return {32, 34, codeBytesQ8_0, scaleBytesF16, packQ8_0, 0, 0};
    case Type::Q2_K:
      return {256, 84, codeBytesROCmFP2, scaleBytesQ2_K, packQ2_K, 0, 0};
    case Type::I32:
      break;
  }
  throw std::invalid_argument("weights of type " + std::to_string(static_cast<std::uint32_t>(type)) +
                              " cannot be multiplied");
}

std::int64_t roundUp(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

std::int64_t blocksOf(std::int64_t cols) { return (cols + blockLength - 1) / blockLength; }

// rows: pointers to 1..16 rows of the file; the tile is zero.
void packQuantisedTile(const Layout& layout, const std::byte* rows, std::int64_t rowBytes,
                       std::int64_t rowCount, std::int64_t cols, std::byte* tile) {
  const std::int64_t blocks = blocksOf(cols);
  const std::int64_t stepsOfFileBlock = layout.fileWeights / stepLength;
  std::byte* const allScales = tile + blocks * layout.codeBytes;
  std::byte* const runs = allScales + blocks * layout.scaleBytes;
  for (std::int64_t b = 0; b < blocks; ++b) {
    std::byte* const codes = tile + b * layout.codeBytes;
    std::byte* const scales = allScales + b * layout.scaleBytes;
    for (std::int64_t i = 0; i < 4 && (b * 4 + i) * stepLength < cols; ++i) {
      const std::int64_t step = b * 4 + i;
      for (std::int64_t lane = 0; lane < rowCount; ++lane) {
        layout.pack({rows + lane * rowBytes + step / stepsOfFileBlock * layout.fileBytes,
                     codes + i * (layout.codeBytes / 4), scales,
                     stepsOfFileBlock == 1 ? i : step % stepsOfFileBlock, lane});
      }
    }
    if (layout.numeratorLimit != 0)
      runs[b] = static_cast<std::byte>(foldScales(scales, layout.numeratorLimit, layout.maxLevel));
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
  if (first.cols % layout.fileWeights != 0) {
    throw std::invalid_argument("quantised weights need a multiple of " + std::to_string(layout.fileWeights) +
                                " columns, not " + std::to_string(first.cols));
  }
  const std::int64_t rowBytes = first.cols / layout.fileWeights * layout.fileBytes;
  const std::int64_t dataBytes = quantised ? blocksOf(first.cols) * (layout.codeBytes + layout.scaleBytes + 1)
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
    std::memset(tile, 0, static_cast<std::size_t>(shape_.tileBytes));
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
