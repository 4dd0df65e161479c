// Storage formats: decoders against written-out values, encoders byte for byte against the published vector.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "qk/format.h"
#include "qk/half.h"
#include "qk/quantize.h"

namespace {

// x[i] = (((i * 37 + 17) mod 113) - 56) / 64, the input of the published vector.
std::array<float, 32> publishedInput() {
  std::array<float, 32> x{};
  for (int i = 0; i < 32; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>((i * 37 + 17) % 113 - 56) / 64;
  return x;
}

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15u];
  }
  return text;
}

std::vector<std::byte> encode(qk::Type type, const std::vector<float>& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<std::byte> blocks(static_cast<std::size_t>(n / qk::format(type).weights * qk::format(type).bytes));
  qk::quantize(type, values.data(), n, blocks.data());
  return blocks;
}

std::vector<float> decode(qk::Type type, const std::vector<std::byte>& blocks, std::size_t n) {
  std::vector<float> out(n, std::numeric_limits<float>::quiet_NaN());
  qk::dequantize(type, blocks.data(), static_cast<std::int64_t>(n), out.data());
  return out;
}

std::vector<float> gaussian(std::size_t n, float sigma) {
  const unsigned seed = std::random_device{}();
  MESSAGE("seed ", seed);
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, sigma);
  std::vector<float> values(n);
  for (float& value : values) value = normal(engine);
  return values;
}

}  // namespace

TEST_CASE("formats are found by id and by name, and their sizes are those of the file format") {
  CHECK(qk::findFormat(107u)->name == "rocmfp2");
  CHECK(qk::findFormat("rocmfp3")->type == qk::Type::ROCmFP3);
  CHECK(qk::findFormat(105u) == nullptr);  // the MIX variants need codebooks that this engine does not have
  CHECK(qk::findFormat("q4_k") == nullptr);
  CHECK(qk::format(qk::Type::Q4_0).bytes == 18);
  CHECK(qk::format(qk::Type::Q8_0).bytes == 34);
  CHECK(qk::format(qk::Type::ROCmFP2).bytes == 10);
  CHECK(qk::format(qk::Type::ROCmFP3).bytes == 14);
  CHECK(qk::findFormat(100u)->bytes == 18);
  CHECK(qk::findFormat(101u)->bytes == 17);
  CHECK(qk::findFormat(39u)->bytes == 17);
  CHECK(qk::findFormat(10u)->bytes == 84);
  CHECK(qk::findFormat(10u)->weights == 256);
  CHECK_THROWS_AS(qk::format(static_cast<qk::Type>(99)), std::invalid_argument);
}

TEST_CASE("encodes the ROCmFP formats byte for byte as the published vector") {
  const auto input = publishedInput();
  const std::vector<float> x(input.begin(), input.end());
  CHECK(hex(encode(qk::Type::ROCmFP2, x)) == "244992240982e038" "3a36");
  CHECK(hex(encode(qk::Type::ROCmFP3, x)) == "c70ebd7af5ead5ab576fe6cc" "2b2d");
  CHECK(hex(encode(qk::Type::ROCmFP4, x)) == "ae40f6bf49f6bf49f5bf3a75cf3a75cf" "2123");
  CHECK(hex(encode(qk::Type::ROCmFP4_FAST, x)) == "ae40f5be49f5be49f5be3975ce3a74ce" "23");
}

TEST_CASE("decodes the published vector to the published values") {
  const auto input = publishedInput();
  const std::vector<float> x(input.begin(), input.end());
  const std::vector<float> fp2 = decode(qk::Type::ROCmFP2, encode(qk::Type::ROCmFP2, x), 32);
  const std::vector<float> fp3 = decode(qk::Type::ROCmFP3, encode(qk::Type::ROCmFP3, x), 32);
  const std::vector<float> wantedFp2 = {-0.625f, 0, 0.625f, -0.625f, 0, 0.625f, -0.625f, 0};
  const std::vector<float> wantedFp3 = {-0.6875f, 0, 0.6875f, -0.6875f, 0, 0.34375f, -0.6875f, -0.171875f};
  CHECK(std::vector<float>(fp2.begin(), fp2.begin() + 8) == wantedFp2);
  CHECK(std::vector<float>(fp3.begin(), fp3.begin() + 8) == wantedFp3);
  const std::vector<float> fast = decode(qk::Type::ROCmFP4_FAST, encode(qk::Type::ROCmFP4_FAST, x), 32);
  const std::vector<float> wantedFast = {-0.6875f,    0,         0.515625f, -0.6875f,
                                         -0.0859375f, 0.515625f, -0.6875f,  -0.0859375f};
  CHECK(std::vector<float>(fast.begin(), fast.begin() + 8) == wantedFast);
}

