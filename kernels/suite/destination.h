// Owns a poisoned destination: every element is a NaN of a payload that no computation makes, and so is a guard on
// either side, so that an element that was not written and a write outside both show.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace suite {

inline constexpr std::uint32_t poisonBits = 0x7fcadbadu;

class Destination {
 public:
  explicit Destination(std::int64_t n)
      : values_(static_cast<std::size_t>(n + 2 * guard), std::bit_cast<float>(poisonBits)) {}

  float* data() { return values_.data() + guard; }
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()) - 2 * guard; }
  std::span<const float> values() const {
    return std::span(values_).subspan(guard, values_.size() - 2 * guard);
  }
  // Poisons the elements from `first` on again.
  void poisonFrom(std::int64_t first) {
    for (std::int64_t i = first; i < size(); ++i) data()[i] = std::bit_cast<float>(poisonBits);
  }
  bool guardsIntact() const {
    for (std::int64_t i = 0; i < guard; ++i) {
      if (std::bit_cast<std::uint32_t>(values_[static_cast<std::size_t>(i)]) != poisonBits ||
          std::bit_cast<std::uint32_t>(values_[values_.size() - 1 - static_cast<std::size_t>(i)]) != poisonBits)
        return false;
    }
    return true;
  }

 private:
  static constexpr std::int64_t guard = 64;
  std::vector<float> values_;
};

}  // namespace suite
