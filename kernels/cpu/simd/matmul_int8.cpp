// Owns the int8 matmul tile: R x 16 weight rows by T tokens, the whole of K at once, so that no tile shape
// shows in the bits. Operands are unpacked once for T tokens; the integer accumulators start at -zero * (sum
// of the group's activations).
#include "cpu/kernels.h"
#include "cpu/simd/weight_formats.h"

namespace qk::QK_ISA {
namespace {

// As many accumulators as the registers hold: 2 x 6 sums and 2 x 6 blocks of 32 with AVX-512, 4 tokens of one
// tile with AVX2. The portable copy gains nothing from wider tiles, and costs the compiler much.
#if defined(__AVX512VNNI__)
constexpr int maxTokens = 6;
constexpr int maxTiles = 2;
#elif defined(__AVX2__)
constexpr int maxTokens = 4;
constexpr int maxTiles = 1;
#else
constexpr int maxTokens = 1;
constexpr int maxTiles = 1;
#endif

struct Job {
  const std::byte* tiles;
  std::int64_t tileBytes;
  std::int64_t steps;  // of 32 k
  const ActivationBlock* const* x;
  float* y;
  std::int64_t yStride;
  std::int64_t rows;  // valid ones, from the first row of `tiles`
};

template <class Format, int group>
inline std::int32_t startOf(const ActivationBlock& x, int step) {
  const std::int32_t sum = Format::groups == 2 ? x.negatedSum16[2 * step + group] : x.negatedSum32[step];
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) << Format::zeroShift);
}

template <class Format, int R, int T, int s>
inline void addOperand(const std::byte* const (&codes)[R], const std::int8_t* const (&q)[T],
                       typename Format::Sum (&sums)[R][T]) {
  Codes w[R];
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r) w[r] = Format::template operand<s>(codes[r]);
#pragma GCC unroll 6
  for (int t = 0; t < T; ++t) {
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) addDot(sums[r][t], w[r], q[t] + 4 * s);
  }
}

// One scale group of every row and token: block = fma(dot, scale, block).
template <class Format, int R, int T, int group>
inline void addGroup(const std::byte* const (&codes)[R], const std::byte* const (&scales)[R],
                     const ActivationBlock* const (&x)[T], int step, Lanes (&block)[R][T]) {
  typename Format::Sum sums[R][T];
  const std::int8_t* q[T];
#pragma GCC unroll 6
  for (int t = 0; t < T; ++t) {
    q[t] = x[t]->q + 32 * step;
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) sums[r][t] = startDot(startOf<Format, group>(*x[t], step));
  }
  if constexpr (Format::groups == 2) {
    addOperand<Format, R, T, 4 * group>(codes, q, sums);
    addOperand<Format, R, T, 4 * group + 1>(codes, q, sums);
    addOperand<Format, R, T, 4 * group + 2>(codes, q, sums);
    addOperand<Format, R, T, 4 * group + 3>(codes, q, sums);
  } else {
    addOperand<Format, R, T, 0>(codes, q, sums);
    addOperand<Format, R, T, 1>(codes, q, sums);
    addOperand<Format, R, T, 2>(codes, q, sums);
    addOperand<Format, R, T, 3>(codes, q, sums);
    addOperand<Format, R, T, 4>(codes, q, sums);
    addOperand<Format, R, T, 5>(codes, q, sums);
    addOperand<Format, R, T, 6>(codes, q, sums);
    addOperand<Format, R, T, 7>(codes, q, sums);
  }
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r) {
    const Lanes scale = Format::scale(scales[r], group);
#pragma GCC unroll 6
    for (int t = 0; t < T; ++t) {
      block[r][t] = fma(finishDot(sums[r][t], startOf<Format, group>(*x[t], step)), scale, block[r][t]);
    }
  }
}

void storeRows(Lanes a, std::int64_t rows, float* y) {
  if (rows >= 16) return store(y, a);
  float lanes[16];
  store(lanes, a);
  for (std::int64_t i = 0; i < rows; ++i) y[i] = lanes[i];
}

