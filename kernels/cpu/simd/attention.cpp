// Owns sparse attention of one token. Scores: a head in each lane, several keys in registers, so a value of a
// key is broadcast to 16 heads. Outputs: 16 dimensions in a vector, several heads in registers, so a key's
// vector serves them all. Tiles only group independent chains: every chain runs over all dimensions, or all
// keys, in ascending order.
//
// Flops per token: 4 n H d, and about 25 n H for the exponentials. Bytes: n d 4 of rows, twice (scores, then
// outputs, since the maximum comes first), from the first- and second-level caches; 16 heads make 16 flops of
// each byte, so the floor is fma. Loads beside it: scores 1 + K for K fma on AVX-512 (a broadcast is a memory
// operand), so 8 rows by pointers can reach 89 % where two loads and two fma start per cycle, and 16 rows of a
// tile, whose addresses are constants, 94 %; outputs 10 for 16, which is fma. AVX2: 6 for 8.
// The exact maximum costs the second pass over the rows and no more: an online softmax would rescale, that is
// round, where it meets a larger score.
// Staging rows of one token costs a copy of each for 2 H fma a value: at H = 16 it lost 11 % (AVX2), at H = 64
// 3 %. So only what 8 neighbours share is staged, the window.
// Reached, AVX2, Zen 1, one core, H 16, d 256, 128 + 128 rows: 134 us a token, 31 GFLOP/s, by all exact paths
// over selected rows within 2 % but gathered (154 us); the mask path over 128 + 2048 rows 1114 us, 32 GFLOP/s.
// H 64, d 512, 640 rows: 2.76 ms, 30 GFLOP/s. AVX-512 was not measured.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

namespace {

constexpr std::int64_t kCachedFloats = 8192;  // of keys, 32 KiB

#if defined(__AVX512F__)
constexpr int kKeys = 8;        // keys of a score tile
constexpr int kTileKeys = 16;   // the same where rows are staged: their addresses need no registers
constexpr int kHeads = 8;       // heads of an output tile
constexpr int kVectors = 2;     // vectors of an output tile
#else
constexpr int kKeys = 4;
constexpr int kTileKeys = 4;
constexpr int kHeads = 4;
constexpr int kVectors = 1;
#endif
static_assert(kTileKeys <= kAttentionTilePadding && 16 % kKeys == 0 && 16 % kTileKeys == 0);

// Rows where they lie.
struct Scattered {
  const float* const* keys;
  // Dimensions d .. d+15 of key j; `lanes` of them are real.
  QK_INLINE F16 values(std::int64_t j, std::int64_t d, std::int64_t lanes) const {
    return loadFirst(keys[j] + d, lanes);
  }
};

// Rows of a tile [dim/16][rows][16]; the tile is padded with zeros.
struct Tiled {
  const float* first;  // of key 0
  std::int64_t rows;
  QK_INLINE F16 values(std::int64_t j, std::int64_t d, std::int64_t) const { return load(first + d * rows + j * 16); }
};

// A group of up to 16 heads: queries [dim][16], scores [n][16], the largest score and 1 / sum.
struct Group {
  const float* qT;
  float* scores;
  float* inverse;
};

struct Layout {
  Layout(std::int64_t heads, std::int64_t dim, std::int64_t n, bool scoresOfAll, float* scratch)
      : dim_(dim), each_(scoresOfAll ? n * 16 : 0), qT_(scratch) {
    const std::int64_t groups = (heads + 15) / 16;
    scores_ = qT_ + groups * dim * 16;
    inverse_ = scores_ + (scoresOfAll ? groups : 1) * n * 16;
  }
  Group group(std::int64_t g) const {
    return {qT_ + g * dim_ * 16, scores_ + g * each_, inverse_ + g * 16};
  }
  float* queries() const { return qT_; }

