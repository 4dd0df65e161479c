// Owns rotary position embedding: interleaved pairs (2i, 2i+1) of the last `ropeDims` values of a vector,
// plain or YaRN (frequencies interpolated, no magnitude factor), forward and inverse.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "qk/dimensions.h"
#include "qk/isa.h"

namespace qk {

// The ropeDims/2 angles per position of a layer: ratio 0 has base ropeBase and no scaling, any other ratio
// compressRopeBase with YaRN. The indexer of a layer uses the same.
std::vector<double> ropeFrequencies(const Dimensions& dimensions, std::int32_t ratio);

// Cosines and sines of consecutive positions, computed in double and rounded once.
// Row layout, 2*ropeDims floats: c0 c0 c1 c1 ... then -s0 s0 -s1 s1 ...
class RopeTable {
 public:
  explicit RopeTable(std::vector<double> frequencies) : frequencies_(std::move(frequencies)) {}
  // Makes the rows of the positions 0 .. positions-1; not while another thread reads. Rows that exist keep
  // their bits.
  void extend(std::int64_t positions);
  std::int64_t positions() const { return positions_; }
  std::int64_t ropeDims() const { return 2 * static_cast<std::int64_t>(frequencies_.size()); }
  const float* row(std::int64_t position) const { return values_.data() + position * 2 * ropeDims(); }

 private:
  std::vector<double> frequencies_;
  std::vector<float> values_;
  std::int64_t positions_ = 0;
};

}  // namespace qk

namespace qk::cpu {

enum class Rotation { forward, inverse };

// Rotates in place the last `ropeDims` of each of `rows` vectors of `n` floats by one table row (all rows of
// one call are at the same position: the heads of a token, or one key).
void rope(Isa isa, float* x, std::int64_t rows, std::int64_t n, std::int64_t ropeDims, const float* tableRow,
          Rotation rotation);

}  // namespace qk::cpu

namespace qk::reference {

// In place; the angle of pair i is position * frequencies[i], its sign turned when inverse.
void rope(double* x, std::int64_t rows, std::int64_t n, const std::vector<double>& frequencies,
          std::int64_t position, bool inverse);

}  // namespace qk::reference
