// Owns hyper-connections. Products with fn run over 4 tokens x 6 rows in registers; everything per token
// that is small (sigmoids, Sinkhorn) runs with a token in each of the 16 lanes.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

namespace {

constexpr std::int64_t kBatch = 16;
constexpr std::int64_t kMaxRows = kMaxStreams * (2 + kMaxStreams);

// One register of a vector of 16 lanes, of which there are kParts; the tile has as many registers of sums as the
// instruction set can hold beside kRows of fn and one of a token.
#if defined(__AVX512F__)
using Part = F16;
constexpr int kParts = 1, kPartLanes = 16, kTokens = 4, kRows = 6;
QK_INLINE Part loadPart(const float* p) { return load(p); }
QK_INLINE void storePart(float* p, Part x) { store(p, x); }
#elif defined(__AVX2__)
using Part = __m256;
constexpr int kParts = 2, kPartLanes = 8, kTokens = 4, kRows = 3;
QK_INLINE Part loadPart(const float* p) { return _mm256_loadu_ps(p); }
QK_INLINE void storePart(float* p, Part x) { _mm256_storeu_ps(p, x); }
QK_INLINE Part fma(Part x, Part y, Part z) { return _mm256_fmadd_ps(x, y, z); }
#else
using Part = F16;
constexpr int kParts = 1, kPartLanes = 16, kTokens = 2, kRows = 3;
QK_INLINE Part loadPart(const float* p) { return load(p); }
QK_INLINE void storePart(float* p, Part x) { store(p, x); }
#endif

// Values of a token that the whole tile walk sees before it goes on: 16 tokens and kRows rows of them stay in the L1
// cache, all rows in the L2 cache. A multiple of 16.
constexpr std::int64_t kBlock = 512;

// Sixteen chains of each product of a row and a token, value k in chain k % 16, so that a block of k continues them.
struct Chains {
  alignas(64) float lanes[kMaxRows][kBatch][16];
};

// chains[r][t] += a[r] * x[t] over n values (a multiple of 16), k ascending.
QK_INLINE void tile(const float* const* a, const float* const* x, std::int64_t n, float (*const* chains)[16]) {
  for (int part = 0; part < kParts; ++part) {
    const int lane = part * kPartLanes;
    Part sums[kRows][kTokens];
    for (int r = 0; r < kRows; ++r) {
      for (int t = 0; t < kTokens; ++t) sums[r][t] = loadPart(chains[r][t] + lane);
    }
    for (std::int64_t k = lane; k < n; k += 16) {
      Part w[kRows];
      for (int r = 0; r < kRows; ++r) w[r] = loadPart(a[r] + k);
      for (int t = 0; t < kTokens; ++t) {
        const Part v = loadPart(x[t] + k);
        for (int r = 0; r < kRows; ++r) sums[r][t] = fma(w[r], v, sums[r][t]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int t = 0; t < kTokens; ++t) storePart(chains[r][t] + lane, sums[r][t]);
    }
  }
}

// squares[t] += x[t] * x[t] over n values (a multiple of 16) of eight tokens, because one chain of fma waits for
// itself.
QK_INLINE void squareTile(const float* const* x, std::int64_t n, float (*squares)[16]) {
  constexpr int kSquared = 8;
  F16 sums[kSquared];
  for (int t = 0; t < kSquared; ++t) sums[t] = load(squares[t]);
  for (std::int64_t k = 0; k < n; k += 16) {
    for (int t = 0; t < kSquared; ++t) {
      const F16 v = load(x[t] + k);
      sums[t] = fma(v, v, sums[t]);
    }
  }
  for (int t = 0; t < kSquared; ++t) store(squares[t], sums[t]);
}

// m[row] of up to 16 tokens in the lanes: (fn . X) * r, r = 1/sqrt(mean(X^2) + eps), both products in the order of
// qk::cpu::dot. Lanes beyond `tokens` repeat the last.
void project(const HyperSite& site, std::int64_t rows, const float* h, std::int64_t tokens, float (*m)[kBatch]) {
  const std::int64_t n = site.streams * site.hidden;
  const std::int64_t whole = n / 16 * 16;
  Chains chains;
  alignas(64) float squares[kBatch][16] = {};
  // Only what is computed is cleared and summed; a batch of one token costs one tile of them.
  const std::int64_t computed = (tokens + kTokens - 1) / kTokens * kTokens;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t t = 0; t < computed; ++t) store(chains.lanes[r][t], zero());
  }
  const float* x[kBatch];
  for (std::int64_t t = 0; t < kBatch; ++t) x[t] = h + (t < tokens ? t : tokens - 1) * n;
  for (std::int64_t k = 0; k < whole; k += kBlock) {
    const std::int64_t length = whole - k < kBlock ? whole - k : kBlock;
    const float* xk[kBatch];
    for (std::int64_t t = 0; t < kBatch; ++t) xk[t] = x[t] + k;
    for (std::int64_t t0 = 0; t0 < tokens; t0 += 8) squareTile(xk + t0, length, squares + t0);
    for (std::int64_t r0 = 0; r0 < rows; r0 += kRows) {
      // Rows beyond the last repeat it and are thrown away.
      alignas(64) float spare[kTokens][16] = {};
      const float* a[kRows];
      for (int r = 0; r < kRows; ++r) a[r] = site.fn + (r0 + r < rows ? r0 + r : rows - 1) * n + k;
      for (std::int64_t t0 = 0; t0 < computed; t0 += kTokens) {
        float(*sums[kRows])[16];
        for (int r = 0; r < kRows; ++r) sums[r] = r0 + r < rows ? chains.lanes[r0 + r] + t0 : spare;
        tile(a, xk + t0, length, sums);
      }
    }
  }
  alignas(64) float square[kBatch];
  for (std::int64_t t = 0; t < kBatch; ++t) {
    const std::int64_t source = t < tokens ? t : tokens - 1;
    const F16 rest = whole < n ? loadFirst(x[source] + whole, n - whole) : zero();
    square[t] = sumOfLanes(fma(rest, rest, load(squares[source])));
    for (std::int64_t r = 0; r < rows; ++r) {
      F16 sum = load(chains.lanes[r][source]);
      if (whole < n) sum = fma(loadFirst(site.fn + r * n + whole, n - whole), rest, sum);
      m[r][t] = t < tokens ? sumOfLanes(sum) : m[r][tokens - 1];
    }
  }
  const F16 mean = load(square) / broadcast(static_cast<float>(n));
  const F16 scale = broadcast(1.0f) / sqrt(mean + broadcast(site.rmsEps));
  for (std::int64_t r = 0; r < rows; ++r) store(m[r], load(m[r]) * scale);
}

