// Owns the int8 form of activations: quantised once a token, in blocks of 128 along K, and read by every
// matmul of that token.
#pragma once

#include <cstdint>

#include "qk/aligned_buffer.h"
#include "qk/execution.h"

namespace qk {

inline constexpr std::int64_t activationBlock = 128;

// 128 values of one token: x[i] ~ q[i] * scale, |q[i]| <= 127. The sums are stored negated because they start the
// integer accumulators: sum((code - zero) * q) = sum(code * q) + zero * negated sum. They and the scale fill one
// cache line, in an order of which any number of runs of a block reads neighbours.
struct alignas(64) ActivationBlock {
  std::int8_t q[128];
  std::int32_t negatedSum128;
  std::int32_t negatedSum64[2];
  std::int32_t negatedSum32[4];  // of 32 values each
  std::int32_t negatedSum16[8];  // of 16 values each
  float scale;  // amax / 127; 0 for a block without a normal scale; NaN if a value is not finite
};
static_assert(sizeof(ActivationBlock) == 192);

// [rows][cols] in int8, a row padded with zeros to whole blocks.
class Activations {
 public:
  // Grows when needed, never shrinks; contents are lost.
  void resize(std::int64_t rows, std::int64_t cols);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t blocksPerRow() const { return blocks_; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(data_.bytes()); }
  ActivationBlock* row(std::int64_t r) { return data_.as<ActivationBlock>() + r * blocks_; }
  const ActivationBlock* row(std::int64_t r) const { return data_.as<ActivationBlock>() + r * blocks_; }

 private:
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  std::int64_t blocks_ = 0;
  AlignedBuffer data_;
};

// x [rows][cols], row r at x + r * stride floats. q = round-to-nearest-even(x * (1 / scale)). A block whose
// scale would be subnormal is all zero; a block with a NaN or an infinity gets scale NaN, so that it poisons
// what it feeds.
void quantize(Execution& ex, const float* x, std::int64_t rows, std::int64_t cols, std::int64_t stride,
              Activations& out);

}  // namespace qk
