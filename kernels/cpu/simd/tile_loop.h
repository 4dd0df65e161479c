// Owns the loops around a tile kernel. Blocks of 128 k are outermost: the activations of a block are laid side by
// side once (a panel), each weight tile of the block is unpacked once into the first-level cache, and all token
// tiles run over it, with their sums waiting in `sums`. Every output is still one chain over its blocks in
// ascending order, so that no shape of tiles shows in its bits.
#pragma once

#include <cstdint>

#include "cpu/kernels.h"
#include "cpu/packed_layout.h"
#include "cpu/simd/lanes.h"

namespace qk::QK_ISA {

// Weight tiles and tokens of a panel. 4 tiles keep their sums in a first-level cache of 48 KiB, but lay the panel
// twice: 8 are faster (506 against 465 GOPS at 48 rows of ROCmFP2 on the AVX-512 machine of int8_avx512.h).
inline constexpr std::int64_t heldTiles = 8;
inline constexpr std::int64_t heldTokens = 64;  // 72 when filled up to whole token tiles
inline constexpr std::int64_t panelTokens = 72;

inline void storeRows(const float* lanes, std::int64_t rows, float* y) {
  if (rows >= 16) return store(y, loadF32(lanes));
  for (std::int64_t i = 0; i < rows; ++i) y[i] = lanes[i];
}

// Calls tile(first, count) for token tiles of at most `widest`, evenly filled: 9 tokens are 5 + 4.
template <class Tile>
inline void eachTokenTile(std::int64_t tokens, std::int64_t widest, Tile tile) {
  const std::int64_t tiles = (tokens + widest - 1) / widest;
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t first = i * tokens / tiles;
    tile(first, static_cast<int>((i + 1) * tokens / tiles - first));
  }
}

// Asks for the codes of a tile's next block while this one is worked on: blocks of 8 tiles lie far apart, which the
// hardware's prefetcher does not follow well.
inline void prefetch(const void* first, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(static_cast<const char*>(first) + i);
}

// Kernel: Input, Token (of a panel) and Unpacked (one weight tile of a block); widestTokens, a multiple of the width
// of each of its token tiles; tilesAtOnce (1 or 2);
//   load(input, block, k, token), unpack(matrix, tile, block, k, unpacked),
//   multiply(unpacked, tiles, k, panel, tokens, sums): sums [tile][panelTokens][16] += W x, k <= 128.
template <class Kernel>
void tileLoop(const PackedMatrix& w, std::int64_t firstTile, std::int64_t lastTile,
              const typename Kernel::Input* const* x, std::int64_t tokens, TokenTiles tokenTiles, float* y,
              std::int64_t yStride) {
  static_assert(panelTokens % Kernel::widestTokens == 0 && panelTokens >= heldTokens);
  alignas(64) typename Kernel::Token panel[panelTokens];
  alignas(64) float sums[heldTiles * panelTokens * 16];
  alignas(64) typename Kernel::Unpacked unpacked[Kernel::tilesAtOnce];
  for (std::int64_t token = 0; token < tokens; token += heldTokens) {
    const std::int64_t count = tokens - token < heldTokens ? tokens - token : heldTokens;
    std::int64_t padded = count;
    if (tokenTiles == TokenTiles::fixed)
      padded = (count + Kernel::widestTokens - 1) / Kernel::widestTokens * Kernel::widestTokens;
    for (std::int64_t tile = firstTile; tile < lastTile; tile += heldTiles) {
      const std::int64_t tiles = lastTile - tile < heldTiles ? lastTile - tile : heldTiles;
      __builtin_memset(sums, 0, static_cast<std::size_t>(tiles * panelTokens * 16) * sizeof(float));
      for (std::int64_t first = 0; first < w.cols; first += blockLength) {
        const std::int64_t block = first / blockLength;
        const std::int64_t k = w.cols - first < blockLength ? w.cols - first : blockLength;
        for (std::int64_t t = 0; t < count; ++t) Kernel::load(x[token + t], block, k, panel[t]);
        for (std::int64_t t = count; t < padded; ++t) panel[t] = panel[count - 1];
        for (std::int64_t i = 0; i < tiles; i += Kernel::tilesAtOnce) {
          const std::int64_t n = tiles - i < Kernel::tilesAtOnce ? tiles - i : Kernel::tilesAtOnce;
          for (std::int64_t r = 0; r < n; ++r)
            Kernel::unpack(w, w.tiles + (tile + i + r) * w.tileBytes, block, k, unpacked[r]);
          Kernel::multiply(unpacked, static_cast<int>(n), k, panel, padded, sums + i * panelTokens * 16);
        }
      }
      for (std::int64_t i = 0; i < tiles; ++i) {
        for (std::int64_t t = 0; t < count; ++t) {
          storeRows(sums + (i * panelTokens + t) * 16, w.rows - (tile + i) * 16,
                    y + (token + t) * yStride + (tile - firstTile + i) * 16);
        }
      }
    }
  }
}

}  // namespace qk::QK_ISA
