// Owns how a matmul is cut into items of (rows x tokens). The cut shows in no bit.
#include "qk/matmul.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "cpu/tile_matmul.h"

namespace qk {
namespace {

constexpr std::int64_t tilesPerItem = 8;  // 128 rows: their weights stay in the second-level cache
constexpr std::int64_t tokensPerItem = 64;

Kernel counterOf(Type type) {
  switch (type) {
    case Type::Q8_0:
      return Kernel::matmulQ8_0;
    case Type::Q4_0:
      return Kernel::matmulQ4_0;
    case Type::ROCmFP3:
      return Kernel::matmulROCmFP3;
    case Type::ROCmFP2:
      return Kernel::matmulROCmFP2;
    case Type::ROCmFP4:
      return Kernel::matmulROCmFP4;
    case Type::ROCmFP4_FAST:
      return Kernel::matmulROCmFP4Fast;
    case Type::Q2_K:
      return Kernel::matmulQ2_K;
    case Type::MXFP4:
      return Kernel::matmulMXFP4;
    default:
      return Kernel::matmulFloat;
  }
}

}  // namespace

Inputs inputs(const float* x, std::int64_t cols, const Activations* quantised) {
  Inputs in;
  in.values = x;
  in.valueStride = cols;
  if (quantised != nullptr) {
    in.blocks = quantised->row(0);
    in.blockStride = quantised->blocksPerRow();
  }
  return in;
}

void matmul(Execution& ex, const PackedMatrix& w, const Inputs& x, std::int64_t tokens, float* y,
            std::int64_t yStride, TokenTiles tokenTiles) {
  ex.counters.add(counterOf(w.type));
  const TileMatmul kernel(ex.isa, w, x, tokenTiles);
  const std::int64_t rowItems = (w.tileCount() + tilesPerItem - 1) / tilesPerItem;
  const std::int64_t tokenItems = (tokens + tokensPerItem - 1) / tokensPerItem;
  ex.pool.run(rowItems * tokenItems, [&](std::int64_t item, int) {
    const std::int64_t firstTile = item % rowItems * tilesPerItem;
    const std::int64_t lastTile = std::min(w.tileCount(), firstTile + tilesPerItem);
    const std::int64_t first = item / rowItems * tokensPerItem;
    const std::int64_t count = std::min(tokensPerItem, tokens - first);
    kernel.run(firstTile, lastTile, first, count, y + first * yStride + firstTile * tileRows, yStride);
  });
}

}  // namespace qk