TEST_CASE("each half of a ROCmFP block is scaled by its own byte") {
  std::vector<std::byte> block(10, std::byte{0xaa});  // every code 2: level 1
  block[8] = std::byte{0x40};
  block[9] = std::byte{0x38};
  const std::vector<float> out = decode(qk::Type::ROCmFP2, block, 32);
  CHECK(out[0] == 1.0f);
  CHECK(out[15] == 1.0f);
  CHECK(out[16] == 0.5f);
  CHECK(out[31] == 0.5f);
}

TEST_CASE("scale bytes decode as half of E4M3, and bytes that are no scale decode to zero") {
  CHECK(qk::scaleByteToFloat(0x00) == 0.0f);
  CHECK(qk::scaleByteToFloat(0x01) == 0x1p-10f);
  CHECK(qk::scaleByteToFloat(0x08) == 0x1p-7f);
  CHECK(qk::scaleByteToFloat(0x38) == 0.5f);
  CHECK(qk::scaleByteToFloat(0x40) == 1.0f);
  CHECK(qk::scaleByteToFloat(0x7e) == 224.0f);
  CHECK(qk::scaleByteToFloat(0x7f) == 0.0f);
  CHECK(qk::scaleByteToFloat(0xc0) == 0.0f);
}

TEST_CASE("a group of zeros has scale byte 0; values that are not finite become the zero level") {
  std::vector<float> x(32, 0.0f);
  CHECK(hex(encode(qk::Type::ROCmFP2, x)) == "5555555555555555" "0000");
  CHECK(hex(encode(qk::Type::ROCmFP3, x)) == "000000000000000000000000" "0000");
  x[0] = std::numeric_limits<float>::quiet_NaN();
  x[1] = std::numeric_limits<float>::infinity();
  x[16] = 1.0f;
  const std::vector<float> fp2 = decode(qk::Type::ROCmFP2, encode(qk::Type::ROCmFP2, x), 32);
  CHECK(fp2[0] == 0.0f);
  CHECK(fp2[1] == 0.0f);
  CHECK(fp2[16] == 1.0f);
}

TEST_CASE("no other scale byte has a smaller squared error than the one chosen") {
  const std::vector<float> x = gaussian(32, 0.05f);
  const std::vector<std::byte> block = encode(qk::Type::ROCmFP3, x);
  const std::vector<float> chosen = decode(qk::Type::ROCmFP3, block, 32);
  const std::array<double, 4> magnitudes = {0, 1, 2, 4};
  for (std::size_t group = 0; group < 2; ++group) {
    double error = 0;
    for (std::size_t i = 16 * group; i < 16 * group + 16; ++i) error += std::pow(double{x[i]} - chosen[i], 2);
    for (int byte = 1; byte <= 126; ++byte) {
      const double scale = qk::scaleByteToFloat(static_cast<std::uint8_t>(byte));
      double other = 0;
      for (std::size_t i = 16 * group; i < 16 * group + 16; ++i) {
        double nearest = std::numeric_limits<double>::infinity();
        for (const double m : magnitudes) nearest = std::min(nearest, std::fabs(std::fabs(double{x[i]}) - m * scale));
        other += nearest * nearest;
      }
      CHECK(error <= other * (1 + 1e-5));
    }
  }
}

TEST_CASE("ROCmFP4 has a scale for each half and levels up to 10; code 8 is zero") {
  std::vector<std::byte> block(18);
  for (int j = 0; j < 16; ++j) block[static_cast<std::size_t>(j)] = static_cast<std::byte>(j | (15 - j) << 4);
  block[16] = std::byte{0x40};  // 1
  block[17] = std::byte{0x38};  // 1/2
  const std::vector<float> levels = {0, 1, 2, 3, 4, 6, 8, 10, 0, -1, -2, -3, -4, -6, -8, -10};
  const std::vector<float> out = decode(qk::Type::ROCmFP4, block, 32);
  for (std::size_t j = 0; j < 16; ++j) {
    CHECK(out[j] == levels[j]);
    CHECK(out[j + 16] == levels[15 - j] / 2);
  }
  CHECK_FALSE(std::signbit(out[8]));
  block.resize(17);  // the same bytes as ROCmFP4_FAST: the first scale is that of all
  const std::vector<float> fast = decode(qk::Type::ROCmFP4_FAST, block, 32);
  for (std::size_t j = 0; j < 16; ++j) CHECK(fast[j + 16] == levels[15 - j]);
}

