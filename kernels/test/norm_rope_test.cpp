#include "operation_check.h"
#include "qk/rms_norm.h"
#include "qk/rope.h"

using check::Doubles;
using check::Floats;

namespace {

qk::Dimensions real() {
  qk::Dimensions d;
  d.ropeDims = 64;
  d.ropeBase = 10000;
  d.compressRopeBase = 160000;
  d.yarnFactor = 16;
  d.yarnOriginalContext = 65536;
  d.yarnBetaFast = 32;
  d.yarnBetaSlow = 1;
  return d;
}

}  // namespace

TEST_CASE("rmsNorm agrees with fp64 with and without weight") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const std::int64_t n : {1, 7, 16, 100, 1024}) {
    const std::int64_t rows = 3;
    const Floats x = random.normals(rows * n, 3);
    const Floats weight = random.normals(n);
    for (const float* w : {weight.data(), static_cast<const float*>(nullptr)}) {
      const Floats y = check::everywhere([&](qk::Isa isa) {
        Floats out = check::poisoned(rows * n);
        qk::cpu::rmsNorm(isa, x.data(), rows, n, w, 0.01f, out.data());
        Floats inPlace = x;
        qk::cpu::rmsNorm(isa, inPlace.data(), rows, n, w, 0.01f, inPlace.data());
        CHECK(check::sameBits(inPlace, out));
        return out;
      });
      Doubles exact(y.size());
      const Doubles wide = check::doubles(weight);
      qk::reference::rmsNorm(check::doubles(x).data(), rows, n, w != nullptr ? wide.data() : nullptr,
                             static_cast<double>(0.01f), exact.data());
      CHECK(check::nmse(y, exact) < 1e-13);
    }
  }
}

TEST_CASE(
    "frequencies: window layers are plain, compressed layers interpolate by YaRN between pairs 15 and 25") {
  const std::vector<double> plain = qk::ropeFrequencies(real(), 0);
  const std::vector<double> yarn = qk::ropeFrequencies(real(), 4);
  REQUIRE(plain.size() == 32);
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(plain[i] == doctest::Approx(std::pow(10000.0, -static_cast<double>(i) / 32)));
    const double base = std::pow(160000.0, -static_cast<double>(i) / 32);
    const double share = i <= 15 ? 0 : i >= 25 ? 1 : (static_cast<double>(i) - 15) / 10;
    CHECK(yarn[i] == doctest::Approx(base / 16 * share + base * (1 - share)));
  }
  CHECK(qk::ropeFrequencies(real(), 128) == yarn);
}

TEST_CASE("rope agrees with fp64 forward and inverse and leaves the other dimensions alone") {
  check::Random random;
  INFO("seed ", random.seed());
  const std::vector<double> frequencies = qk::ropeFrequencies(real(), 4);
  qk::RopeTable table(frequencies);
  table.extend(10);
  table.extend(5000);
  REQUIRE(table.ropeDims() == 64);
  for (const std::int64_t position : {0, 1, 9, 10, 4999}) {
    for (const bool inverse : {false, true}) {
      const Floats x = random.normals(5 * 128);
      const Floats y = check::everywhere([&](qk::Isa isa) {
        Floats out = x;
        qk::cpu::rope(isa, out.data(), 5, 128, 64, table.row(position),
                      inverse ? qk::cpu::Rotation::inverse : qk::cpu::Rotation::forward);
        return out;
      });
      Doubles exact = check::doubles(x);
      qk::reference::rope(exact.data(), 5, 128, frequencies, position, inverse);
      CHECK(check::nmse(y, exact) < 1e-13);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % 128 < 64) CHECK(y[i] == x[i]);
      }
    }
  }
}

TEST_CASE("rope turns interleaved pairs: a quarter turn takes (1, 0) to (0, 1)") {
  qk::RopeTable table({std::acos(-1.0) / 2, 0.0});
  table.extend(2);
  Floats x = {9, 1, 0, 3, 4};
  qk::cpu::rope(qk::Isa::portable, x.data(), 1, 5, 4, table.row(1), qk::cpu::Rotation::forward);
  CHECK(x[0] == 9);
  CHECK(x[1] == doctest::Approx(0).epsilon(1e-6));
  CHECK(x[2] == doctest::Approx(1));
  CHECK(x[3] == 3);
  CHECK(x[4] == 4);
}

TEST_CASE("extending a rope table keeps the bits of the rows that exist") {
  qk::RopeTable grown(qk::ropeFrequencies(real(), 0));
  for (std::int64_t positions = 1; positions <= 50; ++positions) grown.extend(positions);
  qk::RopeTable whole(qk::ropeFrequencies(real(), 0));
  whole.extend(50);
  for (std::int64_t p = 0; p < 50; ++p) {
    CHECK(
        check::sameBits(Floats(grown.row(p), grown.row(p) + 128), Floats(whole.row(p), whole.row(p) + 128)));
  }
}
