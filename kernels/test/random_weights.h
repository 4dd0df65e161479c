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

inline constexpr Type int8Types[] = {Type::ROCmFP2, Type::ROCmFP3, Type::ROCmFP4, Type::ROCmFP4_FAST,
                                     Type::MXFP4,   Type::Q2_K,    Type::Q4_0,    Type::Q8_0};
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

// How far the scale bytes of ROCmFP and MXFP4 groups lie apart inside of one row block. Kernels may treat blocks whose
// scales are near each other in another way than those whose scales are not; both must give the same bits.
enum class ScaleSpread {
  mixed,   // two octaves, and one group in 16 any byte at all: zero, subnormal or far away
  narrow,  // one octave
  wide,    // every byte that is a scale, and those that decode to zero
};

// Any bytes as codes; scales of about 1/8 for integer formats, of either sign and with a few subnormals.
struct Weights {
  std::vector<std::byte> bytes;
  Matrix matrix;
};

// Scale byte of a ROCmFP group. 0x7f and above decode to zero; 0..7 are subnormal.
inline std::byte randomScaleByte(Random& random, ScaleSpread spread) {
  const bool any = spread == ScaleSpread::wide || (spread == ScaleSpread::mixed && random() % 16 == 0);
  return static_cast<std::byte>(any ? random() % 0x88 : 0x20 + random() % (spread == ScaleSpread::narrow ? 8 : 16));
}

// E8M0 byte of an MXFP4 block: 2^-3 and smaller. Far bytes stay below 2^48, so that no sum of products overflows.
inline std::byte randomE8M0(Random& random, ScaleSpread spread) {
  const bool any = spread == ScaleSpread::wide || (spread == ScaleSpread::mixed && random() % 16 == 0);
  return static_cast<std::byte>(any ? random() % 176 : 125 - random() % (spread == ScaleSpread::narrow ? 2 : 4));
}

inline Weights randomWeights(Random& random, Type type, std::int64_t rows, std::int64_t cols,
                             ScaleSpread spread = ScaleSpread::mixed) {
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
      case Type::ROCmFP4:
        block[f.bytes - 2] = randomScaleByte(random, spread);
        block[f.bytes - 1] = randomScaleByte(random, spread);
        break;
      case Type::ROCmFP4_FAST:
        block[16] = randomScaleByte(random, spread);
        break;
      case Type::MXFP4:
        block[0] = randomE8M0(random, spread);
        break;
      case Type::Q2_K: {
        const auto minimum = static_cast<std::uint16_t>(halfBits(0.02f + 0.05f * std::fabs(normal(random))) |
                                                        (random() % 2 != 0 ? 0x8000 : 0));
        std::memcpy(block + 80, &half, 2);
        std::memcpy(block + 82, &minimum, 2);
        break;
      }
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
