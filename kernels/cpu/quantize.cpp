// Owns the encoders of weights. Plain and exact rather than fast: the model generator writes codes itself, so this runs
// on tests and on small tensors only.
#include "qk/quantize.h"

#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "qk/half.h"

namespace qk {
namespace {

constexpr int kScaleGroup = 16;

struct Coded {
  std::uint8_t code;
  float level;
};

// Nearest of {-1, 0, 1, 2}; at a tie the lower code, which is the first one found.
Coded nearestFp2(float scaled) {
  Coded best = {0, -1};
  float bestDistance = std::fabs(scaled + 1);
  for (std::uint8_t code = 1; code < 4; ++code) {
    const float level = static_cast<float>(code) - 1;
    const float distance = std::fabs(scaled - level);
    if (distance < bestDistance) {
      best = {code, level};
      bestDistance = distance;
    }
  }
  return best;
}

// Nearest of +-{0, 1, 2, 4}; at a tie the lower magnitude. Zero has no sign.
Coded nearestFp3(float scaled) {
  constexpr std::array<float, 4> kMagnitudes = {0, 1, 2, 4};
  const float size = std::fabs(scaled);
  const std::size_t index = size <= 0.5f ? 0 : size <= 1.5f ? 1 : size <= 3.0f ? 2 : 3;
  const bool negative = scaled < 0 && index != 0;
  const auto code = static_cast<std::uint8_t>(index | (negative ? 4u : 0u));
  return {code, negative ? -kMagnitudes[index] : kMagnitudes[index]};
}

using Nearest = Coded (*)(float);

struct ScaledGroup {
  std::uint8_t scaleByte = 0;
  std::array<std::uint8_t, kScaleGroup> codes{};
};

// Tries every scale byte. The error is summed in float in index order: another order would choose another byte.
ScaledGroup searchScale(const float* values, Nearest nearest) {
  std::array<float, kScaleGroup> x{};
  bool allZero = true;
  for (int i = 0; i < kScaleGroup; ++i) {
    x[static_cast<std::size_t>(i)] = std::isfinite(values[i]) ? values[i] : 0.0f;
    allZero = allZero && x[static_cast<std::size_t>(i)] == 0.0f;
  }
  ScaledGroup best;
  float bestError = 0;
  const int last = allZero ? 0 : 126;
  for (int byte = allZero ? 0 : 1; byte <= last; ++byte) {
    const float scale = scaleByteToFloat(static_cast<std::uint8_t>(byte));
    const float inverse = scale == 0.0f ? 0.0f : 1.0f / scale;
    ScaledGroup candidate;
    candidate.scaleByte = static_cast<std::uint8_t>(byte);
    float error = 0;
    for (std::size_t i = 0; i < kScaleGroup; ++i) {
      const Coded coded = nearest(x[i] * inverse);
      const float difference = x[i] - coded.level * scale;
      error += difference * difference;
      candidate.codes[i] = coded.code;
    }
    if (byte <= 1 || error < bestError) {
      best = candidate;
      bestError = error;
    }
  }
  return best;
}

void encodeScaled(const float* values, int bitsPerCode, Nearest nearest, std::byte* block) {
  const int codeBytes = 32 * bitsPerCode / 8;
  std::memset(block, 0, static_cast<std::size_t>(codeBytes));
  for (int group = 0; group < 2; ++group) {
    const ScaledGroup found = searchScale(values + group * kScaleGroup, nearest);
    block[codeBytes + group] = static_cast<std::byte>(found.scaleByte);
    for (int i = 0; i < kScaleGroup; ++i) {
      const int bit = (group * kScaleGroup + i) * bitsPerCode;
      const unsigned shifted = unsigned{found.codes[static_cast<std::size_t>(i)]} << (bit % 8);
      block[bit / 8] |= static_cast<std::byte>(shifted & 0xffu);
      if (shifted > 0xffu) block[bit / 8 + 1] |= static_cast<std::byte>(shifted >> 8);
    }
  }
}

void encodeQ8_0(const float* values, std::byte* block) {
  float largest = 0;
  for (int i = 0; i < 32; ++i) largest = std::fmax(largest, std::fabs(values[i]));
  const float scale = largest / 127.0f;
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  const std::uint16_t half = floatToHalf(scale);
  std::memcpy(block, &half, sizeof half);
  for (int i = 0; i < 32; ++i) {
    block[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(std::round(values[i] * inverse)));
  }
}

void encodeQ4_0(const float* values, std::byte* block) {
  float largest = 0;  // with its sign: it is given the code 0, that is -8
  for (int i = 0; i < 32; ++i) {
    if (std::fabs(values[i]) > std::fabs(largest)) largest = values[i];
  }
  const float scale = largest / -8.0f;
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  const std::uint16_t half = floatToHalf(scale);
  std::memcpy(block, &half, sizeof half);
  const auto nibble = [&](int i) {
    return std::min(15, static_cast<int>(values[i] * inverse + 8.5f));
  };
  for (int j = 0; j < 16; ++j) block[2 + j] = static_cast<std::byte>(nibble(j) | (nibble(j + 16) << 4));
}

void store16(std::uint16_t value, std::byte* at) { std::memcpy(at, &value, sizeof value); }

}  // namespace

void quantize(Type type, const float* values, std::int64_t n, std::byte* blocks) {
  const Format& shape = format(type);
  if (n % shape.weights != 0) {
    throw std::invalid_argument("cannot encode " + std::to_string(n) + " values as " + std::string(shape.name) +
                                ": its block holds " + std::to_string(shape.weights));
  }
  for (std::int64_t b = 0; b < n / shape.weights; ++b, blocks += shape.bytes, values += shape.weights) {
    switch (type) {
      case Type::F32: std::memcpy(blocks, values, sizeof(float)); break;
      case Type::F16: store16(floatToHalf(*values), blocks); break;
      case Type::BF16: store16(floatToBfloat(*values), blocks); break;
      case Type::Q4_0: encodeQ4_0(values, blocks); break;
      case Type::Q8_0: encodeQ8_0(values, blocks); break;
      case Type::ROCmFP2: encodeScaled(values, 2, nearestFp2, blocks); break;
      case Type::ROCmFP3: encodeScaled(values, 3, nearestFp3, blocks); break;
      case Type::I32: throw std::invalid_argument("i32 holds indices, not weights");
      case Type::Q2_K:
      case Type::MXFP4:
      case Type::ROCmFP4:
      case Type::ROCmFP4_FAST: throw std::invalid_argument("no encoder yet");
    }
  }
}

}  // namespace qk
