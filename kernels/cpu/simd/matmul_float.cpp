// Owns the float matmul tile: acc = fma(w[k], x[k], acc), one chain an output, k ascending, 16 rows a vector.
#include "cpu/kernels.h"
#include "cpu/simd/lanes.h"

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

// As many chains as the registers hold and the latency of fma asks for.
#if defined(__AVX512F__)
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
  std::int64_t cols;
  const float* const* x;
  float* y;
  std::int64_t yStride;
  std::int64_t rows;
};

template <class Weights, int R, int T>
void tile(const Job& job) {
  Lanes acc[R][T];
  const float* x[T];
#pragma GCC unroll 6
  for (int t = 0; t < T; ++t) {
    x[t] = job.x[t];
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) acc[r][t] = zeroLanes();
  }
  for (std::int64_t k = 0; k < job.cols; ++k) {
    Lanes w[R];
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) w[r] = Weights::load(job.tiles + r * job.tileBytes + k * Weights::stride);
#pragma GCC unroll 6
    for (int t = 0; t < T; ++t) {
      const Lanes value = broadcast(x[t][k]);
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) acc[r][t] = fma(w[r], value, acc[r][t]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int t = 0; t < T; ++t) {
      float* y = job.y + t * job.yStride + 16 * r;
      float lanes[16];
      store(lanes, acc[r][t]);
      const std::int64_t rows = job.rows - 16 * r;
      for (std::int64_t i = 0; i < 16 && i < rows; ++i) y[i] = lanes[i];
    }
  }
}

// Finds the tile of `count` tokens, 1 <= count <= maxTokens.
template <class Weights, int R, int T = 1>
void tokens(const Job& job, int count) {
  if (count == T) return tile<Weights, R, T>(job);
  if constexpr (T < maxTokens) tokens<Weights, R, T + 1>(job, count);
}

template <class Weights>
void matmulWeights(const PackedMatrix& w, std::int64_t firstTile, std::int64_t lastTile,
                   const float* const* x, std::int64_t tokenCount, float* y, std::int64_t yStride) {
  const std::int64_t tokenTiles = (tokenCount + maxTokens - 1) / maxTokens;
  for (std::int64_t first = firstTile; first < lastTile; first += maxTiles) {
    for (std::int64_t i = 0; i < tokenTiles; ++i) {
      const std::int64_t t = i * tokenCount / tokenTiles;
      const int count = static_cast<int>((i + 1) * tokenCount / tokenTiles - t);
      const Job job{w.tiles + first * w.tileBytes,
                    w.tileBytes,
                    w.cols,
                    x + t,
                    y + t * yStride + (first - firstTile) * 16,
                    yStride,
                    w.rows - first * 16};
      if (lastTile - first >= maxTiles) {
        tokens<Weights, maxTiles>(job, count);
      } else {
        tokens<Weights, 1>(job, count);
      }
    }
  }
}

}  // namespace

void matmulFloat(const PackedMatrix& w, std::int64_t firstTile, std::int64_t lastTile, const float* const* x,
                 std::int64_t tokens, TokenTiles, float* y, std::int64_t yStride) {
  switch (w.type) {
    case Type::F16:
      return matmulWeights<WeightsF16>(w, firstTile, lastTile, x, tokens, y, yStride);
    case Type::BF16:
      return matmulWeights<WeightsBF16>(w, firstTile, lastTile, x, tokens, y, yStride);
    default:
      return matmulWeights<WeightsF32>(w, firstTile, lastTile, x, tokens, y, yStride);
  }
}

}  // namespace qk::QK_ISA
