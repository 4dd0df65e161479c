// Owns the angles of rotary position embedding; the rotation itself is in cpu/simd/rope.cpp.
#include "qk/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cpu/simd/variants.h"

namespace qk {

std::vector<double> ropeFrequencies(const Dimensions& dimensions, std::int32_t ratio) {
  const double dims = static_cast<double>(dimensions.ropeDims);
  const double base = ratio == 0 ? dimensions.ropeBase : dimensions.compressRopeBase;
  std::vector<double> frequencies(static_cast<std::size_t>(dimensions.ropeDims / 2));
  for (std::size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] = std::pow(base, -2.0 * static_cast<double>(i) / dims);
  if (ratio == 0 || dimensions.yarnOriginalContext <= 0) return frequencies;
  // The pair that turns `beta` times within the original context, as a real number.
  const auto pairOf = [&](double beta) {
    return dims * std::log(dimensions.yarnOriginalContext / (beta * 2 * std::numbers::pi)) /
           (2 * std::log(base));
  };
  const double low = std::max(std::floor(pairOf(dimensions.yarnBetaFast)), 0.0);
  const double high = std::min(std::ceil(pairOf(dimensions.yarnBetaSlow)), dims - 1);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = (static_cast<double>(i) - low) / std::max(high - low, 0.001);
    const double keep = 1 - std::clamp(ramp, 0.0, 1.0);
    frequencies[i] = frequencies[i] / dimensions.yarnFactor * (1 - keep) + frequencies[i] * keep;
  }
  return frequencies;
}

void RopeTable::extend(std::int64_t positions) {
  if (positions <= positions_) return;
  const std::size_t pairs = frequencies_.size();
  values_.resize(static_cast<std::size_t>(positions) * 4 * pairs);
  for (std::int64_t position = positions_; position < positions; ++position) {
    float* cosines = values_.data() + static_cast<std::size_t>(position) * 4 * pairs;
    float* sines = cosines + 2 * pairs;
    for (std::size_t i = 0; i < pairs; ++i) {
      const double angle = static_cast<double>(position) * frequencies_[i];
      cosines[2 * i] = cosines[2 * i + 1] = static_cast<float>(std::cos(angle));
      sines[2 * i + 1] = static_cast<float>(std::sin(angle));
      sines[2 * i] = -sines[2 * i + 1];
    }
  }
  positions_ = positions;
}

}  // namespace qk

namespace qk::cpu {

void rope(Isa isa, float* x, std::int64_t rows, std::int64_t n, std::int64_t ropeDims, const float* tableRow,
          Rotation rotation) {
  QK_PICK(isa, rope)(x, rows, n, ropeDims, tableRow, rotation == Rotation::inverse ? -1.0f : 1.0f);
}

}  // namespace qk::cpu
