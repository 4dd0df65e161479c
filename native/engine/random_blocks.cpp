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

// Uniform nibbles: both signs of eight magnitudes. Words 0 and 1 of each three are the codes, word 2 picks the scales.
void putNibbleCodes(const CounterRandom& random, std::uint64_t index, std::byte* out) {
  putWord(random.word(index), out);
  putWord(random.word(index + 1), out + 8);
}

// +-{0, 1, 2, 3, 4, 6, 8, 10}: deviation sqrt(28.75). A scale byte for each half, or one for all.
void fillFp4(const CounterRandom& random, double deviation, std::uint64_t first, std::int64_t count, std::byte* out,
             int scalesEach) {
  const ByteScales scales(deviation / 5.36190264738180);
  for (std::int64_t b = 0; b < count; ++b, out += 16 + scalesEach) {
    const std::uint64_t index = 3 * (first + static_cast<std::uint64_t>(b));
    putNibbleCodes(random, index, out);
    const std::uint64_t picks = random.word(index + 2);
    for (int i = 0; i < scalesEach; ++i) out[16 + i] = scales.pick(picks >> (2 * i));
  }
}

// +-{0, 1, 2, 3, 4, 6, 8, 12}: deviation sqrt(34.25). A scale is a power of two, so the wanted deviation comes from a
// mixture: an eighth of the blocks take half of `base`, a share p of them twice, the others `base`. Their mean square
// is base^2 (29/32 + 3 p), which reaches every wanted one but for 0.7 % of it.
void fillMxfp4(const CounterRandom& random, double deviation, std::uint64_t first, std::int64_t count, std::byte* out) {
  const double wanted = deviation / 5.85234995535981;
  int exponent = std::ilogb(wanted);
  double square = std::ldexp(wanted, -exponent) * std::ldexp(wanted, -exponent);  // 1 to 4
  if (square >= 29.0 / 8) {
    ++exponent;
    square /= 4;
  }
  const double share = std::clamp((square - 29.0 / 32) / 3, 0.0, 7.0 / 8);
  const auto doubled = static_cast<std::uint64_t>(std::llround(share * 4096));
  for (std::int64_t b = 0; b < count; ++b, out += 17) {
    const std::uint64_t index = 3 * (first + static_cast<std::uint64_t>(b));
    const std::uint64_t pick = random.word(index + 2) & 4095u;
    const int step = pick < doubled ? 1 : pick >= 3584 ? -1 : 0;
    out[0] = static_cast<std::byte>(std::clamp(exponent + 128 + step, 2, 254));
    putNibbleCodes(random, index, out + 1);
  }
}

// weight = d (s q - 1.5 m): q uniform in 0..3, scale s uniform in 9..12, minimum m = s or a neighbour of it. Mean 0,
// deviation d sqrt(1.25 * 111.5 + 2.25 * 0.5).
void fillQ2_K(const CounterRandom& random, double deviation, std::uint64_t first, std::int64_t count, std::byte* out) {
  const HalfScales scales(deviation / 11.8532695911297);
  constexpr std::uint64_t kOffsets[4] = {8, 9, 9, 10};
  for (std::int64_t b = 0; b < count; ++b, out += 84) {
    const std::uint64_t index = 10 * (first + static_cast<std::uint64_t>(b));
    std::uint64_t picks = random.word(index);
    for (int g = 0; g < 16; ++g, picks >>= 4) {
      const std::uint64_t scale = picks & 3u;
      out[g] = static_cast<std::byte>((scale + 9) | (scale + kOffsets[(picks >> 2) & 3u]) << 4);
    }
    for (std::uint64_t i = 0; i < 8; ++i) putWord(random.word(index + 1 + i), out + 16 + 8 * i);
    scales.put(random.word(index + 9), out + 80);
    std::uint16_t half = 0;
    std::memcpy(&half, out + 80, sizeof half);
    half = qk::floatToHalf(1.5f * qk::halfToFloat(half));
    std::memcpy(out + 82, &half, sizeof half);
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
    case qk::Type::ROCmFP4: return fillFp4(random, deviation, start, count, out, 2);
    case qk::Type::ROCmFP4_FAST: return fillFp4(random, deviation, start, count, out, 1);
    case qk::Type::MXFP4: return fillMxfp4(random, deviation, start, count, out);
    case qk::Type::Q2_K: return fillQ2_K(random, deviation, start, count, out);
    case qk::Type::I32: break;
  }
  throw std::invalid_argument("random weights cannot be stored as i32");
}

}  // namespace qe
