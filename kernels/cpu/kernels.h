// Declares what is compiled once for every instruction set; see cpu/simd. These are single-threaded pieces of
// an item.
#pragma once

#include <cstdint>

#include "cpu/dispatch.h"
#include "qk/activations.h"
#include "qk/packed_weights.h"
#include "qk/token_tiles.h"

QK_DECLARE_VARIANTS(
    // x [cols] -> ceil(cols / 128) blocks.
    void quantizeRow(const float* x, std::int64_t cols, ActivationBlock* out);

    // y[t][0 ..] = rows firstTile * 16 .. min(lastTile * 16, w.rows) of W x[t]; x[t] the first block of token
    // t, token t at y + t * yStride. W must be quantised.
    void matmulInt8(const PackedMatrix& w, std::int64_t firstTile, std::int64_t lastTile,
                    const ActivationBlock* const* x, std::int64_t tokens, TokenTiles tokenTiles, float* y,
                    std::int64_t yStride);

    // The same for F32, F16 and BF16 weights.
    void matmulFloat(const PackedMatrix& w, std::int64_t firstTile, std::int64_t lastTile,
                     const float* const* x, std::int64_t tokens, TokenTiles tokenTiles, float* y,
                     std::int64_t yStride);

    // sum[i] += x[i].
    void addRow(const float* x, std::int64_t n, float* sum);)