 private:
  std::int64_t dim_, each_;
  float *qT_, *scores_, *inverse_;
};

// qT [groups][dim][16] of all heads; lanes beyond them are 0.
void transpose(const float* q, std::int64_t heads, std::int64_t dim, float* qT) {
  for (std::int64_t h = 0; h < (heads + 15) / 16 * 16; ++h) {
    const float* row = q + h * dim;
    float* to = qT + h / 16 * dim * 16 + h % 16;
    if (h < heads) {
      for (std::int64_t d = 0; d < dim; ++d) to[d * 16] = row[d];
    } else {
      for (std::int64_t d = 0; d < dim; ++d) to[d * 16] = 0.0f;
    }
  }
}

// scores [from .. to)[16] = q . key * scale; the larger of `top` and the largest of them. A function of its
// own, so that the pointers to the keys of a tile find registers.
__attribute__((noinline)) F16 scoreRows(const float* qT, const float* const* keys, const std::uint8_t* kept,
                                        std::int64_t from, std::int64_t to, std::int64_t dim, float scale,
                                        F16 top, float* scores) {
  const F16 factor = broadcast(scale);
  for (std::int64_t start = from; start < to; start += kKeys) {
    const float* key[kKeys];
    F16 acc[kKeys];
    for (int i = 0; i < kKeys; ++i) {
      key[i] = keys[start + i < to ? start + i : to - 1];
      acc[i] = zero();
    }
    for (std::int64_t d = 0; d < dim; ++d) {
      const F16 q = load(qT + d * 16);
      for (int i = 0; i < kKeys; ++i) acc[i] = fma(q, broadcast(key[i][d]), acc[i]);
    }
    for (int i = 0; i < kKeys && start + i < to; ++i) {
      const bool seen = kept == nullptr || kept[start + i] != 0;
      const F16 s = seen ? acc[i] * factor : broadcast(-__builtin_inff());
      top = max(s, top);
      store(scores + (start + i) * 16, s);
    }
  }
  return top;
}

// The same for keys of a tile: all addresses are a base and constants. Beyond the last key it reads what it does
// not use.
__attribute__((noinline)) F16 scoreTile(const float* qT, const Tiled& tile, std::int64_t from, std::int64_t to,
                                        std::int64_t dim, float scale, F16 top, float* scores) {
  const F16 factor = broadcast(scale);
  for (std::int64_t start = from; start < to; start += kTileKeys) {
    F16 acc[kTileKeys];
    for (int i = 0; i < kTileKeys; ++i) acc[i] = zero();
    for (std::int64_t d = 0; d < dim; d += 16) {
      const float* keys = tile.first + d * tile.rows + start * 16;
      const float* q = qT + d * 16;
      const std::int64_t lanes = dim - d < 16 ? dim - d : 16;
      for (std::int64_t x = 0; x < lanes; ++x) {
        const F16 query = load(q + x * 16);
        for (int i = 0; i < kTileKeys; ++i) acc[i] = fma(query, broadcast(keys[i * 16 + x]), acc[i]);
      }
    }
    for (int i = 0; i < kTileKeys && start + i < to; ++i) {
      const F16 s = acc[i] * factor;
      top = max(s, top);
      store(scores + (start + i) * 16, s);
    }
  }
  return top;
}

// e^x for x <= 0 as 2^n 2^r, r = x log2(e) - n in [-1/2, 1/2], by a polynomial of degree 5 of relative error
// 1.6e-7; 0 below 2^-126. Half the operations of exp16, whose results have other bits.
QK_INLINE F16 fastExp16(F16 x) {
  const F16 magic = broadcast(12582912.0f);
  const F16 log2e = broadcast(1.44269504f);
  const F16 shifted = fma(x, log2e, magic);
  const F16 r = fma(x, log2e, magic - shifted);
  F16 p = broadcast(1.3276468962430954e-3f);
  p = fma(p, r, broadcast(9.675541892647743e-3f));
  p = fma(p, r, broadcast(5.550713464617729e-2f));
  p = fma(p, r, broadcast(2.4022120237350464e-1f));
  p = fma(p, r, broadcast(6.931469440460205e-1f));
  p = fma(p, r, broadcast(1.0000001192092896f));
  const U16 power = shiftLeft<23>(bits(shifted) - bits(magic) + broadcastBits(127));
  return ifLess(x, broadcast(-87.0f), zero(), p * bits(power));
}

template <bool Fast>
QK_INLINE F16 weightOf(F16 distance) {
  if constexpr (Fast) {
    return fastExp16(distance);
  } else {
    return exp16(distance);
  }
}

// Scores become weights exp(score - top); inverse = 1 / (their sum + the sink's).
template <bool Fast>
QK_INLINE void softmax(const Group& group, const std::uint8_t* kept, std::int64_t n, F16 top, F16 sink) {
  F16 total = zero();
  for (std::int64_t j = 0; j < n; ++j) {
    const bool seen = kept == nullptr || kept[j] != 0;
    const F16 e = seen ? weightOf<Fast>(load(group.scores + j * 16) - top) : zero();
    store(group.scores + j * 16, e);
    total = total + e;
  }
  total = total + weightOf<Fast>(sink - top);
  store(group.inverse, broadcast(1.0f) / total);
}

// Adds p[h] * key over the keys from .. to-1 to out[h][d .. d+16*Vectors), which starts at +0; after the
// last key it is multiplied by inverse[h]. `lanes` of the last vector are real, and `heads` of the tile's
// heads.
template <int Heads, int Vectors, class Rows>
QK_INLINE void outputTile(const float* p, const Rows& rows, std::int64_t from, std::int64_t to, bool last,
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
    F16 value[Vectors];
    for (int v = 0; v < Vectors; ++v) value[v] = rows.values(j, d + 16 * v, v + 1 < Vectors ? 16 : lanes);
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

// The outputs [heads][dim] of up to 16 heads over the keys from .. to-1, a block that stays in the
// first-level cache while every tile passes over it; `last` when no keys follow.
template <class Rows>
__attribute__((noinline)) void outputs(const Group& group, const Rows& rows, std::int64_t from,
                                       std::int64_t to, bool last, std::int64_t heads, std::int64_t dim,
                                       float* out) {
  for (std::int64_t h = 0; h < heads; h += kHeads) {
    const float* p = group.scores + h;
    const float* inverse = group.inverse + h;
    std::int64_t d = 0;
    for (; d + 16 * kVectors <= dim; d += 16 * kVectors) {
      outputTile<kHeads, kVectors>(p, rows, from, to, last, d, 16, inverse, heads - h, dim, out + h * dim);
    }
    for (; d < dim; d += 16) {
      const std::int64_t lanes = dim - d < 16 ? dim - d : 16;
      outputTile<kHeads, 1>(p, rows, from, to, last, d, lanes, inverse, heads - h, dim, out + h * dim);
    }
  }
}

QK_INLINE std::int64_t atMost(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Keys of a block: whole score tiles.
QK_INLINE std::int64_t blockRows(std::int64_t dim) {
  const std::int64_t fitting = kCachedFloats / dim / 16 * 16;
  return fitting > 16 ? fitting : 16;
}

// The rows of a streamed pass in blocks: first those of the tile, then those where they lie.
class Blocks {
 public:
  explicit Blocks(const AttentionOperands& o) : o_(o), size_(blockRows(o.dim)) {}
  // Where the block that begins at `from` ends.
  std::int64_t end(std::int64_t from) const { return atMost(from < o_.tiled ? o_.tiled : o_.n, from + size_); }
  F16 scores(const Group& group, std::int64_t from, std::int64_t to, F16 top) const {
    if (from < o_.tiled) return scoreTile(group.qT, tile(), from, to, o_.dim, o_.scale, top, group.scores);
    return scoreRows(group.qT, o_.keys, nullptr, from, to, o_.dim, o_.scale, top, group.scores);
  }
  void output(const Group& group, std::int64_t from, std::int64_t to, std::int64_t heads, float* out) const {
    if (from < o_.tiled) {
      outputs(group, tile(), from, to, to == o_.n, heads, o_.dim, out);
    } else {
      outputs(group, Scattered{o_.keys}, from, to, to == o_.n, heads, o_.dim, out);
    }
  }

 private:
  Tiled tile() const { return {o_.tile.values + o_.tileFirst * 16, o_.tile.rows}; }

  const AttentionOperands& o_;
  std::int64_t size_;
};

// Each block is scored for all heads while it is in the first-level cache; then outputs, block by block.
template <bool Fast>
QK_INLINE void overBlocks(const AttentionOperands& o, float* scratch) {
  const std::int64_t groups = (o.heads + 15) / 16;
  const Blocks blocks(o);
  const Layout layout(o.heads, o.dim, o.n, true, scratch);
  transpose(o.q, o.heads, o.dim, layout.queries());
  // `inverse` holds the maxima until the sums are known.
  for (std::int64_t g = 0; g < groups; ++g) store(layout.group(g).inverse, broadcast(-__builtin_inff()));
  for (std::int64_t from = 0; from < o.n; from = blocks.end(from)) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const Group group = layout.group(g);
      store(group.inverse, blocks.scores(group, from, blocks.end(from), load(group.inverse)));
    }
  }
  for (std::int64_t g = 0; g < groups; ++g) {
    const Group group = layout.group(g);
    const F16 sink = loadFirst(o.sinks + 16 * g, o.heads - 16 * g);
    softmax<Fast>(group, nullptr, o.n, max(load(group.inverse), sink), sink);
  }
  for (std::int64_t from = 0; from < o.n; from = blocks.end(from)) {
    for (std::int64_t g = 0; g < groups; ++g) {
      blocks.output(layout.group(g), from, blocks.end(from), atMost(16, o.heads - 16 * g), o.out + 16 * g * o.dim);
    }
  }
}

}  // namespace