template <class Format, int R, int T>
void tile(const Job& job) {
  const std::byte* codes[R];
  const std::byte* scales[R];
  const ActivationBlock* x[T];
  Lanes acc[R][T];
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r) {
    codes[r] = job.tiles + r * job.tileBytes;
    scales[r] = codes[r] + job.steps * Format::codeBytes;
#pragma GCC unroll 6
    for (int t = 0; t < T; ++t) acc[r][t] = zeroLanes();
  }
#pragma GCC unroll 6
  for (int t = 0; t < T; ++t) x[t] = job.x[t];
  for (std::int64_t left = job.steps; left > 0; left -= 4) {
    Lanes block[R][T];
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 6
      for (int t = 0; t < T; ++t) block[r][t] = zeroLanes();
    }
    const int steps = left < 4 ? static_cast<int>(left) : 4;
    for (int step = 0; step < steps; ++step) {
      addGroup<Format, R, T, 0>(codes, scales, x, step, block);
      if constexpr (Format::groups == 2) addGroup<Format, R, T, 1>(codes, scales, x, step, block);
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) {
        codes[r] += Format::codeBytes;
        scales[r] += scaleBytesPerStep;
      }
    }
#pragma GCC unroll 6
    for (int t = 0; t < T; ++t) {
      const Lanes scale = broadcast(x[t]->scale);
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) acc[r][t] = fma(block[r][t], scale, acc[r][t]);
      ++x[t];
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int t = 0; t < T; ++t) storeRows(acc[r][t], job.rows - 16 * r, job.y + t * job.yStride + 16 * r);
  }
}

// Finds the tile of `count` tokens, 1 <= count <= maxTokens.
template <class Format, int R, int T = 1>
void tokens(const Job& job, int count) {
  if (count == T) return tile<Format, R, T>(job);
  if constexpr (T < maxTokens) tokens<Format, R, T + 1>(job, count);
}

template <class Format>
void matmulFormat(const PackedMatrix& w, std::int64_t firstTile, std::int64_t lastTile,
                  const ActivationBlock* const* x, std::int64_t tokenCount, float* y, std::int64_t yStride) {
  // Evenly filled token tiles: 9 tokens are 5 + 4, not 8 + 1.
  const std::int64_t tokenTiles = (tokenCount + maxTokens - 1) / maxTokens;
  for (std::int64_t first = firstTile; first < lastTile; first += maxTiles) {
    const bool pair = maxTiles == 2 && lastTile - first >= 2;
    for (std::int64_t i = 0; i < tokenTiles; ++i) {
      const std::int64_t t = i * tokenCount / tokenTiles;
      const int count = static_cast<int>((i + 1) * tokenCount / tokenTiles - t);
      const Job job{w.tiles + first * w.tileBytes,
                    w.tileBytes,
                    w.cols / stepLength,
                    x + t,
                    y + t * yStride + (first - firstTile) * 16,
                    yStride,
                    w.rows - first * 16};
      if constexpr (maxTiles == 2) {
        if (pair) {
          tokens<Format, 2>(job, count);
          continue;
        }
      }
      tokens<Format, 1>(job, count);
    }
  }
}

}  // namespace

void matmulInt8(const PackedMatrix& w, std::int64_t firstTile, std::int64_t lastTile,
                const ActivationBlock* const* x, std::int64_t tokens, TokenTiles, float* y,
                std::int64_t yStride) {
  switch (w.type) {
    case Type::ROCmFP2:
      return matmulFormat<FormatROCmFP2>(w, firstTile, lastTile, x, tokens, y, yStride);
    case Type::ROCmFP3:
      return matmulFormat<FormatROCmFP3>(w, firstTile, lastTile, x, tokens, y, yStride);
    case Type::Q4_0:
      return matmulFormat<FormatQ4_0>(w, firstTile, lastTile, x, tokens, y, yStride);
    default:
      return matmulFormat<FormatQ8_0>(w, firstTile, lastTile, x, tokens, y, yStride);
  }
}

}  // namespace qk::QK_ISA
