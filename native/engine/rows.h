// Owns a table of float rows that never move. Large tables cost memory only where rows were written.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

namespace qe {

class Rows {
 public:
  Rows() = default;
  // Left uninitialised on purpose: the allocator maps large blocks lazily.
  Rows(std::int64_t capacity, std::int64_t width)
      : width_(width),
        values_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(capacity * width))) {}

  float* row(std::int64_t index) { return values_.get() + index * width_; }
  const float* row(std::int64_t index) const { return values_.get() + index * width_; }
  std::int64_t width() const { return width_; }

  // Copies the first `count` rows of a table of the same width.
  void copyFrom(const Rows& other, std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count * width_) * sizeof(float);
    if (bytes > 0) std::memcpy(values_.get(), other.values_.get(), bytes);
  }

 private:
  std::int64_t width_ = 0;
  std::unique_ptr<float[]> values_;
};

}  // namespace qe
