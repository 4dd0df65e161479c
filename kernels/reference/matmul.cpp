// Owns the plain matmul: the formulae of qk/matmul.h and qk/activations.h as loops over the file's blocks.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "qk/reference_matmul.h"

namespace qk::reference {
namespace {

float half(const std::byte* p) {
  float value;
  qk::dequantize(Type::F16, p, 1, &value);
  return value;
}

unsigned bits(const std::byte* p, unsigned at, unsigned count) {
  unsigned value = 0;
  for (unsigned i = 0; i < count; ++i)
    value |= (std::to_integer<unsigned>(p[(at + i) / 8]) >> ((at + i) % 8) & 1U) << i;
  return value;
}

float unsignedE4M3(std::byte b) {
  const int e = std::to_integer<int>(b);
  if (e > 0x7e) return 0.0f;
  return e < 8 ? std::ldexp(static_cast<float>(e), -10)
               : std::ldexp(static_cast<float>(8 + (e & 7)), (e >> 3) - 11);
}

// Integer levels of one block of 32 and its scales: value i = level[i] * scale[i / group].
struct Block {
  int level[32];
  float scale[2];
  int group;  // 16 or 32
};

Block decode(Type type, const std::byte* p) {
  Block block{};
  block.group = type == Type::ROCmFP2 || type == Type::ROCmFP3 ? 16 : 32;
  for (unsigned i = 0; i < 32; ++i) {
    switch (type) {
      case Type::ROCmFP2:
        block.level[i] = static_cast<int>(bits(p, 2 * i, 2)) - 1;
        break;
      case Type::ROCmFP3: {
        static constexpr int levels[8] = {0, 1, 2, 4, 0, -1, -2, -4};
        block.level[i] = levels[bits(p, 3 * i, 3)];
        break;
      }
      case Type::Q4_0:
        block.level[i] = static_cast<int>(bits(p + 2 + i % 16, i / 16 * 4, 4)) - 8;
        break;
      case Type::Q8_0:
        block.level[i] = static_cast<std::int8_t>(p[2 + i]);
        break;
      default:
        throw std::invalid_argument("not a type with integer levels");
    }
  }
  if (block.group == 32) {
    block.scale[0] = half(p);
  } else {
    const std::byte* scales = p + (type == Type::ROCmFP2 ? 8 : 12);
    block.scale[0] = unsignedE4M3(scales[0]);
    block.scale[1] = unsignedE4M3(scales[1]);
  }
  return block;
}

}  // namespace

std::vector<ActivationBlock> quantize(const float* x, std::int64_t cols) {
  std::vector<ActivationBlock> blocks(static_cast<std::size_t>((cols + 127) / 128));
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    ActivationBlock& block = blocks[b];
    std::memset(&block, 0, sizeof block);
    const float* first = x + b * 128;
    const std::int64_t n = std::min<std::int64_t>(128, cols - static_cast<std::int64_t>(b) * 128);
    float largest = 0;
    bool finite = true;
    for (std::int64_t i = 0; i < n; ++i) {
      finite = finite && std::isfinite(first[i]);
      largest = std::max(largest, std::fabs(first[i]));
    }
    if (!finite) {
      block.scale = std::numeric_limits<float>::quiet_NaN();
      continue;
    }
    const float scale = largest / 127.0f;
    if (!std::isnormal(scale)) continue;
    block.scale = scale;
    const float inverse = 1.0f / scale;
    for (std::int64_t i = 0; i < n; ++i) {
      block.q[i] = static_cast<std::int8_t>(std::nearbyint(first[i] * inverse));
      block.negatedSum16[i / 16] -= block.q[i];
      block.negatedSum32[i / 32] -= block.q[i];
    }
  }
  return blocks;
}

std::vector<double> dequantize(const std::vector<ActivationBlock>& blocks, std::int64_t cols) {
  std::vector<double> x(static_cast<std::size_t>(cols));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(blocks[i / 128].q[i % 128]) * static_cast<double>(blocks[i / 128].scale);
  }
  return x;
}

float dotExactOrder(const Matrix& w, std::int64_t row, const std::vector<ActivationBlock>& x) {
  const std::byte* p = w.row(row);
  const std::int64_t blockBytes = format(w.type).bytes;
  float acc = 0;
  for (std::int64_t first = 0; first < w.cols; first += 128) {
    const ActivationBlock& token = x[static_cast<std::size_t>(first / 128)];
    const std::int64_t n = std::min<std::int64_t>(128, w.cols - first);
    float blockAcc = 0;
    for (std::int64_t k = 0; k < n; k += 32, p += blockBytes) {
      const Block weights = decode(w.type, p);
      for (int g = 0; g < 32; g += weights.group) {
        std::int32_t sum = 0;
        for (int i = g; i < g + weights.group; ++i) sum += weights.level[i] * token.q[k + i];
        blockAcc = std::fma(static_cast<float>(sum), weights.scale[g / weights.group], blockAcc);
      }
    }
    acc = std::fma(blockAcc, token.scale, acc);
  }
  return acc;
}

float dotExactOrder(const Matrix& w, std::int64_t row, const float* x) {
  std::vector<float> values(static_cast<std::size_t>(w.cols));
  qk::dequantize(w.type, w.row(row), w.cols, values.data());
  float acc = 0;
  for (std::size_t k = 0; k < values.size(); ++k) acc = std::fma(values[k], x[k], acc);
  return acc;
}

double dot(const Matrix& w, std::int64_t row, const double* x) {
  std::vector<float> values(static_cast<std::size_t>(w.cols));
  qk::dequantize(w.type, w.row(row), w.cols, values.data());
  double acc = 0;
  for (std::size_t k = 0; k < values.size(); ++k) acc += static_cast<double>(values[k]) * x[k];
  return acc;
}

}  // namespace qk::reference