QK_INLINE F16 affine(const float* m, float scale, float base) {
  return fma(load(m), broadcast(scale), broadcast(base));
}

// c[i][j] of 16 tokens: softmax over j, + eps; columns; then rounds - 1 times rows and columns.
void sinkhorn(F16 (*c)[kMaxStreams], std::int64_t n, std::int64_t rounds, float hyperEps) {
  const F16 eps = broadcast(hyperEps);
  for (std::int64_t i = 0; i < n; ++i) {
    F16 top = c[i][0];
    for (std::int64_t j = 1; j < n; ++j) top = max(top, c[i][j]);
    F16 total = zero();
    for (std::int64_t j = 0; j < n; ++j) {
      c[i][j] = exp16(c[i][j] - top);
      total = total + c[i][j];
    }
    for (std::int64_t j = 0; j < n; ++j) c[i][j] = c[i][j] / total + eps;
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (std::int64_t i = 0; round > 0 && i < n; ++i) {
      F16 total = zero();
      for (std::int64_t j = 0; j < n; ++j) total = total + c[i][j];
      total = total + eps;
      for (std::int64_t j = 0; j < n; ++j) c[i][j] = c[i][j] / total;
    }
    for (std::int64_t j = 0; j < n; ++j) {
      F16 total = zero();
      for (std::int64_t i = 0; i < n; ++i) total = total + c[i][j];
      total = total + eps;
      for (std::int64_t i = 0; i < n; ++i) c[i][j] = c[i][j] / total;
    }
  }
}

// u = sum_i pre[i] h_i of one token, i ascending by fma from +0. pre [streams], the next one `stride` floats
// on.
void reduce(const float* pre, std::int64_t stride, const float* h, std::int64_t streams, std::int64_t hidden,
            float* u) {
  F16 weight[kMaxStreams];
  for (std::int64_t i = 0; i < streams; ++i) weight[i] = broadcast(pre[i * stride]);
  std::int64_t d = 0;
  for (; d + 32 <= hidden; d += 32) {
    F16 acc[2] = {zero(), zero()};
    for (std::int64_t i = 0; i < streams; ++i) {
      acc[0] = fma(weight[i], load(h + i * hidden + d), acc[0]);
      acc[1] = fma(weight[i], load(h + i * hidden + d + 16), acc[1]);
    }
    store(u + d, acc[0]);
    store(u + d + 16, acc[1]);
  }
  for (; d < hidden; d += 16) {
    F16 acc = zero();
    for (std::int64_t i = 0; i < streams; ++i) {
      acc = fma(weight[i], loadFirst(h + i * hidden + d, hidden - d), acc);
    }
    storeFirst(u + d, hidden - d, acc);
  }
}

