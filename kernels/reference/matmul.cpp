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

int level(Type type, const std::byte* p, unsigned i) {
  const unsigned nibbleAt = i / 16 * 4;  // in byte i % 16
  switch (type) {
    case Type::ROCmFP2: return static_cast<int>(bits(p, 2 * i, 2)) - 1;
    case Type::ROCmFP3: {
      static constexpr int levels[8] = {0, 1, 2, 4, 0, -1, -2, -4};
      return levels[bits(p, 3 * i, 3)];
    }
    case Type::ROCmFP4:
    case Type::ROCmFP4_FAST:
    case Type::MXFP4: {
      static constexpr int magnitudes[8] = {0, 1, 2, 3, 4, 6, 8, 10};
      const unsigned code = bits(p + (type == Type::MXFP4 ? 1 : 0) + i % 16, nibbleAt, 4);
      const int magnitude = type == Type::MXFP4 && code % 8 == 7 ? 12 : magnitudes[code % 8];
      return code < 8 ? magnitude : -magnitude;
    }
    case Type::Q4_0: return static_cast<int>(bits(p + 2 + i % 16, nibbleAt, 4)) - 8;
    case Type::Q8_0: return static_cast<std::int8_t>(p[2 + i]);
    default: throw std::invalid_argument("not a type with integer levels");
  }
}

Block decode(Type type, const std::byte* p) {
  Block block{};
  for (unsigned i = 0; i < 32; ++i) block.level[i] = level(type, p, i);
  block.group = 32;
  switch (type) {
    case Type::ROCmFP2:
    case Type::ROCmFP3:
    case Type::ROCmFP4: {
      const std::byte* scales = p + format(type).bytes - 2;
      block.group = 16;
      block.scale[0] = unsignedE4M3(scales[0]);
      block.scale[1] = unsignedE4M3(scales[1]);
      break;
    }
    case Type::ROCmFP4_FAST: block.scale[0] = unsignedE4M3(p[16]); break;
    case Type::MXFP4: block.scale[0] = std::ldexp(1.0f, std::to_integer<int>(p[0]) - 128); break;
    default: block.scale[0] = half(p); break;
  }
  return block;
}

// The part of a Q2_K superblock (84 bytes at p) that meets the activation block at value `first` of it, 0 or 128:
// weight = d * scale * code - dmin * minimum, with scale and minimum of 16 weights in one byte.
float dotQ2_K(const std::byte* p, std::int64_t first, const ActivationBlock& token) {
  std::int32_t scaled = 0;   // sum of scale * code * x
  std::int32_t minimum = 0;  // sum of minimum * -x
  for (std::int64_t i = first; i < first + 128; ++i) {
    const int group = std::to_integer<int>(p[i / 16]);
    const int code = static_cast<int>(bits(p + 16 + first / 4 + i % 32, static_cast<unsigned>((i - first) / 32 * 2), 2));
    scaled += (group & 15) * code * token.q[i - first];
    minimum -= (group >> 4) * token.q[i - first];
  }
  return std::fma(static_cast<float>(scaled), half(p + 80), static_cast<float>(minimum) * half(p + 82));
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
    if (w.type == Type::Q2_K) blockAcc = dotQ2_K(p + first / 256 * blockBytes, first % 256, token);
    for (std::int64_t k = 0; w.type != Type::Q2_K && k < n; k += 32, p += blockBytes) {
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
