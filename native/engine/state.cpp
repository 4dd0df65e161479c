#include "engine/state.h"

#include <cstring>
#include <stdexcept>

namespace qe {
namespace {

constexpr std::int64_t kFloat = static_cast<std::int64_t>(sizeof(float));

}  // namespace

Rows::Rows(std::int64_t capacity, std::int64_t width)
    : capacity_(capacity),
      width_(width),
      // Left uninitialised on purpose: the allocator maps large blocks lazily.
      values_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(capacity * width))) {}

void Rows::copyFrom(const Rows& other, std::int64_t count) {
  if (count == 0) return;
  std::memcpy(values_.get(), other.values_.get(), static_cast<std::size_t>(count * width_ * kFloat));
}

CompressorState::CompressorState(std::int64_t blockTokens, std::int64_t tokens, std::int64_t width)
    : ratio(blockTokens),
      values(tokens, blockTokens == 4 ? 2 * width : width),
      scores(tokens, blockTokens == 4 ? 2 * width : width),
      entries(tokens / blockTokens + 1, width) {}

void CompressorState::copyFrom(const CompressorState& other, std::int64_t tokens) {
  if (ratio == 0) return;
  values.copyFrom(other.values, tokens);
  scores.copyFrom(other.scores, tokens);
  entries.copyFrom(other.entries, entriesAt(tokens));
}

std::int64_t CompressorState::bytesAt(std::int64_t tokens) const {
  return kFloat * (tokens * (values.width() + scores.width()) + entriesAt(tokens) * entries.width());
}

State::State(const qk::Dimensions& dimensions, std::int64_t contextTokens) : capacity_(contextTokens) {
  tokens_.reserve(static_cast<std::size_t>(contextTokens));
  layers_.reserve(dimensions.ratios.size());
  for (const std::int32_t ratio : dimensions.ratios) {
    LayerState layer;
    layer.keys = Rows(contextTokens, dimensions.headDim);
    if (ratio != 0) layer.compressor = CompressorState(ratio, contextTokens, dimensions.headDim);
    if (ratio == 4) layer.indexer = CompressorState(ratio, contextTokens, dimensions.indexerDim);
    layers_.push_back(std::move(layer));
  }
}

void State::append(const std::int32_t* tokens, std::int64_t count) {
  if (length() + count > capacity_) throw std::length_error("a state was filled beyond its capacity");
  tokens_.insert(tokens_.end(), tokens, tokens + count);
}

void State::truncate(std::int64_t length) {
  if (length < this->length()) tokens_.resize(static_cast<std::size_t>(length));
}

void State::copyPrefix(const State& other, std::int64_t length) {
  tokens_.assign(other.tokens_.begin(), other.tokens_.begin() + length);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].keys.copyFrom(other.layers_[i].keys, length);
    layers_[i].compressor.copyFrom(other.layers_[i].compressor, length);
    layers_[i].indexer.copyFrom(other.layers_[i].indexer, length);
  }
}

std::int64_t State::bytes() const {
  std::int64_t total = 0;
  for (const LayerState& layer : layers_) {
    total += kFloat * length() * layer.keys.width();
    total += layer.compressor.bytesAt(length()) + layer.indexer.bytesAt(length());
  }
  return total;
}

}  // namespace qe
