// Holds the int8 form of activations to its definition on every instruction set.
#include <doctest/doctest.h>

#include <limits>

#include "qk/activations.h"
#include "qk/reference_matmul.h"
#include "random_weights.h"

using namespace qk;
using namespace qk::test;

namespace {

void checkRow(const std::vector<float>& x) {
  const auto expected = reference::quantize(x.data(), static_cast<std::int64_t>(x.size()));
  ThreadPool pool(1);
  Counters counters;
  for (const Isa isa : supportedIsas()) {
    Execution ex{pool, isa, counters};
    Activations got;
    const auto cols = static_cast<std::int64_t>(x.size());
    quantize(ex, x.data(), 1, cols, cols, got);
    REQUIRE(got.blocksPerRow() == static_cast<std::int64_t>(expected.size()));
    for (std::size_t b = 0; b < expected.size(); ++b) {
      const ActivationBlock& block = got.row(0)[b];
      INFO(name(isa) << " block " << b);
      CHECK(std::memcmp(block.q, expected[b].q, sizeof block.q) == 0);
      CHECK(std::memcmp(block.negatedSum16, expected[b].negatedSum16, sizeof block.negatedSum16) == 0);
      CHECK(std::memcmp(block.negatedSum32, expected[b].negatedSum32, sizeof block.negatedSum32) == 0);
      const std::int32_t* const quarters = block.negatedSum32;
      CHECK(block.negatedSum64[0] == quarters[0] + quarters[1]);
      CHECK(block.negatedSum64[1] == quarters[2] + quarters[3]);
      CHECK(block.negatedSum128 == block.negatedSum64[0] + block.negatedSum64[1]);
      CHECK((sameBits(block.scale, expected[b].scale) ||
             (std::isnan(block.scale) && std::isnan(expected[b].scale))));
    }
  }
}

}  // namespace

TEST_CASE("random rows of every length give the plain loop's codes, sums and scales") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  for (const std::size_t cols : {1, 16, 31, 32, 127, 128, 129, 160, 1024}) {
    for (const float deviation : {1e-30f, 1.0f, 1e30f}) checkRow(randomFloats(random, cols, deviation));
  }
}

TEST_CASE("ties round to even") {
  std::vector<float> x(128, 0.0f);
  x[0] = 127.0f;
  for (std::size_t i = 1; i < 128; ++i) x[i] = static_cast<float>(i) - 64.5f;
  checkRow(x);
  const auto blocks = reference::quantize(x.data(), 128);
  CHECK(static_cast<int>(blocks[0].q[64]) == 0);  // -0.5
  CHECK(static_cast<int>(blocks[0].q[66]) == 2);  // 1.5
  CHECK(static_cast<int>(blocks[0].q[67]) == 2);  // 2.5
}

TEST_CASE("a block of zeros, or one too small for a normal scale, has scale +0 and code 0") {
  for (const float value : {0.0f, -0.0f, std::numeric_limits<float>::denorm_min(), 1e-37f}) {
    std::vector<float> x(256, value);
    x[200] = 1.0f;
    checkRow(x);
    const auto blocks = reference::quantize(x.data(), 256);
    CHECK(sameBits(blocks[0].scale, 0.0f));
    CHECK(static_cast<int>(blocks[0].q[0]) == 0);
    CHECK(static_cast<int>(blocks[1].q[72]) == 127);
  }
}

TEST_CASE("a value that is not finite poisons its block and no other") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> x(256, 1.0f);
    x[130] = bad;
    checkRow(x);
    const auto blocks = reference::quantize(x.data(), 256);
    CHECK(std::isfinite(blocks[0].scale));
    CHECK(std::isnan(blocks[1].scale));
  }
}
