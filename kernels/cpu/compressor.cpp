// Owns the rows that the compressor carries from chunk to chunk, and the way of an entry from pooling to
// storage.
#include "qk/compressor.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "cpu/simd/variants.h"
#include "qk/rms_norm.h"
#include "qk/rope.h"
#include "qk/round_trip.h"

namespace qk {

namespace {

constexpr std::int64_t kCheckpointTokens = 128;

// First row that entries from position / ratio on need.
std::int64_t firstNeeded(const CompressorShape& shape, std::int64_t position) {
  const std::int64_t block = position / shape.ratio - (shape.overlaps() ? 1 : 0);
  return std::max<std::int64_t>(block, 0) * shape.ratio;
}

}  // namespace

void CompressorState::append(const float* k, const float* gate, const float* ape, std::int64_t tokens) {
  const std::int64_t start = position_;
  extend(tokens);
  std::copy(k, k + tokens * shape_.width(), this->k(start));
  std::copy(gate, gate + tokens * shape_.width(), z(start));
  addBias(ape, start, tokens);
}

void CompressorState::extend(std::int64_t tokens) {
  const auto values = static_cast<std::size_t>((position_ + tokens - first_) * shape_.width());
  k_.resize(values);
  z_.resize(values);
  position_ += tokens;
}

void CompressorState::addBias(const float* ape, std::int64_t position, std::int64_t tokens) {
  const std::int64_t width = shape_.width();
  for (std::int64_t t = position; t < position + tokens; ++t) {
    float* row = z(t);
    const float* bias = ape + t % shape_.ratio * width;
    for (std::int64_t i = 0; i < width; ++i) row[i] = row[i] + bias[i];
  }
}

void CompressorState::reserve(std::int64_t tokens) {
  k_.reserve(static_cast<std::size_t>(tokens * shape_.width()));
  z_.reserve(static_cast<std::size_t>(tokens * shape_.width()));
}

void CompressorState::copyPrefix(const CompressorState& other, std::int64_t position) {
  other.requireReachable(position);
  saved_ = std::min(other.saved_, position / kCheckpointTokens);
  checkpoints_.assign(other.checkpoints_.begin(), other.checkpoints_.begin() + saved_ * 2 * checkpointFloats());
  if (firstNeeded(shape_, position) < other.first_) return restore(position);
  const std::int64_t values = std::max<std::int64_t>(position - other.first_, 0) * shape_.width();
  k_.assign(other.k_.begin(), other.k_.begin() + values);
  z_.assign(other.z_.begin(), other.z_.begin() + values);
  first_ = other.first_;
  position_ = position;
}

void CompressorState::drop(std::int64_t kept) {
  const std::int64_t needed = std::min(firstNeeded(shape_, position_), std::max<std::int64_t>(position_ - kept, 0));
  if (needed <= first_) return;
  for (std::int64_t p = (saved_ + 1) * kCheckpointTokens; p <= position_ && firstNeeded(shape_, p) < needed;
       p += kCheckpointTokens) {
    if (shape_.overlaps()) {
      const float* const rows[] = {k(p - shape_.ratio), z(p - shape_.ratio)};
      for (const float* row : rows) checkpoints_.insert(checkpoints_.end(), row, row + checkpointFloats());
    }
    ++saved_;
  }
  const std::int64_t values = (needed - first_) * shape_.width();
  k_.erase(k_.begin(), k_.begin() + values);
  z_.erase(z_.begin(), z_.begin() + values);
  first_ = needed;
}

std::int64_t CompressorState::reachable(std::int64_t position) const {
  return firstNeeded(shape_, position) >= first_ ? position : position / kCheckpointTokens * kCheckpointTokens;
}

void CompressorState::requireReachable(std::int64_t position) const {
  if (position < 0 || position > position_ || reachable(position) != position) {
    throw std::out_of_range("compressor rows from " + std::to_string(first_) + " to " +
                            std::to_string(position_) + " are kept: no way back to position " +
                            std::to_string(position));
  }
}

void CompressorState::restore(std::int64_t position) {
  k_.clear();
  z_.clear();
  if (position > 0 && shape_.overlaps()) {
    const std::int64_t floats = checkpointFloats();
    const auto rows = checkpoints_.begin() + (position / kCheckpointTokens - 1) * 2 * floats;
    k_.assign(rows, rows + floats);
    z_.assign(rows + floats, rows + 2 * floats);
  }
  first_ = firstNeeded(shape_, position);
  position_ = position;
}

void CompressorState::truncate(std::int64_t position) {
  requireReachable(position);
  if (firstNeeded(shape_, position) < first_) {
    restore(position);
  } else {
    const auto values =
        static_cast<std::size_t>(std::max<std::int64_t>(position - first_, 0) * shape_.width());
    k_.resize(values);
    z_.resize(values);
    position_ = position;
  }
  saved_ = std::min(saved_, position / kCheckpointTokens);
  checkpoints_.resize(static_cast<std::size_t>(saved_ * 2 * checkpointFloats()));
}

}  // namespace qk

namespace qk::cpu {

void compressorPool(Isa isa, const CompressorState& state, std::int64_t j, float* out) {
  const CompressorShape& shape = state.shape();
  const std::int64_t start = j * shape.ratio;
  if (!shape.overlaps()) {
    QK_PICK(isa, pool)
    (nullptr, nullptr, state.k(start), state.z(start), shape.ratio, shape.width(), shape.dim, out);
    return;
  }
  const float* previousK = j > 0 ? state.k(start - shape.ratio) : nullptr;
  const float* previousZ = j > 0 ? state.z(start - shape.ratio) : nullptr;
  QK_PICK(isa, pool)
  (previousK, previousZ, state.k(start) + shape.dim, state.z(start) + shape.dim, shape.ratio, shape.width(),
   shape.dim, out);
}

void compressorEntry(Isa isa, const CompressorState& state, std::int64_t j, const CompressorFinish& finish,
                     const float* tableRow, float* out) {
  const std::int64_t dim = state.shape().dim;
  compressorPool(isa, state, j, out);
  rmsNorm(isa, out, 1, dim, finish.normWeight, finish.rmsEps, out);
  rope(isa, out, 1, dim, finish.ropeDims, tableRow, Rotation::forward);
  if (finish.kind == EntryKind::attention) {
    if (finish.roundTrip) roundTripE4m3(isa, out, dim - finish.ropeDims);
    return;
  }
  hadamard(isa, out, dim);
  if (finish.roundTrip) roundTripE2m1(isa, out, dim);
}

}  // namespace qk::cpu
