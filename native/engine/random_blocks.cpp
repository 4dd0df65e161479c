#include "random_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "qk/half.h"

namespace qe {
namespace {

// F16 scales of 0.78 to 1.22 times the wanted one, picked by three random bits.
class HalfScales {
 public:
  explicit HalfScales(double scale) {
    for (std::size_t i = 0; i < halves_.size(); ++i) {
      halves_[i] = qk::floatToHalf(static_cast<float>(scale * (0.78125 + static_cast<double>(i) * 0.0625)));
    }
  }
  void put(std::uint64_t bits, std::byte* at) const { std::memcpy(at, &halves_[bits & 7u], sizeof(std::uint16_t)); }

 private:
  std::array<std::uint16_t, 8> halves_{};
};

// Scale bytes of the ROCmFP family: the nearest one, its neighbours a quarter of the time each.
class ByteScales {
 public:
  explicit ByteScales(double scale) {
    int nearest = 2;
    for (int byte = 2; byte < 126; ++byte) {
      const auto distance = [&](int b) {
        return std::fabs(static_cast<double>(qk::scaleByteToFloat(static_cast<std::uint8_t>(b))) - scale);
      };
      if (distance(byte) < distance(nearest)) nearest = byte;
    }
    for (int i = 0; i < 4; ++i) bytes_[static_cast<std::size_t>(i)] = static_cast<std::byte>(nearest + kOffsets[i]);
  }
  std::byte pick(std::uint64_t bits) const { return bytes_[bits & 3u]; }

 private:
  static constexpr int kOffsets[4] = {-1, 0, 0, 1};
  std::array<std::byte, 4> bytes_{};
};

void putWord(std::uint64_t word, std::byte* at) { std::memcpy(at, &word, sizeof word); }

// Codes -1, 0, 1, 2 with probabilities 3/8, 3/8, 1/8, 1/8: mean 0, deviation 1. The upper bit of a code is set only
// where two random bits are; the bits of the second word that this leaves unused pick the scales.
void fillFp2(const CounterRandom& random, double deviation, std::uint64_t first, std::int64_t count, std::byte* out) {
  const ByteScales scales(deviation);
  constexpr std::uint64_t kLowBits = 0x5555555555555555ULL;
  for (std::int64_t b = 0; b < count; ++b, out += 10) {
    const std::uint64_t index = 2 * (first + static_cast<std::uint64_t>(b));
    const std::uint64_t filter = random.word(index + 1);
    putWord(random.word(index) & (filter | kLowBits), out);
    out[8] = scales.pick((filter & 1u) | ((filter >> 1) & 2u));
    out[9] = scales.pick(((filter >> 4) & 1u) | ((filter >> 5) & 2u));
  }
}

// Uniform codes: +-{0, 1, 2, 4}, deviation sqrt(5.25).
void fillFp3(const CounterRandom& random, double deviation, std::uint64_t first, std::int64_t count, std::byte* out) {
  const ByteScales scales(deviation / 2.29128784747792);
  for (std::int64_t b = 0; b < count; ++b, out += 14) {
    const std::uint64_t index = 2 * (first + static_cast<std::uint64_t>(b));
    const std::uint64_t rest = random.word(index + 1);
    putWord(random.word(index), out);
    std::memcpy(out + 8, &rest, 4);  // the low half: GGUF is little-endian, as is every machine this runs on
    out[12] = scales.pick(rest >> 32);
    out[13] = scales.pick(rest >> 34);
  }
}

// Nibbles 1 + u + v with u, v uniform in 0..7: mean 8 (zero), deviation sqrt(10.5). No carry crosses a nibble.
void fillQ4_0(const CounterRandom& random, double deviation, std::uint64_t first, std::int64_t count, std::byte* out) {
  const HalfScales scales(deviation / 3.24037034920393);
  constexpr std::uint64_t kSevens = 0x7777777777777777ULL;
  constexpr std::uint64_t kOnes = 0x1111111111111111ULL;
  for (std::int64_t b = 0; b < count; ++b, out += 18) {
    const std::uint64_t index = 5 * (first + static_cast<std::uint64_t>(b));
    scales.put(random.word(index), out);
    for (std::uint64_t i = 0; i < 2; ++i) {
      putWord((random.word(index + 1 + 2 * i) & kSevens) + (random.word(index + 2 + 2 * i) & kSevens) + kOnes,
              out + 2 + 8 * i);
    }
  }
}

// Bytes u + v - 127 with u, v uniform in 0..127: mean 0, deviation sqrt(2730.5), and never -128.
void fillQ8_0(const CounterRandom& random, double deviation, std::uint64_t first, std::int64_t count, std::byte* out) {
  const HalfScales scales(deviation / 52.2541863971174);
  constexpr std::uint64_t kSevenBits = 0x7f7f7f7f7f7f7f7fULL;
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kSigns = 0x8080808080808080ULL;
  for (std::int64_t b = 0; b < count; ++b, out += 34) {
    const std::uint64_t index = 9 * (first + static_cast<std::uint64_t>(b));
    scales.put(random.word(index), out);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::uint64_t sums =
          (random.word(index + 1 + 2 * i) & kSevenBits) + (random.word(index + 2 + 2 * i) & kSevenBits) + kOnes;
      putWord(sums ^ kSigns, out + 2 + 8 * i);  // the sum is 1..255; flipping the top bit subtracts 128
    }
  }
}

}  // namespace

void randomBlocks(const CounterRandom& random, qk::Type type, double deviation, std::int64_t first, std::int64_t count,
                  std::byte* out) {
  const auto start = static_cast<std::uint64_t>(first);
  const auto put16 = [&](std::uint16_t (*round)(float)) {
    for (std::int64_t i = 0; i < count; ++i, out += 2) {
      const auto value = static_cast<float>(deviation * random.normal(start + static_cast<std::uint64_t>(i)));
      const std::uint16_t bits = round(value);
      std::memcpy(out, &bits, sizeof bits);
    }
  };
  switch (type) {
    case qk::Type::ROCmFP2: return fillFp2(random, deviation, start, count, out);
    case qk::Type::ROCmFP3: return fillFp3(random, deviation, start, count, out);
    case qk::Type::Q4_0: return fillQ4_0(random, deviation, start, count, out);
    case qk::Type::Q8_0: return fillQ8_0(random, deviation, start, count, out);
    case qk::Type::F16: return put16(qk::floatToHalf);
    case qk::Type::BF16: return put16(qk::floatToBfloat);
    case qk::Type::F32:
      for (std::int64_t i = 0; i < count; ++i, out += 4) {
        const auto value = static_cast<float>(deviation * random.normal(start + static_cast<std::uint64_t>(i)));
        std::memcpy(out, &value, sizeof value);
      }
      return;
    case qk::Type::Q2_K:
    case qk::Type::MXFP4:
    case qk::Type::ROCmFP4:
    case qk::Type::ROCmFP4_FAST:
    case qk::Type::I32: break;
  }
  throw std::invalid_argument("random weights cannot be stored as i32");
}

}  // namespace qe
