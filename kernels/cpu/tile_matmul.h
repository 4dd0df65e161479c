// Owns the choice between the int8 and the float kernel, and the gathering of row pointers for either.
#pragma once

#include <algorithm>
#include <array>
#include <stdexcept>

#include "cpu/kernels.h"
#include "qk/matmul.h"

namespace qk {

class TileMatmul {
 public:
  // Throws std::invalid_argument when x lacks the form that w takes.
  TileMatmul(Isa isa, const PackedMatrix& w, const Inputs& x, TokenTiles tokenTiles = TokenTiles::adaptive)
      : w_(w),
        x_(x),
        tokenTiles_(tokenTiles),
        int8_(QK_PICK(isa, matmulInt8)),
        float_(QK_PICK(isa, matmulFloat)),
        takesInt8_(takesInt8(w.type)) {
    if (takesInt8_ && x.blocks == nullptr)
      throw std::invalid_argument("these weights take int8 activations; only fp32 was given");
    if (!takesInt8_ && x.values == nullptr)
      throw std::invalid_argument("these weights take fp32 activations; only int8 was given");
  }

  // Weight rows of tiles [firstTile, lastTile) times tokens [first, first + count); y[0] is the first of
  // those rows of the first of those tokens.
  void run(std::int64_t firstTile, std::int64_t lastTile, std::int64_t first, std::int64_t count, float* y,
           std::int64_t yStride) const {
    for (std::int64_t done = 0; done < count; done += batch) {
      const std::int64_t n = std::min(batch, count - done);
      if (takesInt8_) {
        std::array<const ActivationBlock*, batch> rows;
        for (std::int64_t t = 0; t < n; ++t) rows[t] = x_.blocks + row(first + done + t) * x_.blockStride;
        int8_(w_, firstTile, lastTile, rows.data(), n, tokenTiles_, y + done * yStride, yStride);
      } else {
        std::array<const float*, batch> rows;
        for (std::int64_t t = 0; t < n; ++t) rows[t] = x_.values + row(first + done + t) * x_.valueStride;
        float_(w_, firstTile, lastTile, rows.data(), n, tokenTiles_, y + done * yStride, yStride);
      }
    }
  }

 private:
  // Row pointers held at once: those of one panel of the kernels (cpu/simd/tile_loop.h).
  static constexpr std::int64_t batch = 64;

  std::int64_t row(std::int64_t t) const { return x_.index != nullptr ? x_.index[t] : t; }

  PackedMatrix w_;
  Inputs x_;
  TokenTiles tokenTiles_;
  decltype(QK_PICK(Isa{}, matmulInt8)) int8_;
  decltype(QK_PICK(Isa{}, matmulFloat)) float_;
  bool takesInt8_;
};

}  // namespace qk
