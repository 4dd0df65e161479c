// Owns the encoders of weights, one block at a time. The bytes of the ROCmFP family are those of the published
// quantiser: an exhaustive search in float, in which candidates are given up early but never judged differently.
//
// Work of a ROCmFP group of 16: up to 126 scales x 16 values would be 2016 roundings. A scale is left after its first
// value when the largest magnitude alone loses too much (too small a scale), or as soon as the sum of squares passes
// the best one (too large a scale), and the search ends where all values round to zero. Bytes do not matter: 4 in and
// less than 1 out for hundreds of cycles. Floor: the chain of additions in index order, 16 x the latency of one for
// each scale tried to the end. Reached (SSE2, Zen 1, 2.0 GHz, normal values, one thread): 7.3, 5.1, 5.8 and 7.0 million
// weights a second of ROCmFP2, 3, 4 and 4_FAST; everything tried to the end 1.5 (ROCmFP2) and 1.7 (ROCmFP3); MXFP4 50,
// Q8_0 127, Q4_0 380.
#include "qk/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "cpu/levels.h"
#include "cpu/quantize_q2_k.h"
#include "qk/half.h"

namespace qk {
namespace {

struct Coded {
  std::uint8_t code;
  float level;
};

// The nearest level of each codebook to a value divided by the scale; `bits` is the width of a code.
struct Fp2 {
  static constexpr int bits = 2;
  // {-1, 0, 1, 2}; at a tie the lower code.
  Coded nearest(float scaled) const {
    const int code = (scaled > -0.5f ? 1 : 0) + (scaled > 0.5f ? 1 : 0) + (scaled > 1.5f ? 1 : 0);
    return {static_cast<std::uint8_t>(code), static_cast<float>(code - 1)};
  }
};

// Signed magnitudes, the sign in the upper bit of the code; at a tie the lower magnitude. Zero has no sign.
template <int kBits, std::size_t kCount>
struct SignedCodebook {
  static constexpr int bits = kBits;
  std::array<float, kCount> magnitudes;
  std::array<float, kCount - 1> limits;  // the largest value that still goes to the magnitude of this index