void attentionDense(const AttentionOperands& o, const float* const* values, float* scratch) {
  const std::int64_t block = blockRows(o.dim);
  const Layout layout(o.heads, o.dim, o.n, false, scratch);
  transpose(o.q, o.heads, o.dim, layout.queries());
  for (std::int64_t first = 0; first < o.heads; first += 16) {
    const Group group = layout.group(first / 16);
    const std::int64_t count = atMost(16, o.heads - first);
    const F16 sink = loadFirst(o.sinks + first, count);
    const F16 top = scoreRows(group.qT, o.keys, o.kept, 0, o.n, o.dim, o.scale, broadcast(-__builtin_inff()),
                              group.scores);
    softmax<false>(group, o.kept, o.n, max(top, sink), sink);
    for (std::int64_t from = 0; from < o.n; from += block) {
      const std::int64_t to = atMost(o.n, from + block);
      outputs(group, Scattered{values}, from, to, to == o.n, count, o.dim, o.out + first * o.dim);
    }
  }
}

void attentionStreamed(const AttentionOperands& o, bool fastExp, float* scratch) {
  if (fastExp) {
    overBlocks<true>(o, scratch);
  } else {
    overBlocks<false>(o, scratch);
  }
}

void stageRows(const float* rows, std::int64_t count, std::int64_t dim, float* tile) {
  for (std::int64_t j = 0; j < count; ++j) {
    float* to = tile + j * 16;
    for (std::int64_t d = 0; d < dim; d += 16, to += count * 16) store(to, loadFirst(rows + j * dim + d, dim - d));
  }
}

}  // namespace qk::QK_ISA
