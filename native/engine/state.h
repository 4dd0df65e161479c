// Owns what a sequence leaves behind for later tokens: keys, compressor rows and compressed entries of every layer.
// Rows lie in the order of their positions and are never moved, so cutting a state short is only forgetting rows, at any
// token: the compressors' raw rows are kept too, and the next chunk continues a half-filled block exactly.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "qk/dimensions.h"

namespace qe {

// A table of `capacity` rows of `width` floats. Large tables cost memory only where rows were written.
class Rows {
 public:
  Rows() = default;
  Rows(std::int64_t capacity, std::int64_t width);

  float* row(std::int64_t index) { return values_.get() + index * width_; }
  const float* row(std::int64_t index) const { return values_.get() + index * width_; }
  std::int64_t width() const { return width_; }
  std::int64_t capacity() const { return capacity_; }
  // Copies the first `count` rows of a table of the same shape.
  void copyFrom(const Rows& other, std::int64_t count);

 private:
  std::int64_t capacity_ = 0;
  std::int64_t width_ = 0;
  std::unique_ptr<float[]> values_;
};

// Rows of one compressor: what each token contributed, and the finished entries.
struct CompressorState {
  std::int64_t ratio = 0;  // 0: this layer has none
  Rows values;             // k_t, (tokens, c*hd)
  Rows scores;             // z_t + ape, (tokens, c*hd)
  Rows entries;            // (tokens / ratio, hd)

  CompressorState() = default;
  CompressorState(std::int64_t ratio, std::int64_t tokens, std::int64_t width);
  std::int64_t entriesAt(std::int64_t tokens) const { return ratio == 0 ? 0 : tokens / ratio; }
  void copyFrom(const CompressorState& other, std::int64_t tokens);
  std::int64_t bytesAt(std::int64_t tokens) const;
};

struct LayerState {
  Rows keys;                   // (tokens, d), rotated and rounded
  CompressorState compressor;  // attention's
  CompressorState indexer;     // ratio 4 only
};

class State {
 public:
  State(const qk::Dimensions& dimensions, std::int64_t contextTokens);

  std::int64_t length() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t capacity() const { return capacity_; }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  LayerState& layer(std::int64_t index) { return layers_[static_cast<std::size_t>(index)]; }

  // Makes rows that a chunk has written part of the sequence.
  void append(const std::int32_t* tokens, std::int64_t count);
  // Forgets everything from position `length` on.
  void truncate(std::int64_t length);
  // Becomes the first `length` tokens of another state.
  void copyPrefix(const State& other, std::int64_t length);
  // Bytes of rows in use.
  std::int64_t bytes() const;

 private:
  std::int64_t capacity_;
  std::vector<std::int32_t> tokens_;
  std::vector<LayerState> layers_;
};

}  // namespace qe
