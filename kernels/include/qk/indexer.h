// Owns the indexer's scores: score(t, j) = sum_h w_h * relu(q_h . k_j). Operands lie on FP4 grids with
// power-of-two scales per 32, so twice a value is a small integer: dots of 32 are exact in int32, and what
// follows has one order.
#pragma once

#include <cstdint>
#include <vector>

#include "qk/isa.h"

namespace qk {

// Keys of one layer in the order of their blocks, 16 interleaved so that a vector holds 16 of them.
// Copyable: a snapshot.
class IndexerKeys {
 public:
  // `rounded`: the keys are E2M1 values (integer path); otherwise plain floats (fma, dimension ascending).
  // dim is a multiple of 32.
  IndexerKeys(std::int64_t dim, bool rounded) : dim_(dim), rounded_(rounded) {}
  std::int64_t dim() const { return dim_; }
  bool rounded() const { return rounded_; }
  std::int64_t size() const { return size_; }
  // Appends entry size(): x [dim], finished (see compressor.h). Throws std::domain_error when `rounded` and
  // a value is not on the grid (a NaN, say).
  void append(const float* x);
  // The same in parts: `entries` more entries that hold nothing yet; then write(j, x) for each. Threads may
  // write different entries.
  void extend(std::int64_t entries);
  void write(std::int64_t entry, const float* x);
  void truncate(std::int64_t entries);

  // Per group of 16 entries: codes [dim/4][16][4] (2 * value / scale + 16, unsigned), scales [dim/32][16]
  // (scale / 2).
  const std::uint8_t* codes(std::int64_t group) const { return codes_.data() + group * dim_ * 16; }
  const float* scales(std::int64_t group) const { return scales_.data() + group * dim_ / 2; }
  // Not rounded: values [dim][16].
  const float* values(std::int64_t group) const { return values_.data() + group * dim_ * 16; }

 private:
  void resize(std::int64_t entries);

  std::int64_t dim_;
  bool rounded_;
  std::int64_t size_ = 0;
  std::vector<std::uint8_t> codes_;
  std::vector<float> scales_, values_;
};

// The query side of one token; reused from token to token it allocates once.
struct IndexerQuery {
  std::int64_t heads = 0, dim = 0;
  bool rounded = true;
  std::vector<std::int8_t> codes;     // [heads][dim]
  std::vector<float> scales;          // [heads][dim/32]
  std::vector<std::int32_t> offsets;  // [heads][dim/32]: -16 * sum of the codes
  std::vector<float> values;          // [dim][heads] when not rounded
  std::vector<float> weights;         // [heads]: w_h / sqrt(dim * heads)
};

// Tokens that query at position t sees: entries 0 .. visibleEntries - 1.
constexpr std::int64_t visibleEntries(std::int64_t t, std::int64_t ratio) { return (t + 1) / ratio; }

}  // namespace qk

namespace qk::cpu {

// q [heads][dim] as projected (not yet rotated): RoPE by tableRow on the last ropeDims, Hadamard, E2M1 when
// `rounded`; w [heads] as projected. `q` is overwritten.
void indexerQuery(Isa isa, float* q, const float* w, std::int64_t heads, std::int64_t dim,
                  std::int64_t ropeDims, const float* tableRow, bool rounded, IndexerQuery& out);

// scores [n] of the entries 0 .. n-1, n <= keys.size(). A head's four (dim/32) group sums are combined by
// fma in ascending order, then heads by fma in ascending order.
void indexerScores(Isa isa, const IndexerQuery& query, const IndexerKeys& keys, std::int64_t n,
                   float* scores);

}  // namespace qk::cpu

namespace qk::reference {

// q [heads][dim], keys [n][dim], both finished; weights already scaled.
void indexerScores(const double* q, const double* weights, std::int64_t heads, std::int64_t dim,
                   const double* keys, std::int64_t n, double* scores);

}  // namespace qk::reference
