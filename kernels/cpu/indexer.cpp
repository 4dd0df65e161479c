// Owns the packing of indexer keys and queries into small integers and power-of-two scales.
#include "qk/indexer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "cpu/simd/variants.h"
#include "qk/rope.h"
#include "qk/round_trip.h"

namespace qk {

namespace {

constexpr float kSmallest = 6 * 0x1p-126f;
constexpr float kLargest = 3 * 0x1p126f;  // scales must stay finite
constexpr int kOffset = 16;               // makes key codes unsigned

// Twice the value over the block's scale: codes[32] in -12 .. 12; returns half the scale. x is on an E2M1
// grid. The scale is the smallest power of two that is at least the largest magnitude / 6: by the bits, 2^(E-2)
// for a magnitude up to 1.5 2^E, else 2^(E-1).
float packBlock(const float* x, std::int8_t* codes) {
  std::int32_t top = std::bit_cast<std::int32_t>(kSmallest);
  for (int i = 0; i < 32; ++i) top = std::max(top, std::bit_cast<std::int32_t>(x[i]) & 0x7fffffff);
  std::int32_t outside = top > std::bit_cast<std::int32_t>(kLargest) ? 1 : 0;
  const std::int32_t scaleBits = outside != 0 ? 127 : (top >> 23) - 2 + ((top & 0x7fffff) > 0x400000 ? 1 : 0);
  const float inverse = std::bit_cast<float>((2 * 127 + 1 - scaleBits) << 23);
  if (outside == 0) {
    std::int32_t whole[32];
    for (int i = 0; i < 32; ++i) whole[i] = static_cast<std::int32_t>(x[i] * inverse);
    for (int i = 0; i < 32; ++i) outside |= static_cast<float>(whole[i]) != x[i] * inverse ? 1 : 0;
    for (int i = 0; i < 32; ++i) codes[i] = static_cast<std::int8_t>(whole[i]);
  }
  if (outside != 0) throw std::domain_error("a value of the indexer is not on the E2M1 grid of its block");
  return 0.5f * std::bit_cast<float>(scaleBits << 23);
}

}  // namespace

void IndexerKeys::append(const float* x) {
  extend(1);
  try {
    write(size_ - 1, x);
  } catch (...) {
    truncate(size_ - 1);
    throw;
  }
}

void IndexerKeys::extend(std::int64_t entries) { resize(size_ + entries); }

void IndexerKeys::write(std::int64_t entry, const float* x) {
  const std::int64_t group = entry / 16;
  const std::int64_t lane = entry % 16;
  if (!rounded_) {
    for (std::int64_t i = 0; i < dim_; ++i)
      values_[static_cast<std::size_t>((group * dim_ + i) * 16 + lane)] = x[i];
    return;
  }
  for (std::int64_t block = 0; block < dim_ / 32; ++block) {
    std::int8_t codes[32];
    scales_[static_cast<std::size_t>((group * (dim_ / 32) + block) * 16 + lane)] =
        packBlock(x + block * 32, codes);
    for (std::int64_t i = 0; i < 32; ++i) {
      const std::int64_t quad = group * (dim_ / 4) + block * 8 + i / 4;
      codes_[static_cast<std::size_t>((quad * 16 + lane) * 4 + i % 4)] =
          static_cast<std::uint8_t>(codes[i] + kOffset);
    }
  }
}

void IndexerKeys::resize(std::int64_t entries) {
  size_ = entries;
  const auto groups = static_cast<std::size_t>((entries + 15) / 16);
  if (rounded_) {
    codes_.resize(groups * static_cast<std::size_t>(dim_ * 16));
    scales_.resize(groups * static_cast<std::size_t>(dim_ / 2));
  } else {
    values_.resize(groups * static_cast<std::size_t>(dim_ * 16));
  }
}

void IndexerKeys::truncate(std::int64_t entries) {
  if (entries < 0 || entries > size_) {
    throw std::out_of_range("cannot truncate " + std::to_string(size_) + " indexer keys to " +
                            std::to_string(entries));
  }
  resize(entries);
}

}  // namespace qk

namespace qk::cpu {

void indexerQuery(Isa isa, float* q, const float* w, std::int64_t heads, std::int64_t dim,
                  std::int64_t ropeDims, const float* tableRow, bool rounded, IndexerQuery& out) {
  out.heads = heads;
  out.dim = dim;
  out.rounded = rounded;
  rope(isa, q, heads, dim, ropeDims, tableRow, Rotation::forward);
  for (std::int64_t h = 0; h < heads; ++h) {
    hadamard(isa, q + h * dim, dim);
    if (rounded) roundTripE2m1(isa, q + h * dim, dim);
  }
  const float factor = 1.0f / std::sqrt(static_cast<float>(dim * heads));
  out.weights.resize(static_cast<std::size_t>(heads));
  for (std::int64_t h = 0; h < heads; ++h) out.weights[static_cast<std::size_t>(h)] = w[h] * factor;
  if (!rounded) {
    out.values.resize(static_cast<std::size_t>(heads * dim));
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < dim; ++i) out.values[static_cast<std::size_t>(i * heads + h)] = q[h * dim + i];
    }
    return;
  }
  const auto blocks = static_cast<std::size_t>(heads * dim / 32);
  out.codes.resize(blocks * 32);
  out.scales.resize(blocks);
  out.offsets.resize(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    std::int8_t* codes = out.codes.data() + b * 32;
    out.scales[b] = packBlock(q + b * 32, codes);
    int total = 0;
    for (int i = 0; i < 32; ++i) total += codes[i];
    out.offsets[b] = -kOffset * total;
  }
}

void indexerScores(Isa isa, const IndexerQuery& query, const IndexerKeys& keys, std::int64_t n,
                   float* scores) {
  if (query.rounded != keys.rounded() || query.dim != keys.dim() || n > keys.size()) {
    throw std::invalid_argument("an indexer query of dim " + std::to_string(query.dim) + " on " +
                                std::to_string(keys.size()) + " keys of dim " + std::to_string(keys.dim()) +
                                ": forms differ, or more than these are asked for");
  }
  if (n == 0) return;
  const IndexerOperands operands{
      query.heads,          query.dim,           query.codes.data(),   query.scales.data(),
      query.offsets.data(), query.values.data(), query.weights.data(), keys.codes(0),
      keys.scales(0),       keys.values(0),      query.rounded};
  QK_PICK(isa, indexerScores)(operands, n, scores);
}

}  // namespace qk::cpu
