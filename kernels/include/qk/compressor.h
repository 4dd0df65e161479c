// Owns the compressor: every block of `ratio` tokens becomes one key entry, pooled by a softmax per channel
// over its slots (ratio 4: the 4 tokens of the block before, first half of the channels, and the 4 of the
// block, second half), then RMSNorm, RoPE at the block's first token, and the storage rounding.
#pragma once

#include <cstdint>

#include "qk/isa.h"
#include "qk/uninitialised.h"

namespace qk {

struct CompressorShape {
  std::int64_t ratio = 0;  // 4 or 128
  std::int64_t dim = 0;    // width of an entry: headDim, or indexerDim
  bool overlaps() const { return ratio == 4; }
  // Floats of one (k, z) row: twice the entry when blocks overlap.
  std::int64_t width() const { return overlaps() ? 2 * dim : dim; }
};

// Raw (k, z) rows of consecutive tokens, kept as long as a later entry needs them: so the chunks in which
// tokens arrive cannot show in an entry's bits. Rows that are dropped leave checkpoints behind: multiples of
// 128 tokens stay within reach of truncate and copyPrefix. Copyable: a copy is a snapshot.
class CompressorState {
 public:
  explicit CompressorState(CompressorShape shape) : shape_(shape) {}
  const CompressorShape& shape() const { return shape_; }

  // Appends `tokens` rows at the current position: k and gate [tokens][width], ape [ratio][width] is added
  // to gate (one float addition). Invalidates rows taken before.
  void append(const float* k, const float* gate, const float* ape, std::int64_t tokens);
  // The same in parts, which different threads may take: appends rows that hold nothing yet; k and gate are
  // written to k(position) and z(position), where rows lie one after the other; then addBias for every row.
  void extend(std::int64_t tokens);
  void addBias(const float* ape, std::int64_t position, std::int64_t tokens);
  // Makes room for `tokens` rows in all, so that none moves when one is appended. Untouched room costs no
  // memory where the allocator maps large blocks lazily.
  void reserve(std::int64_t tokens);
  // Becomes another state of the same shape, gone back to `position` tokens; throws as truncate does. Keeps its
  // memory.
  void copyPrefix(const CompressorState& other, std::int64_t position);
  // Tokens seen so far; complete entries so far = position() / ratio.
  std::int64_t position() const { return position_; }
  std::int64_t entries() const { return position_ / shape_.ratio; }
  // Forgets all rows but the last `kept` and those that entries from entries() on need.
  void drop(std::int64_t kept = 0);
  // The most tokens, at most `position` <= position(), that it can go back to.
  std::int64_t reachable(std::int64_t position) const;
  // Goes back to `position` tokens; throws std::out_of_range when that is not reachable.
  void truncate(std::int64_t position);
  // Row of the absolute position; it must not have been dropped.
  const float* k(std::int64_t position) const { return k_.data() + (position - first_) * shape_.width(); }
  const float* z(std::int64_t position) const { return z_.data() + (position - first_) * shape_.width(); }
  float* k(std::int64_t position) { return k_.data() + (position - first_) * shape_.width(); }
  float* z(std::int64_t position) { return z_.data() + (position - first_) * shape_.width(); }
  std::int64_t firstRow() const { return first_; }

 private:
  void requireReachable(std::int64_t position) const;
  // The rows that going on from `position` needs are those of a checkpoint.
  void restore(std::int64_t position);
  // Floats of k, and of z, of a checkpoint.
  std::int64_t checkpointFloats() const { return shape_.overlaps() ? shape_.ratio * shape_.width() : 0; }

  CompressorShape shape_;
  std::int64_t first_ = 0;     // absolute position of row 0
  std::int64_t position_ = 0;  // absolute position after the last row
  UninitialisedVector<float> k_, z_;
  std::int64_t saved_ = 0;                  // checkpoints: of 128, 256 .. 128 saved_ tokens
  UninitialisedVector<float> checkpoints_;  // [saved][k, z] of the block before each
};

}  // namespace qk

namespace qk::cpu {

enum class EntryKind { attention, indexer };

struct CompressorFinish {
  const float* normWeight = nullptr;  // [dim]
  float rmsEps = 0;
  std::int64_t ropeDims = 0;
  EntryKind kind = EntryKind::attention;
  bool roundTrip =
      true;  // attention: E4M3 on the first dim - ropeDims; indexer: E2M1 after the Hadamard (always done)
};

// Entry `j` before norm: out [dim]. Every slot in ascending order: first the block before, then the block
// itself. Block 0 has no block before (value 0, weight 0). Reads `state` only: threads may take different
// entries.
void compressorPool(Isa isa, const CompressorState& state, std::int64_t j, float* out);

// Pool, norm, RoPE by `tableRow` (of position j * ratio), rounding: out [dim].
void compressorEntry(Isa isa, const CompressorState& state, std::int64_t j, const CompressorFinish& finish,
                     const float* tableRow, float* out);

}  // namespace qk::cpu

namespace qk::reference {

// k and z [tokens][width] of a whole sequence (APE already in z): out [dim].
void compressorPool(const CompressorShape& shape, const double* k, const double* z, std::int64_t j,
                    double* out);

}  // namespace qk::reference
