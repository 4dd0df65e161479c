// Owns sparse attention of one token. Scores: a head in each lane, 8 keys in registers, so a value of a key is broadcast to 16
// heads. Outputs: 16 dimensions in a vector, 8 heads x 2 vectors in registers, so a key's vector serves 8 heads. Tiles only
// group independent chains: every chain runs over all dimensions, or all keys, in ascending order.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

namespace {

constexpr std::int64_t kCachedFloats = 8192;  // of keys, 32 KiB

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
  for (std::int64_t l = 0; l < 16; ++l) {
    const float* row = q + (first + l) * dim;
    if (first + l < heads) {
      for (std::int64_t d = 0; d < dim; ++d) qT[d * 16 + l] = row[d];
    } else {
      for (std::int64_t d = 0; d < dim; ++d) qT[d * 16 + l] = 0.0f;
    }
  }
}

// scores [n][16] = q . key * scale; returns the maximum over keys. A function of its own, so that the pointers to the keys of
// a tile find registers.
__attribute__((noinline)) F16 scoreAll(const float* qT, const float* const* keys, std::int64_t n, std::int64_t dim, float scale,
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

// Adds p[h] * key over the keys from .. to-1 to out[h][d .. d+16*Vectors), which starts at +0; after the last key it is
// multiplied by inverse[h]. `lanes` of the last vector are real, and `heads` of the tile's heads.
template <int Heads, int Vectors>
QK_INLINE void outputTile(const float* p, const float* const* keys, std::int64_t from, std::int64_t to, bool last,
                          std::int64_t d, std::int64_t lanes, const float* inverse, std::int64_t heads,
                          std::int64_t dim, float* out) {
  F16 acc[Heads][Vectors];
  for (int h = 0; h < Heads; ++h) {
    const float* row = out + (h < heads ? h : heads - 1) * dim + d;
    for (int v = 0; v < Vectors; ++v) {
      acc[h][v] = from == 0 ? zero() : v + 1 < Vectors ? load(row + 16 * v) : loadFirst(row + 16 * v, lanes);
    }
  }
  for (std::int64_t j = from; j < to; ++j) {
    const float* key = keys[j] + d;
    F16 value[Vectors];
    for (int v = 0; v < Vectors; ++v) value[v] = v + 1 < Vectors ? load(key + 16 * v) : loadFirst(key + 16 * v, lanes);
    for (int h = 0; h < Heads; ++h) {
      const F16 weight = broadcast(p[j * 16 + h]);
      for (int v = 0; v < Vectors; ++v) acc[h][v] = fma(weight, value[v], acc[h][v]);
    }
  }
  for (int h = 0; h < Heads && h < heads; ++h) {
    const F16 factor = broadcast(last ? inverse[h] : 1.0f);
    for (int v = 0; v < Vectors; ++v) {
      storeFirst(out + h * dim + d + 16 * v, v + 1 < Vectors ? 16 : lanes, acc[h][v] * factor);
    }
  }
}

// The outputs of up to 16 heads: p [n][16], inverse [16], out [heads][dim]. Keys are taken in blocks that stay in the
// first-level cache while every tile passes over them.
__attribute__((noinline)) void outputs(const float* p, const float* const* keys, std::int64_t n, const float* inverse, std::int64_t heads,
             std::int64_t dim, float* out) {
  const std::int64_t fitting = kCachedFloats / dim;
  const std::int64_t block = fitting > 8 ? fitting : 8;
  for (std::int64_t from = 0; from < n; from += block) {
    const std::int64_t to = from + block < n ? from + block : n;
    for (std::int64_t h = 0; h < heads; h += kHeads) {
      std::int64_t d = 0;
      for (; d + 16 * kVectors <= dim; d += 16 * kVectors) {
        outputTile<kHeads, kVectors>(p + h, keys, from, to, to == n, d, 16, inverse + h, heads - h, dim, out + h * dim);
      }
      for (; d < dim; d += 16) {
        const std::int64_t lanes = dim - d < 16 ? dim - d : 16;
        outputTile<kHeads, 1>(p + h, keys, from, to, to == n, d, lanes, inverse + h, heads - h, dim, out + h * dim);
      }
    }
  }
}

}  // namespace

void attention(const float* q, const float* const* keys, std::int64_t n, std::int64_t heads, std::int64_t dim,
               const float* sinks, float scale, float* scratch, float* out) {
  const std::int64_t groups = (heads + 15) / 16;
  const std::uintptr_t misplaced = reinterpret_cast<std::uintptr_t>(scratch) % 64;
  float* qT = scratch + (64 - misplaced) % 64 / sizeof(float);  // 64-byte vectors must not cross cache lines
  float* p = qT + groups * dim * 16;
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
    outputs(p, keys, n, inverse, count, dim, out + 16 * g * dim);
  }
}

}  // namespace qk::QK_ISA
