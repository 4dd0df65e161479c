// Owns what a sequence leaves behind for later tokens: keys, compressor rows and compressed entries of every
// layer. Everything lies in the order of positions, so cutting a state short is only forgetting. The raw rows of
// the compressors, most of a state, are kept for the last tokens alone: there a state can be cut at any token and
// the next chunk continues a half-filled block exactly; further back it can be cut at multiples of 128.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "qk/compressor.h"
#include "qk/dimensions.h"
#include "qk/indexer.h"
#include "rows.h"

namespace qe {

// The entries that attention reads in a layer with a ratio.
struct CompressedKeys {
  qk::CompressorState rows;
  Rows entries;  // (tokens / ratio, d)
};

// The entries that the indexer scores in a layer of ratio 4.
struct IndexedKeys {
  qk::CompressorState rows;
  qk::IndexerKeys entries;
};

struct LayerState {
  Rows keys;  // (tokens, d), rotated and rounded
  std::optional<CompressedKeys> compressed;
  std::optional<IndexedKeys> indexed;
};

class State {
 public:
  State(const qk::Dimensions& dimensions, std::int64_t contextTokens);

  std::int64_t length() const { return static_cast<std::int64_t>(tokens_.size()); }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  LayerState& layer(std::int64_t index) { return layers_[static_cast<std::size_t>(index)]; }

  // Announces that `count` rows will be written. Throws std::length_error beyond the capacity.
  void reserve(std::int64_t count);
  // Makes rows that were written part of the sequence.
  void append(const std::int32_t* tokens, std::int64_t count);
  // The most tokens, at most `length` <= length(), that the state can be cut to.
  std::int64_t reachable(std::int64_t length) const;
  // Forgets everything from position `length` on, rows of an unfinished chunk too. Throws std::out_of_range when
  // that is not reachable.
  void truncate(std::int64_t length);
  // Becomes the first `length` tokens of another state of the same model, reachable there.
  void copyPrefix(const State& other, std::int64_t length);
  // Bytes held: of every row that was ever written, for a row cut off keeps its memory.
  std::int64_t bytes() const { return bytesOf(highest_, mostRows_); }
  // What `tokens` tokens take, evaluated some thousands at a time.
  std::int64_t bytesOf(std::int64_t tokens) const;

 private:
  std::int64_t bytesOf(std::int64_t tokens, std::int64_t rows) const;

  std::int64_t capacity_;
  std::int64_t highest_ = 0;   // most tokens ever written
  std::int64_t mostRows_ = 0;  // most raw rows ever held at once
  std::vector<std::int32_t> tokens_;
  std::vector<LayerState> layers_;
};

}  // namespace qe