TEST_CASE("MXFP4 and Q2_K decode to the values that a decoder written in another language from the layout gives") {
  std::vector<std::byte> mx(17);
  for (std::size_t i = 0; i < mx.size(); ++i) mx[i] = static_cast<std::byte>(i * 37 + 11);
  mx[0] = std::byte{125};  // 2^-2 of the standard's levels 0 0.5 1 1.5 2 3 4 6
  const std::vector<float> wantedMx = {0,      0.75f, -0.25f, -1.5f,   0.5f,  -0.125f, -1, 0.375f, 0,    -0.75f, 0.25f,
                                       1.5f,   -0.5f, 0.125f, 1,       -0.375f, 0.375f, 0.75f, 1.5f, -0.125f, -0.5f, -1,
                                       0,      0.375f, 0.75f, 1.5f,    -0.25f, -0.5f,  -1, 0.125f, 0.375f, 0.75f};
  CHECK(decode(qk::Type::MXFP4, mx, 32) == wantedMx);

  std::vector<std::byte> q2(84);
  for (std::size_t i = 0; i < 80; ++i) q2[i] = static_cast<std::byte>(i * 37 + 11);
  const std::uint16_t d = qk::floatToHalf(0.09375f);
  const std::uint16_t dmin = qk::floatToHalf(-0.03125f);
  std::memcpy(q2.data() + 80, &d, 2);
  std::memcpy(q2.data() + 82, &dmin, 2);
  const std::vector<float> out = decode(qk::Type::Q2_K, q2, 256);
  const std::vector<std::pair<std::size_t, float>> wanted = {
      {0, 3.09375f},   {15, 2.0625f},    {16, 0.09375f},  {31, 0.09375f}, {32, 1.09375f}, {100, 2.96875f},
      {127, 3.9375f},  {128, 0.9375f},   {159, 1.65625f}, {200, 1.6875f}, {255, 0.65625f}};
  double sum = 0;
  double weighted = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    sum += out[i];
    weighted += out[i] * static_cast<double>(i);
  }
  for (const auto& [index, value] : wanted) CHECK(out[index] == value);
  CHECK(sum == 324.28125);
  CHECK(weighted == 40544.78125);
}

TEST_CASE("scale bytes of MXFP4 are powers of two from 2^-128 on") {
  for (int byte = 0; byte < 255; ++byte) {
    CHECK(qk::halfE8M0ToFloat(static_cast<std::uint8_t>(byte)) == std::ldexp(1.0f, byte - 128));
  }
}

TEST_CASE("MXFP4 takes the scale from the largest magnitude and rounds ties to the smaller one") {
  std::vector<float> x(32, 0.0f);
  x[0] = 6.0f;    // floor(log2) = 2: scale byte 127, a level is half of a whole number
  x[1] = 7.9f;    // above the largest level 6
  x[2] = 0.25f;   // between 0 and 0.5
  x[3] = -0.75f;  // between -0.5 and -1
  x[17] = -5.0f;  // between -4 and -6
  x[18] = -5.01f;
  const std::vector<std::byte> block = encode(qk::Type::MXFP4, x);
  CHECK(block[0] == std::byte{127});
  const std::vector<float> out = decode(qk::Type::MXFP4, block, 32);
  CHECK(out[0] == 6.0f);
  CHECK(out[1] == 6.0f);
  CHECK(out[2] == 0.0f);
  CHECK(out[3] == -0.5f);
  CHECK(out[17] == -4.0f);
  CHECK(out[18] == -6.0f);
  CHECK(hex(encode(qk::Type::MXFP4, std::vector<float>(32, 0.0f))) == "00" "00000000000000000000000000000000");
  const std::vector<float> tiny(32, 0x1p-140f);  // no exponent byte is below 0
  CHECK(encode(qk::Type::MXFP4, tiny)[0] == std::byte{0});
}

