// Owns hyper-connections. Products with fn run over 4 tokens x 6 rows in registers; everything per token that is small
// (sigmoids, Sinkhorn) runs with a token in each of the 16 lanes.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

namespace {

constexpr std::int64_t kBatch = 16;
constexpr std::int64_t kMaxRows = kMaxStreams * (2 + kMaxStreams);

#if defined(__AVX512F__)
constexpr int kTokens = 4;
constexpr int kRows = 6;
#else
constexpr int kTokens = 2;
constexpr int kRows = 3;
#endif

// out[r][t] = dot(a[r], x[t]) for Rows rows and Tokens tokens, in the order of qk::cpu::dot; results [Rows][kBatch].
template <int Rows, int Tokens>
QK_INLINE void dots(const float* const* a, const float* const* x, std::int64_t n, float* const* out) {
  F16 acc[Rows][Tokens];
  for (int r = 0; r < Rows; ++r) {
    for (int t = 0; t < Tokens; ++t) acc[r][t] = zero();
  }
  const std::int64_t whole = n / 16 * 16;
  for (std::int64_t i = 0; i < whole; i += 16) {
    F16 v[Tokens];
    for (int t = 0; t < Tokens; ++t) v[t] = load(x[t] + i);
    for (int r = 0; r < Rows; ++r) {
      const F16 w = load(a[r] + i);
      for (int t = 0; t < Tokens; ++t) acc[r][t] = fma(w, v[t], acc[r][t]);
    }
  }
  if (whole < n) {
    for (int r = 0; r < Rows; ++r) {
      const F16 w = loadFirst(a[r] + whole, n - whole);
      for (int t = 0; t < Tokens; ++t) acc[r][t] = fma(w, loadFirst(x[t] + whole, n - whole), acc[r][t]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int t = 0; t < Tokens; ++t) out[r][t] = sumOfLanes(acc[r][t]);
  }
}

// Squares of kTokens tokens at once, because one chain of fma alone waits for itself.
QK_INLINE void squaresOf(const float* const* x, std::int64_t n, float* out) {
  F16 acc[kTokens];
  for (int t = 0; t < kTokens; ++t) acc[t] = zero();
  const std::int64_t whole = n / 16 * 16;
  for (std::int64_t i = 0; i < whole; i += 16) {
    for (int t = 0; t < kTokens; ++t) acc[t] = fma(load(x[t] + i), load(x[t] + i), acc[t]);
  }
  for (int t = 0; t < kTokens; ++t) {
    const F16 rest = whole < n ? loadFirst(x[t] + whole, n - whole) : zero();
    out[t] = sumOfLanes(fma(rest, rest, acc[t]));
  }
}

// m[row] of up to 16 tokens in the lanes: (fn . X) * r, r = 1/sqrt(mean(X^2) + eps). Lanes beyond `tokens` repeat the last.
void project(const HyperSite& site, std::int64_t rows, const float* h, std::int64_t tokens, float (*m)[kBatch]) {
  const std::int64_t n = site.streams * site.hidden;
  float square[kBatch];
  for (std::int64_t t0 = 0; t0 < kBatch; t0 += kTokens) {
    const float* x[kTokens];
    for (int t = 0; t < kTokens; ++t) x[t] = h + (t0 + t < tokens ? t0 + t : tokens - 1) * n;
    if (t0 >= tokens) {  // no token of its own: the lanes only need to hold finite values
      for (int t = 0; t < kTokens; ++t) {
        square[t0 + t] = square[tokens - 1];
        for (std::int64_t r = 0; r < rows; ++r) m[r][t0 + t] = m[r][tokens - 1];
      }
      continue;
    }
    squaresOf(x, n, square + t0);
    for (std::int64_t r0 = 0; r0 < rows; r0 += kRows) {
      const float* a[kRows];
      float* out[kRows];
      float spare[kTokens];
      for (int r = 0; r < kRows; ++r) {
        const bool mine = r0 + r < rows;
        a[r] = site.fn + (mine ? r0 + r : rows - 1) * n;
        out[r] = mine ? m[r0 + r] + t0 : spare;
      }
      dots<kRows, kTokens>(a, x, n, out);
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

// u = sum_i pre[i] h_i of one token, i ascending by fma from +0. pre [streams], the next one `stride` floats on.
void reduce(const float* pre, std::int64_t stride, const float* h, std::int64_t streams, std::int64_t hidden, float* u) {
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
QK_INLINE void postOne(std::int64_t streams, std::int64_t hidden, const float* y, const float* post, const float* mix,
                       float* h) {
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

void hyperPre(const HyperSite& site, const float* h, std::int64_t tokens, float* u, float* post, float* mix) {
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

void hyperPost(std::int64_t streams, std::int64_t hidden, const float* y, const float* post, const float* mix,
               std::int64_t tokens, float* h) {
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
