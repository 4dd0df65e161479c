// Owns the rounding of fp32 activations to int8 blocks, and the sum of rows. Loops are element-wise or
// integer, so that the compiler may make of them what it likes.
#include "cpu/kernels.h"

namespace qk::QK_ISA {
namespace {

constexpr std::uint32_t infinityBits = 0x7f800000;
constexpr float smallestNormal = 0x1p-126f;
// Adding and subtracting this rounds to the nearest integer, ties to even, for |x| < 2^22.
constexpr float roundingBias = 0x1.8p23f;

float fromBits(std::uint32_t bits) {
  float f;
  __builtin_memcpy(&f, &bits, sizeof f);
  return f;
}

// Bits of the largest magnitude: ordered as the magnitudes are, with infinities and NaN above all.
std::uint32_t largestBits(const float* x, std::int64_t n) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

void quantizeBlock(const float* x, std::int64_t n, ActivationBlock& out) {
  for (std::int8_t& q : out.q) q = 0;
  const std::uint32_t largest = largestBits(x, n);
  out.scale = fromBits(largest) / 127.0f;
  if (largest >= infinityBits) {
    out.scale = __builtin_nanf("");
  } else if (out.scale < smallestNormal) {
    out.scale = 0.0f;
  } else {
    const float inverse = 1.0f / out.scale;
    for (std::int64_t i = 0; i < n; ++i) {
      out.q[i] =
          static_cast<std::int8_t>(static_cast<std::int32_t>((x[i] * inverse + roundingBias) - roundingBias));
    }
  }
  for (int group = 0; group < 8; ++group) {
    std::int32_t sum = 0;
    for (int i = 0; i < 16; ++i) sum += out.q[16 * group + i];
    out.negatedSum16[group] = -sum;
  }
  for (int group = 0; group < 4; ++group) {
    out.negatedSum32[group] = out.negatedSum16[2 * group] + out.negatedSum16[2 * group + 1];
  }
  for (int half = 0; half < 2; ++half) {
    out.negatedSum64[half] = out.negatedSum32[2 * half] + out.negatedSum32[2 * half + 1];
  }
  out.negatedSum128 = out.negatedSum64[0] + out.negatedSum64[1];
}

}  // namespace

void quantizeRow(const float* x, std::int64_t cols, ActivationBlock* out) {
  for (std::int64_t k = 0; k < cols; k += activationBlock) {
    quantizeBlock(x + k, cols - k < activationBlock ? cols - k : activationBlock, *out++);
  }
}

void addRow(const float* x, std::int64_t n, float* sum) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

}  // namespace qk::QK_ISA
