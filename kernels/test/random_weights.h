// Random weights in every storage format, and helpers that the kernel tests share. Seeds are printed by
// doctest's INFO on failure.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "qk/execution.h"
#include "qk/matrix.h"

namespace qk::test {

inline constexpr Type int8Types[] = {Type::ROCmFP2, Type::ROCmFP3, Type::Q4_0, Type::Q8_0};
inline constexpr Type floatTypes[] = {Type::F32, Type::F16, Type::BF16};

inline std::vector<Isa> supportedIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (supported(isa)) isas.push_back(isa);
  }
  return isas;
}

using Random = std::mt19937_64;

inline std::vector<float> randomFloats(Random& random, std::size_t n, float deviation = 1.0f) {
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  return x;
}

inline std::uint16_t halfBits(float positiveNormal) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(positiveNormal);
  return static_cast<std::uint16_t>(((bits >> 23) - 112) << 10 | (bits >> 13 & 1023));
}

// Any bytes as codes; scales of about 1/8 for integer formats, of either sign and with a few subnormals.
struct Weights {
  std::vector<std::byte> bytes;
  Matrix matrix;
};

inline Weights randomWeights(Random& random, Type type, std::int64_t rows, std::int64_t cols) {
  Weights w;
  w.matrix = {type, rows, cols, nullptr};
  w.bytes.resize(static_cast<std::size_t>(rows * w.matrix.rowBytes()));
  for (std::size_t at = 0; at < w.bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(w.bytes.data() + at, &word, std::min(sizeof word, w.bytes.size() - at));
  }
  const Format& f = format(type);
  std::normal_distribution<float> normal(0.0f, 0.2f);
  for (std::size_t at = 0; at < w.bytes.size(); at += static_cast<std::size_t>(f.bytes)) {
    std::byte* block = w.bytes.data() + at;
    const auto half = static_cast<std::uint16_t>(halfBits(0.05f + 0.1f * std::fabs(normal(random))) |
                                                 (random() % 2 != 0 ? 0x8000 : 0));
    switch (type) {
      case Type::ROCmFP2:
      case Type::ROCmFP3:
        for (int i = 1; i <= 2; ++i) {
          // 0x7f and above decode to zero; 0..7 are subnormal.
          block[f.bytes - i] =
              static_cast<std::byte>(random() % 16 == 0 ? random() % 256 : 0x20 + random() % 16);
        }
        break;
      case Type::Q4_0:
      case Type::Q8_0:
        std::memcpy(block, &half, 2);
        break;
      case Type::F16:
        std::memcpy(block, &half, 2);
        break;
      case Type::BF16: {
        const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random)) >> 16);
        std::memcpy(block, &bits, 2);
        break;
      }
      case Type::F32: {
        const float value = normal(random);
        std::memcpy(block, &value, 4);
        break;
      }
      case Type::Q2_K:
      case Type::MXFP4:
      case Type::ROCmFP4:
      case Type::ROCmFP4_FAST:
      case Type::I32:
        throw std::invalid_argument("no random weights of this type");
    }
  }
  w.matrix.data = w.bytes.data();
  return w;
}

inline bool sameBits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

// Index of the first element that differs in its bits, -1 when none does.
inline std::int64_t firstDifference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!sameBits(a[i], b[i])) return static_cast<std::int64_t>(i);
  }
  return -1;
}

// mse(a, b) / mse(b, 0)
inline double normalisedError(const std::vector<float>& a, const std::vector<double>& b) {
  double error = 0;
  double power = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    error += d * d;
    power += b[i] * b[i];
  }
  return error / power;
}

}  // namespace qk::test
