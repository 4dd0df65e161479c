// Cutting, copying and measuring of states.
#include "state.h"

#include <algorithm>
#include <stdexcept>

namespace qe {
namespace {

constexpr std::int64_t kFloat = static_cast<std::int64_t>(sizeof(float));
// Raw rows of the compressors: down to the fewer when there are more than the more.
constexpr std::int64_t kFewerRows = 512;
constexpr std::int64_t kMoreRows = 1024;
// What a sequence of many tokens is taken to hold at once.
constexpr std::int64_t kUsualRows = 3072;

// k and z rows of a compressor.
std::int64_t rowBytes(const qk::CompressorState& rows, std::int64_t count) {
  return count * rows.shape().width() * 2 * kFloat;
}

LayerState makeLayer(const qk::Dimensions& dimensions, std::int32_t ratio, std::int64_t contextTokens) {
  LayerState layer;
  layer.keys = Rows(contextTokens, dimensions.headDim);
  if (ratio != 0) {
    layer.compressed = CompressedKeys{qk::CompressorState({ratio, dimensions.headDim}),
                                      Rows(contextTokens / ratio, dimensions.headDim)};
    layer.compressed->rows.reserve(contextTokens);
  }
  if (ratio == 4) {
    layer.indexed = IndexedKeys{qk::CompressorState({ratio, dimensions.indexerDim}),
                                qk::IndexerKeys(dimensions.indexerDim, dimensions.indexerRoundTrip)};
    layer.indexed->rows.reserve(contextTokens);
  }
  return layer;
}

}  // namespace

State::State(const qk::Dimensions& dimensions, std::int64_t contextTokens) : capacity_(contextTokens) {
  layers_.reserve(dimensions.ratios.size());
  for (const std::int32_t ratio : dimensions.ratios)
    layers_.push_back(makeLayer(dimensions, ratio, contextTokens));
}

void State::reserve(std::int64_t count) {
  if (count > capacity_ - length()) throw std::length_error("a sequence grew beyond the context");
  highest_ = std::max(highest_, length() + count);
  mostRows_ = std::max(mostRows_, std::min(length(), kMoreRows) + count);
}

void State::append(const std::int32_t* tokens, std::int64_t count) {
  tokens_.insert(tokens_.end(), tokens, tokens + count);
  const auto bound = [](qk::CompressorState& rows) {
    if (rows.position() - rows.firstRow() > kMoreRows) rows.drop(kFewerRows);
  };
  for (LayerState& layer : layers_) {
    if (layer.compressed) bound(layer.compressed->rows);
    if (layer.indexed) bound(layer.indexed->rows);
  }
}

std::int64_t State::reachable(std::int64_t length) const {
  std::int64_t all = length;
  for (const LayerState& layer : layers_) {
    if (layer.compressed) all = std::min(all, layer.compressed->rows.reachable(length));
    if (layer.indexed) all = std::min(all, layer.indexed->rows.reachable(length));
  }
  return all;
}

void State::truncate(std::int64_t length) {
  if (length < this->length()) tokens_.resize(static_cast<std::size_t>(length));
  for (LayerState& layer : layers_) {
    if (layer.compressed) layer.compressed->rows.truncate(length);
    if (layer.indexed) {
      layer.indexed->rows.truncate(length);
      layer.indexed->entries.truncate(layer.indexed->rows.entries());
    }
  }
}

void State::copyPrefix(const State& other, std::int64_t length) {
  tokens_.assign(other.tokens_.begin(), other.tokens_.begin() + length);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    LayerState& to = layers_[i];
    const LayerState& from = other.layers_[i];
    to.keys.copyFrom(from.keys, length);
    if (from.compressed) {
      to.compressed->rows.copyPrefix(from.compressed->rows, length);
      to.compressed->entries.copyFrom(from.compressed->entries,
                                      length / from.compressed->rows.shape().ratio);
    }
    if (from.indexed) {
      to.indexed->rows.copyPrefix(from.indexed->rows, length);
      to.indexed->entries = from.indexed->entries;
    }
  }
  highest_ = std::max(highest_, length);
  mostRows_ = std::max(mostRows_, std::min(length, other.mostRows_));
  truncate(length);
}

std::int64_t State::bytesOf(std::int64_t tokens) const { return bytesOf(tokens, std::min(tokens, kUsualRows)); }

std::int64_t State::bytesOf(std::int64_t tokens, std::int64_t rows) const {
  std::int64_t total = 0;
  for (const LayerState& layer : layers_) {
    total += tokens * layer.keys.width() * kFloat;
    if (layer.compressed) {
      const CompressedKeys& compressed = *layer.compressed;
      total += rowBytes(compressed.rows, rows) +
               tokens / compressed.rows.shape().ratio * compressed.entries.width() * kFloat;
    }
    if (layer.indexed) {
      const qk::IndexerKeys& entries = layer.indexed->entries;
      const std::int64_t codeBytes =
          entries.rounded() ? entries.dim() + entries.dim() / 32 * kFloat : entries.dim() * kFloat;
      total += rowBytes(layer.indexed->rows, rows) + tokens / layer.indexed->rows.shape().ratio * codeBytes;
    }
  }
  return total;
}

}  // namespace qe