  Coded nearest(float scaled) const {
    const float size = std::fabs(scaled);
    unsigned index = 0;
    for (const float limit : limits) index += size > limit ? 1u : 0u;
    const bool negative = scaled < 0 && index != 0;
    const float magnitude = magnitudes[index];
    return {static_cast<std::uint8_t>(index | (negative ? kCount : 0u)), negative ? -magnitude : magnitude};
  }
};

constexpr Fp2 kFp2;
constexpr SignedCodebook<3, 4> kFp3 = {magnitudesROCmFP3, {0.5f, 1.5f, 3}};
constexpr SignedCodebook<4, 8> kFp4 = {magnitudesROCmFP4, {0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 9}};
constexpr SignedCodebook<4, 8> kMxfp4 = {magnitudesMXFP4, {0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10}};

// Scales of all bytes and their float reciprocals.
struct Scales {
  std::array<float, 127> scale{};
  std::array<float, 127> inverse{};
};
constexpr Scales makeScales() {
  Scales all;
  for (std::size_t byte = 1; byte <= 126; ++byte) {
    all.scale[byte] = scaleByteToFloat(static_cast<std::uint8_t>(byte));
    all.inverse[byte] = 1.0f / all.scale[byte];
  }
  return all;
}
constexpr Scales kScales = makeScales();

struct Candidate {
  std::uint8_t scaleByte = 0;
  std::array<std::uint8_t, 32> codes{};
  float error = std::numeric_limits<float>::infinity();
};

// A group of values that share a scale byte, made finite, with what the error of each counts.
struct Group {
  int count = 0;
  std::array<float, 32> x{};
  std::array<float, 32> weight{};
  int largest = 0;  // index of the largest magnitude
};

// Sum over i of weight * (x - level * scale)^2 in float in index order: another order would choose another byte. Gives
// up with false as soon as the candidate cannot replace `best`: no term is negative, so no later sum is smaller. The
// largest value is asked first, because most scales fail on it.
template <class Codebook>
bool tryScale(const Codebook& codebook, const Group& group, std::size_t byte, const Candidate& best,
              Candidate& candidate) {
  const float scale = kScales.scale[byte];
  const float inverse = kScales.inverse[byte];
  const auto term = [&](std::size_t i) {
    const Coded coded = codebook.nearest(group.x[i] * inverse);
    const float difference = group.x[i] - coded.level * scale;
    candidate.codes[i] = coded.code;
    return group.weight[i] * (difference * difference);
  };
  candidate.error = 0;
  candidate.scaleByte = static_cast<std::uint8_t>(byte);
  if (term(static_cast<std::size_t>(group.largest)) > best.error) return false;
  for (int i = 0; i < group.count && candidate.error <= best.error; ++i) {
    candidate.error += term(static_cast<std::size_t>(i));
  }
  return candidate.error < best.error || (candidate.error == best.error && candidate.scaleByte < best.scaleByte);
}

// The best of all scale bytes; a group of zeros has byte 0.
template <class Codebook>
Candidate searchScale(const Codebook& codebook, const Group& group) {
  Candidate best;
  const float largest = std::fabs(group.x[static_cast<std::size_t>(group.largest)]);
  if (largest == 0.0f) {
    for (int i = 0; i < group.count; ++i) best.codes[static_cast<std::size_t>(i)] = codebook.nearest(0).code;
    return best;
  }
  // A first guess, only so that the search below can give up early.
  std::size_t guess = 1;
  const float reach = codebook.nearest(std::numeric_limits<float>::max()).level;
  while (guess < 126 && kScales.scale[guess] * reach < largest) ++guess;
  Candidate candidate;
  if (tryScale(codebook, group, guess, best, candidate)) best = candidate;
  for (std::size_t byte = 1; byte <= 126; ++byte) {
    if (tryScale(codebook, group, byte, best, candidate)) best = candidate;
    // From here on every value goes to zero and the error is the same; the lowest of equals wins.
    if (largest * kScales.inverse[byte] < 0.5f) break;
  }
  return best;
}

// What the error of one value counts, out of its importance.
class Weighting {
 public:
  Weighting(const float* values, std::int64_t n, const float* importance) : values_(values), importance_(importance) {
    if (importance == nullptr) return;
    float sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::isfinite(values[i]) ? values[i] * values[i] : 0.0f;
    meanSquare_ = std::fmin(sum, std::numeric_limits<float>::max()) / static_cast<float>(n);
  }

  float of(std::int64_t i) const {
    if (importance_ == nullptr) return 1;
    const float square = std::fmin(meanSquare_ + values_[i] * values_[i], std::numeric_limits<float>::max());
    const float weight = importance_[i] * std::sqrt(square);
    return std::isfinite(weight) && weight > 0 ? weight : 0.0f;
  }