TEST_CASE("Q2_K finds weights that it can hold exactly, and loses an eighth of the power of others at most") {
  std::vector<float> x(256);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto scale = static_cast<float>(1 + i / 16 % 15);
    x[i] = 0.5f * scale * static_cast<float>((i * 7 + i / 16) % 4) - 0.25f * 15;
  }
  x[14 * 16] = 0.5f * 15 * 3 - 0.25f * 15;
  CHECK(decode(qk::Type::Q2_K, encode(qk::Type::Q2_K, x), 256)[14 * 16] == x[14 * 16]);
  const std::vector<float> normal = gaussian(256 * 64, 0.3f);
  const std::vector<float> out = decode(qk::Type::Q2_K, encode(qk::Type::Q2_K, normal), normal.size());
  double error = 0;
  double power = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    error += std::pow(double{out[i]} - normal[i], 2);
    power += std::pow(double{normal[i]}, 2);
  }
  MESSAGE("NMSE of Q2_K on normal numbers ", error / power);
  CHECK(error / power < 0.125);
  const std::vector<float> zeros(256, 0.0f);
  CHECK(decode(qk::Type::Q2_K, encode(qk::Type::Q2_K, zeros), 256) == zeros);
  std::vector<float> foreign = zeros;
  foreign[3] = std::numeric_limits<float>::quiet_NaN();
  foreign[4] = std::numeric_limits<float>::infinity();
  CHECK(decode(qk::Type::Q2_K, encode(qk::Type::Q2_K, foreign), 256) == zeros);
}