// Streams is known at compile time for the real model's four, 0 otherwise.
template <std::int64_t Streams>
QK_INLINE void postOne(std::int64_t streams, std::int64_t hidden, const float* y, const float* post,
                       const float* mix, float* h) {
  const std::int64_t n = Streams > 0 ? Streams : streams;
  for (std::int64_t d = 0; d < hidden; d += 16) {
    const std::int64_t lanes = hidden - d;
    F16 before[kMaxStreams];
    for (std::int64_t i = 0; i < n; ++i) before[i] = loadFirst(h + i * hidden + d, lanes);
    const F16 v = loadFirst(y + d, lanes);
    for (std::int64_t j = 0; j < n; ++j) {
      F16 acc = broadcast(post[j]) * v;
      for (std::int64_t i = 0; i < n; ++i) acc = fma(broadcast(mix[i * n + j]), before[i], acc);
      storeFirst(h + j * hidden + d, lanes, acc);
    }
  }
}

}  // namespace

void hyperPre(const HyperSite& site, const float* h, std::int64_t tokens, float* u, float* post,
              float* mix) {
  const std::int64_t n = site.streams;
  const std::int64_t rows = n * (2 + n);
  alignas(64) float m[kMaxRows][kBatch];
  for (std::int64_t start = 0; start < tokens; start += kBatch) {
    const std::int64_t count = tokens - start < kBatch ? tokens - start : kBatch;
    const float* batch = h + start * n * site.hidden;
    project(site, rows, batch, count, m);
    F16 c[kMaxStreams][kMaxStreams];
    for (std::int64_t i = 0; i < n; ++i) {
      const F16 pre = sigmoid16(affine(m[i], site.scale[0], site.base[i])) + broadcast(site.hyperEps);
      const F16 out = broadcast(2.0f) * sigmoid16(affine(m[n + i], site.scale[1], site.base[n + i]));
      store(m[i], pre);
      store(m[n + i], out);
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t row = 2 * n + n * i + j;
        c[i][j] = affine(m[row], site.scale[2], site.base[row]);
      }
    }
    sinkhorn(c, n, site.sinkhornRounds, site.hyperEps);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) store(m[2 * n + n * i + j], c[i][j]);
    }
    for (std::int64_t t = 0; t < count; ++t) {
      for (std::int64_t i = 0; i < n; ++i) post[(start + t) * n + i] = m[n + i][t];
      for (std::int64_t i = 0; i < n * n; ++i) mix[(start + t) * n * n + i] = m[2 * n + i][t];
      reduce(&m[0][t], kBatch, batch + t * n * site.hidden, n, site.hidden, u + (start + t) * site.hidden);
    }
  }
}

void hyperPost(std::int64_t streams, std::int64_t hidden, const float* y, const float* post,
               const float* mix, std::int64_t tokens, float* h) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    const float* yt = y + t * hidden;
    const float* pt = post + t * streams;
    const float* mt = mix + t * streams * streams;
    float* ht = h + t * streams * hidden;
    if (streams == 4) {
      postOne<4>(streams, hidden, yt, pt, mt, ht);
    } else {
      postOne<0>(streams, hidden, yt, pt, mt, ht);
    }
  }
}

void hyperHead(const HyperSite& site, const float* h, std::int64_t tokens, float* z) {
  const std::int64_t n = site.streams;
  alignas(64) float m[kMaxStreams][kBatch];
  for (std::int64_t start = 0; start < tokens; start += kBatch) {
    const std::int64_t count = tokens - start < kBatch ? tokens - start : kBatch;
    const float* batch = h + start * n * site.hidden;
    project(site, n, batch, count, m);
    for (std::int64_t i = 0; i < n; ++i) {
      store(m[i], sigmoid16(affine(m[i], site.scale[0], site.base[i])) + broadcast(site.hyperEps));
    }
    for (std::int64_t t = 0; t < count; ++t) {
      reduce(&m[0][t], kBatch, batch + t * n * site.hidden, n, site.hidden, z + (start + t) * site.hidden);
    }
  }
}

}  // namespace qk::QK_ISA