 private:
  const float* values_;
  const float* importance_;
  float meanSquare_ = 0;
};

Group makeGroup(const float* values, int count, const Weighting& weighting, std::int64_t first) {
  Group group;
  group.count = count;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const float value = values[first + i];
    group.x[at] = std::isfinite(value) ? value : 0.0f;
    group.weight[at] = weighting.of(first + i);
    if (std::fabs(group.x[at]) > std::fabs(group.x[static_cast<std::size_t>(group.largest)])) group.largest = i;
  }
  const auto zero = [](float weight) { return weight == 0; };
  if (std::all_of(group.weight.begin(), group.weight.begin() + count, zero)) group.weight.fill(1);
  return group;
}

// Codes as one little-endian stream of bits, then a scale byte for each half.
template <class Codebook>
void encodeStream(const Codebook& codebook, const float* values, const Weighting& weighting, std::int64_t first,
                  std::byte* block) {
  constexpr int kCodeBytes = 32 * Codebook::bits / 8;
  std::memset(block, 0, kCodeBytes);
  for (int half = 0; half < 2; ++half) {
    const Candidate found = searchScale(codebook, makeGroup(values, 16, weighting, first + 16 * half));
    block[kCodeBytes + half] = static_cast<std::byte>(found.scaleByte);
    for (int i = 0; i < 16; ++i) {
      const int bit = (half * 16 + i) * Codebook::bits;
      const unsigned shifted = unsigned{found.codes[static_cast<std::size_t>(i)]} << (bit % 8);
      block[bit / 8] |= static_cast<std::byte>(shifted & 0xffu);
      if (shifted > 0xffu) block[bit / 8 + 1] |= static_cast<std::byte>(shifted >> 8);
    }
  }
}

// Low nibble of byte j is weight j, high nibble weight j + 16.
void putNibbles(const std::uint8_t* low, const std::uint8_t* high, std::byte* out) {
  for (int j = 0; j < 16; ++j) out[j] = static_cast<std::byte>(low[j] | high[j] << 4);
}

void encodeFp4(const float* values, const Weighting& weighting, std::int64_t first, std::byte* block) {
  const Candidate low = searchScale(kFp4, makeGroup(values, 16, weighting, first));
  const Candidate high = searchScale(kFp4, makeGroup(values, 16, weighting, first + 16));
  putNibbles(low.codes.data(), high.codes.data(), block);
  block[16] = static_cast<std::byte>(low.scaleByte);
  block[17] = static_cast<std::byte>(high.scaleByte);
}

void encodeFp4Fast(const float* values, const Weighting& weighting, std::int64_t first, std::byte* block) {
  const Candidate found = searchScale(kFp4, makeGroup(values, 32, weighting, first));
  putNibbles(found.codes.data(), found.codes.data() + 16, block);
  block[16] = static_cast<std::byte>(found.scaleByte);
}

void encodeMxfp4(const float* values, std::byte* block) {
  float largest = 0;
  for (int i = 0; i < 32; ++i) {
    if (std::isfinite(values[i])) largest = std::fmax(largest, std::fabs(values[i]));
  }
  const int byte = largest > 0 ? std::max(0, std::ilogb(largest) - 2 + 127) : 0;
  // A power of two whose inverse is one too, and may be above the range of float: hence double.
  const double inverse = std::ldexp(1.0, 128 - byte);
  std::array<std::uint8_t, 32> codes{};
  for (int i = 0; i < 32; ++i) {
    const double value = std::isfinite(values[i]) ? double{values[i]} : 0.0;
    codes[static_cast<std::size_t>(i)] = kMxfp4.nearest(static_cast<float>(value * inverse)).code;
  }
  block[0] = static_cast<std::byte>(byte);
  putNibbles(codes.data(), codes.data() + 16, block + 1);
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

bool takesImportance(Type type) {
  return type == Type::ROCmFP2 || type == Type::ROCmFP3 || type == Type::ROCmFP4 || type == Type::ROCmFP4_FAST;
}

void quantize(Type type, const float* values, std::int64_t n, std::byte* blocks, const float* importance) {
  const Format& shape = format(type);
  if (n % shape.weights != 0) {
    throw std::invalid_argument("cannot encode " + std::to_string(n) + " values as " + std::string(shape.name) +
                                ": its block holds " + std::to_string(shape.weights));
  }
  if (importance != nullptr && !takesImportance(type)) {
    throw std::invalid_argument("the quantiser of " + std::string(shape.name) + " takes no importance");
  }
  const Weighting weighting(values, n, importance);
  for (std::int64_t i = 0; i < n; i += shape.weights, blocks += shape.bytes) {
    switch (type) {
      case Type::F32: std::memcpy(blocks, values + i, sizeof(float)); break;
      case Type::F16: store16(floatToHalf(values[i]), blocks); break;
      case Type::BF16: store16(floatToBfloat(values[i]), blocks); break;
      case Type::Q4_0: encodeQ4_0(values + i, blocks); break;
      case Type::Q8_0: encodeQ8_0(values + i, blocks); break;
      case Type::ROCmFP2: encodeStream(kFp2, values, weighting, i, blocks); break;
      case Type::ROCmFP3: encodeStream(kFp3, values, weighting, i, blocks); break;
      case Type::ROCmFP4: encodeFp4(values, weighting, i, blocks); break;
      case Type::ROCmFP4_FAST: encodeFp4Fast(values, weighting, i, blocks); break;
      case Type::MXFP4: encodeMxfp4(values + i, blocks); break;
      case Type::Q2_K: encodeQ2_K(values + i, blocks); break;
      case Type::I32: throw std::invalid_argument("i32 holds indices, not weights");
    }
  }
}

}  // namespace qk