namespace {

// The scale byte of least error by trying all of them to the end, for levels in the order in which ties are broken.
int exhaustiveScaleByte(const std::vector<float>& levels, const float* x, std::size_t count, const float* weights) {
  int best = 0;
  float bestError = 0;
  for (int byte = 1; byte <= 126; ++byte) {
    const float scale = qk::scaleByteToFloat(static_cast<std::uint8_t>(byte));
    const float inverse = 1.0f / scale;
    float error = 0;
    for (std::size_t i = 0; i < count; ++i) {
      float nearest = levels.front();
      for (const float level : levels) {
        if (std::fabs(x[i] * inverse - level) < std::fabs(x[i] * inverse - nearest)) nearest = level;
      }
      const float difference = x[i] - nearest * scale;
      error += (weights == nullptr ? 1.0f : weights[i]) * (difference * difference);
    }
    if (best == 0 || error < bestError) {
      best = byte;
      bestError = error;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("the search that gives up early chooses the scale byte of the exhaustive one, with and without importance") {
  struct Case {
    qk::Type type;
    std::size_t group;
    std::vector<float> levels;
  };
  const std::vector<float> fp4 = {0, 1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8, 10, -10};
  const std::vector<Case> cases = {{qk::Type::ROCmFP2, 16, {-1, 0, 1, 2}},
                                   {qk::Type::ROCmFP3, 16, {0, 1, -1, 2, -2, 4, -4}},
                                   {qk::Type::ROCmFP4, 16, fp4},
                                   {qk::Type::ROCmFP4_FAST, 32, fp4}};
  for (const Case& c : cases) {
    const auto scaleBytes = [&](const std::vector<std::byte>& blocks) {
      const auto size = static_cast<std::size_t>(qk::format(c.type).bytes);
      std::vector<int> found;
      for (std::size_t at = size; at <= blocks.size(); at += size) {
        for (std::size_t back = 32 / c.group; back > 0; --back) found.push_back(std::to_integer<int>(blocks[at - back]));
      }
      return found;
    };
    for (const float sigma : {1e-4f, 0.03f, 1.0f, 60.0f, 3000.0f}) {
      const std::vector<float> x = gaussian(1024, sigma);
      std::vector<float> importance = gaussian(1024, 1.0f);
      for (float& v : importance) v = v * v;
      importance[5] = -1;
      importance[70] = std::numeric_limits<float>::quiet_NaN();
      float meanSquare = 0;
      for (const float v : x) meanSquare += v * v;
      meanSquare /= static_cast<float>(x.size());
      std::vector<float> weights(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        weights[i] = i == 5 || i == 70 ? 0.0f : importance[i] * std::sqrt(meanSquare + x[i] * x[i]);
      }
      std::vector<std::byte> weighted(encode(c.type, x).size());
      qk::quantize(c.type, x.data(), 1024, weighted.data(), importance.data());
      const std::vector<int> plainBytes = scaleBytes(encode(c.type, x));
      const std::vector<int> weightedBytes = scaleBytes(weighted);
      REQUIRE(plainBytes.size() == 1024 / c.group);
      for (std::size_t g = 0; g < plainBytes.size(); ++g) {
        const float* values = x.data() + g * c.group;
        CHECK(plainBytes[g] == exhaustiveScaleByte(c.levels, values, c.group, nullptr));
        CHECK(weightedBytes[g] == exhaustiveScaleByte(c.levels, values, c.group, weights.data() + g * c.group));
      }
      // At the ends of the range all groups have the same byte anyway.
      if (sigma > 0.01f && sigma < 100) CHECK(plainBytes != weightedBytes);
    }
  }
  std::vector<float> x(32, 1.0f);
  std::vector<std::byte> block(34);
  CHECK_THROWS_AS(qk::quantize(qk::Type::Q8_0, x.data(), 32, block.data(), x.data()), std::invalid_argument);
}

TEST_CASE("Q4_0 gives the value of largest magnitude the code 0 and interleaves the halves of a block") {
  std::vector<float> x(32, 0.0f);
  x[3] = -8.0f;   // scale 1
  x[20] = 5.0f;
  const std::vector<std::byte> block = encode(qk::Type::Q4_0, x);
  CHECK(hex(block) == "003c" "88888880d8" "8888888888888888888888");
  const std::vector<float> out = decode(qk::Type::Q4_0, block, 32);
  CHECK(out[3] == -8.0f);
  CHECK(out[20] == 5.0f);
}

TEST_CASE("Q8_0 and Q4_0 round trips stay within half a step of the F16 scale") {
  const std::vector<float> x = gaussian(1024, 0.3f);
  for (const qk::Type type : {qk::Type::Q8_0, qk::Type::Q4_0}) {
    const std::vector<float> out = decode(type, encode(type, x), x.size());
    for (std::size_t block = 0; block < x.size(); block += 32) {
      float largest = 0;
      for (std::size_t i = block; i < block + 32; ++i) largest = std::fmax(largest, std::fabs(x[i]));
      const float step = type == qk::Type::Q8_0 ? largest / 127 : largest / 8;
      // Q4_0 has no code +8, so the value opposite to the largest may be a whole step away.
      const float limit = type == qk::Type::Q8_0 ? 0.51f * step + largest * 0x1p-10f : 1.01f * step;
      for (std::size_t i = block; i < block + 32; ++i) CHECK(std::fabs(out[i] - x[i]) <= limit);
    }
  }
}

TEST_CASE("every half survives the trip through float, and float rounds to the nearest even half") {
  for (std::uint32_t h = 0; h < 0x10000u; ++h) {
    const auto half = static_cast<std::uint16_t>(h);
    const float value = qk::halfToFloat(half);
    if (std::isnan(value)) {
      REQUIRE(std::isnan(qk::halfToFloat(qk::floatToHalf(value))));
    } else {
      REQUIRE(qk::floatToHalf(value) == half);
    }
  }
  CHECK(qk::halfToFloat(0x3c00) == 1.0f);
  CHECK(qk::halfToFloat(0x0001) == 0x1p-24f);
  CHECK(qk::halfToFloat(0xfc00) == -std::numeric_limits<float>::infinity());
  CHECK(qk::floatToHalf(65519.99f) == 0x7bff);
  CHECK(qk::floatToHalf(65520.0f) == 0x7c00);
  CHECK(qk::floatToHalf(1.0f + 0x1p-11f) == 0x3c00);              // tie, down to even
  CHECK(qk::floatToHalf(1.0f + 0x1p-10f + 0x1p-11f) == 0x3c02);   // tie, up to even
  CHECK(qk::floatToHalf(0x1p-25f) == 0x0000);                     // tie with zero
  CHECK(qk::floatToHalf(std::nextafter(0x1p-25f, 1.0f)) == 0x0001);
}

TEST_CASE("BF16 keeps the upper half of a float, rounded to nearest even") {
  CHECK(qk::floatToBfloat(1.0f) == 0x3f80);
  CHECK(qk::floatToBfloat(1.0f + 0x1p-8f) == 0x3f80);
  CHECK(qk::floatToBfloat(1.0f + 0x1p-7f + 0x1p-8f) == 0x3f82);
  CHECK(std::isnan(qk::bfloatToFloat(qk::floatToBfloat(std::bit_cast<float>(0x7f800001u)))));
  const std::vector<float> x = gaussian(64, 1.0f);
  const std::vector<float> out = decode(qk::Type::BF16, encode(qk::Type::BF16, x), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(out[i] - x[i]) <= std::fabs(x[i]) * 0x1p-8f);
}

TEST_CASE("refuses lengths that end inside a block, and indices where weights are wanted") {
  std::vector<float> x(33, 0.0f);
  std::vector<std::byte> blocks(200);
  CHECK_THROWS_AS(qk::quantize(qk::Type::ROCmFP2, x.data(), 33, blocks.data()), std::invalid_argument);
  CHECK_THROWS_AS(qk::dequantize(qk::Type::Q8_0, blocks.data(), 31, x.data()), std::invalid_argument);
  CHECK_THROWS_AS(qk::dequantize(qk::Type::I32, blocks.data(), 1, x.data()), std::invalid_argument);
  CHECK_THROWS_AS(qk::quantize(qk::Type::I32, x.data(), 1, blocks.data()), std::invalid_argument);
}
