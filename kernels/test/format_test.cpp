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
  CHECK_THROWS_AS(qk::format(static_cast<qk::Type>(99)), std::invalid_argument);
}

TEST_CASE("encodes ROCmFP2 and ROCmFP3 byte for byte as the published vector") {
  const auto input = publishedInput();
  const std::vector<float> x(input.begin(), input.end());
  CHECK(hex(encode(qk::Type::ROCmFP2, x)) == "244992240982e038" "3a36");
  CHECK(hex(encode(qk::Type::ROCmFP3, x)) == "c70ebd7af5ead5ab576fe6cc" "2b2d");
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
