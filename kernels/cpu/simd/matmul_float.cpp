// Owns the float matmul tile: acc = fma(w[k], x[k], acc), one chain an output, k ascending, 16 rows a vector.
//
// One fma, 32 operations, is a k of 16 rows and a token. F32 moves 4 bytes a weight, so that it is bound by memory up
// to some 20 rows, above by two fma a cycle. The tile holds 24 chains (AVX-512: 2 x 16 rows by 12 tokens; AVX2: 16
// rows by 6 tokens); weights are widened to fp32 once for 64 tokens. Reached on the AVX-512 machine of
// int8_avx512.h, where fma on registers gave 177 to 185 GFLOPS: F32 43, 94, 101 and F16 58, 113, 116
// at 9, 48, 192 rows (K = 4096, N = 2048).
// On AVX2, Zen 1 (K = 2048, N = 512): F16 24, 30 at 9, 48 rows (before 24, 26); F32 21, 29. Portable: 0.7, the
// price of an fma without the instruction.
#include "cpu/kernels.h"
#include "cpu/simd/tile_loop.h"

namespace qk::QK_ISA {
namespace {

struct WeightsF32 {
  static constexpr std::int64_t stride = 64;  // bytes of 16 rows
  static Lanes load(const std::byte* p) { return loadF32(p); }
};
struct WeightsF16 {
  static constexpr std::int64_t stride = 32;
  static Lanes load(const std::byte* p) { return loadF16(p); }
};
struct WeightsBF16 {
  static constexpr std::int64_t stride = 32;
  static Lanes load(const std::byte* p) { return loadBF16(p); }
};

template <class Weights>
struct FloatKernel {
  using Input = float;
  // As many chains as the registers hold.
#if defined(__AVX512F__)
  static constexpr int widestTokens = 12;
  static constexpr int tilesAtOnce = 2;
#elif defined(__AVX2__)
  static constexpr int widestTokens = 6;
  static constexpr int tilesAtOnce = 1;
#else
  static constexpr int widestTokens = 1;
  static constexpr int tilesAtOnce = 1;
#endif

  struct Token {
    float x[blockLength];
  };
  struct Unpacked {
    alignas(64) float w[blockLength * 16];
    const float* rows;  // [k][16 rows]: w, or the packed tile itself
  };

  static void load(const float* input, std::int64_t block, std::int64_t k, Token& token) {
    __builtin_memcpy(token.x, input + block * blockLength, static_cast<std::size_t>(k) * sizeof(float));
  }

  static void unpack(const PackedMatrix&, const std::byte* tile, std::int64_t block, std::int64_t k,
                     Unpacked& out) {
    const std::byte* const first = tile + block * blockLength * Weights::stride;
    prefetch(first + k * Weights::stride, k * Weights::stride);
    out.rows = out.w;
    if constexpr (Weights::stride == 64) {
      out.rows = reinterpret_cast<const float*>(first);
    } else {
      for (std::int64_t i = 0; i < k; ++i) store(out.w + 16 * i, Weights::load(first + i * Weights::stride));
    }
  }

  static void multiply(const Unpacked* w, int tiles, std::int64_t k, const Token* x, std::int64_t tokens,
                       float* sums) {
    eachTokenTile(tokens, widestTokens, [&](std::int64_t first, int count) {
      if constexpr (tilesAtOnce == 2) {
        if (tiles == 2) return tokenTile<2, widestTokens>(w, k, x + first, count, sums + first * 16);
      }
      tokenTile<1, widestTokens>(w, k, x + first, count, sums + first * 16);
    });
  }

 private:
  // Finds the tile of `count` tokens, 1 <= count <= T.
  template <int R, int T>
  static void tokenTile(const Unpacked* w, std::int64_t k, const Token* x, int count, float* sums) {
    if (count == T) return tile<R, T>(w, k, x, sums);
    if constexpr (T > 1) tokenTile<R, T - 1>(w, k, x, count, sums);
  }

  template <int R, int T>
  __attribute__((noinline)) static void tile(const Unpacked* w, std::int64_t k, const Token* x, float* sums) {
    Lanes acc[R][T];
#pragma GCC unroll 12
    for (int t = 0; t < T; ++t) {
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) acc[r][t] = loadF32(sums + (r * panelTokens + t) * 16);
    }
    const float* rows[R];
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) rows[r] = w[r].rows;
    for (std::int64_t i = 0; i < k; ++i) {
      Lanes row[R];
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) row[r] = loadF32(rows[r] + 16 * i);
#pragma GCC unroll 12
      for (int t = 0; t < T; ++t) {
        const Lanes value = broadcast(x[t].x[i]);
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) acc[r][t] = fma(row[r], value, acc[r][t]);
      }
    }
#pragma GCC unroll 12
    for (int t = 0; t < T; ++t) {
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) store(sums + (r * panelTokens + t) * 16, acc[r][t]);
    }
  }
};

}  // namespace

void matmulFloat(const PackedMatrix& w, std::int64_t firstTile, std::int64_t lastTile, const float* const* x,
                 std::int64_t tokens, TokenTiles tokenTiles, float* y, std::int64_t yStride) {
  const auto run = [&](auto weights) {
    tileLoop<FloatKernel<decltype(weights)>>(w, firstTile, lastTile, x, tokens, tokenTiles, y, yStride);
  };
  switch (w.type) {
    case Type::F16:
      return run(WeightsF16{});
    case Type::BF16:
      return run(WeightsBF16{});
    default:
      return run(WeightsF32{});
  }
}

}  // namespace qk::QK_ISA
