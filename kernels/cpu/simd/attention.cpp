// Owns sparse attention of one token. Scores: a head in each lane, 8 keys in registers, so a value of a key is broadcast to 16
// heads. Outputs: 16 dimensions in a vector, 8 heads x 2 vectors in registers, so a key's vector serves 8 heads. Tiles only
// group independent chains: every chain runs over all dimensions, or all keys, in ascending order.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

namespace {

#if defined(__AVX512F__)
constexpr int kKeys = 8;     // keys of a score tile
constexpr int kHeads = 8;    // heads of an output tile
constexpr int kVectors = 2;  // vectors of an output tile
#else
constexpr int kKeys = 4;
constexpr int kHeads = 4;
constexpr int kVectors = 1;
#endif

// qT [dim][16] of the heads first .. first+15; lanes beyond `heads` are 0.
void transpose(const float* q, std::int64_t first, std::int64_t heads, std::int64_t dim, float* qT) {
  const std::int64_t count = heads - first < 16 ? heads - first : 16;
  for (std::int64_t d = 0; d < dim; ++d) {
    for (std::int64_t l = 0; l < count; ++l) qT[d * 16 + l] = q[(first + l) * dim + d];
    for (std::int64_t l = count; l < 16; ++l) qT[d * 16 + l] = 0.0f;
  }
}

// scores [n][16] = q . key * scale; returns the maximum over keys.
QK_INLINE F16 scoreAll(const float* qT, const float* const* keys, std::int64_t n, std::int64_t dim, float scale,
                       float* scores) {
  F16 top = broadcast(-__builtin_inff());
  const F16 factor = broadcast(scale);
  for (std::int64_t start = 0; start < n; start += kKeys) {
    const float* key[kKeys];
    F16 acc[kKeys];
    for (int i = 0; i < kKeys; ++i) {
      key[i] = keys[start + i < n ? start + i : n - 1];
      acc[i] = zero();
    }
    for (std::int64_t d = 0; d < dim; ++d) {
      const F16 q = load(qT + d * 16);
      for (int i = 0; i < kKeys; ++i) acc[i] = fma(q, broadcast(key[i][d]), acc[i]);
    }
    for (int i = 0; i < kKeys && start + i < n; ++i) {
      const F16 s = acc[i] * factor;
      top = max(s, top);
      store(scores + (start + i) * 16, s);
    }
  }
  return top;
}

// out[h][0 .. 16*Vectors) = sum over keys of p[h] * key, times inverse[h]; `lanes` of the last vector are stored.
template <int Heads, int Vectors>
QK_INLINE void outputTile(const float* p, const float* const* keys, std::int64_t n, std::int64_t d, std::int64_t lanes,
                          const float* inverse, std::int64_t heads, std::int64_t dim, float* out) {
  F16 acc[Heads][Vectors];
  for (int h = 0; h < Heads; ++h) {
    for (int v = 0; v < Vectors; ++v) acc[h][v] = zero();
  }
  for (std::int64_t j = 0; j < n; ++j) {
    const float* key = keys[j] + d;
    F16 value[Vectors];
    for (int v = 0; v < Vectors; ++v) value[v] = v + 1 < Vectors ? load(key + 16 * v) : loadFirst(key + 16 * v, lanes);
    for (int h = 0; h < Heads; ++h) {
      const F16 weight = broadcast(p[j * 16 + h]);
      for (int v = 0; v < Vectors; ++v) acc[h][v] = fma(weight, value[v], acc[h][v]);
    }
  }
  for (int h = 0; h < Heads && h < heads; ++h) {
    for (int v = 0; v < Vectors; ++v) {
      const F16 y = acc[h][v] * broadcast(inverse[h]);
      storeFirst(out + h * dim + d + 16 * v, v + 1 < Vectors ? 16 : lanes, y);
    }
  }
}

}  // namespace

void attention(const float* q, const float* const* keys, std::int64_t n, std::int64_t heads, std::int64_t dim,
               const float* sinks, float scale, float* scratch, float* out) {
  const std::int64_t groups = (heads + 15) / 16;
  float* qT = scratch;
  float* p = scratch + groups * dim * 16;
  for (std::int64_t g = 0; g < groups; ++g) transpose(q, 16 * g, heads, dim, qT + g * dim * 16);
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t count = heads - 16 * g < 16 ? heads - 16 * g : 16;
    const F16 sink = loadFirst(sinks + 16 * g, count);
    const F16 top = max(scoreAll(qT + g * dim * 16, keys, n, dim, scale, p), sink);
    F16 total = zero();
    for (std::int64_t j = 0; j < n; ++j) {
      const F16 e = exp16(load(p + j * 16) - top);
      store(p + j * 16, e);
      total = total + e;
    }
    total = total + exp16(sink - top);
    alignas(64) float inverse[16];
    store(inverse, broadcast(1.0f) / total);
    for (std::int64_t h = 0; h < count; h += kHeads) {
      float* rows = out + (16 * g + h) * dim;
      std::int64_t d = 0;
      for (; d + 16 * kVectors <= dim; d += 16 * kVectors) {
        outputTile<kHeads, kVectors>(p + h, keys, n, d, 16, inverse + h, count - h, dim, rows);
      }
      for (; d < dim; d += 16) {
        outputTile<kHeads, 1>(p + h, keys, n, d, dim - d < 16 ? dim - d : 16, inverse + h, count - h, dim, rows);
      }
    }
  }
}

}  // namespace qk::QK_ISA
