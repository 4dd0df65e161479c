#include "qk/round_trip.h"

#include <array>

#include "operation_check.h"

using check::Doubles;
using check::Floats;

namespace {

using Fast = void (*)(qk::Isa, float*, std::int64_t);
using Exact = void (*)(double*, std::int64_t);

// Rounds on every instruction set and in fp64; both must give the same values.
Floats rounded(Fast fast, Exact exact, const Floats& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  const Floats y = check::everywhere([&](qk::Isa isa) {
    Floats out = x;
    fast(isa, out.data(), n);
    for (float& value : out) value += 0.0f;  // -0 as +0: the sign of a zero is not specified
    return out;
  });
  Doubles wide = check::doubles(x);
  exact(wide.data(), n);
  CHECK(check::maxAbs(y, wide) == 0);
  return y;
}

}  // namespace

TEST_CASE("the exponent of a scale is exact on both sides of a power of two") {
  CHECK(qk::scaleExponent(448, 448) == 0);
  CHECK(qk::scaleExponent(std::nextafter(448.0, 1000.0), 448) == 1);
  CHECK(qk::scaleExponent(224, 448) == -1);
  CHECK(qk::scaleExponent(1e-4, 448) == -22);
  CHECK(qk::scaleExponent(6, 6) == 0);
  CHECK(qk::scaleExponent(std::nextafter(6.0, 7.0), 6) == 1);
  CHECK(qk::scaleExponent(3, 6) == -1);
}

TEST_CASE("E4M3 and E2M1 round trips equal a search over all levels") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const float sigma : {1e-6f, 1e-3f, 1.0f, 300.0f, 1e20f}) {
    for (const std::int64_t n : {64, 448, 192, 33}) {
      rounded(qk::cpu::roundTripE4m3, qk::reference::roundTripE4m3, random.normals(n, sigma));
    }
    for (const std::int64_t n : {32, 128}) {
      rounded(qk::cpu::roundTripE2m1, qk::reference::roundTripE2m1, random.normals(n, sigma));
    }
  }
  rounded(qk::cpu::roundTripE4m3, qk::reference::roundTripE4m3, Floats(64, 0.0f));
  rounded(qk::cpu::roundTripE2m1, qk::reference::roundTripE2m1, Floats(32, 0.0f));
  rounded(qk::cpu::roundTripE2m1, qk::reference::roundTripE2m1, random.normals(32, 1e-37f));
}

TEST_CASE("ties go to the even code, and a block whose largest value is the top keeps its finest levels") {
  Floats x(32, 0.0f);
  const std::array<float, 11> in = {6, 0.5f, 1.5f, 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5, -5};
  const std::array<float, 11> out = {6, 0.5f, 1.5f, 0, 1, 1, 2, 2, 4, 4, -4};
  std::copy(in.begin(), in.end(), x.begin());
  const Floats y = rounded(qk::cpu::roundTripE2m1, qk::reference::roundTripE2m1, x);
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(y[i] == out[i]);

  Floats keys(64, 0.0f);
  const std::array<float, 7> keyIn = {448, 0x1p-9f, 17, 19, 0x1p-10f, 3 * 0x1p-10f, 432};
  const std::array<float, 7> keyOut = {448, 0x1p-9f, 16, 20, 0, 4 * 0x1p-10f, 448};
  std::copy(keyIn.begin(), keyIn.end(), keys.begin());
  const Floats rounds = rounded(qk::cpu::roundTripE4m3, qk::reference::roundTripE4m3, keys);
  for (std::size_t i = 0; i < keyOut.size(); ++i) CHECK(rounds[i] == keyOut[i]);
}

TEST_CASE("a second round trip changes nothing, and a NaN stays visible") {
  check::Random random;
  INFO("seed ", random.seed());
  const Floats once = rounded(qk::cpu::roundTripE4m3, qk::reference::roundTripE4m3, random.normals(448));
  CHECK(check::sameBits(rounded(qk::cpu::roundTripE4m3, qk::reference::roundTripE4m3, once), once));
  for (const qk::Isa isa : check::isas()) {
    Floats x = random.normals(64);
    x[5] = std::numeric_limits<float>::quiet_NaN();
    qk::cpu::roundTripE4m3(isa, x.data(), 64);
    CHECK(std::isnan(x[5]));
  }
}

TEST_CASE("hadamard agrees with its definition and is its own inverse") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const std::int64_t n : {32, 64, 128}) {
    const Floats x = random.normals(n);
    const Floats y = check::everywhere([&](qk::Isa isa) {
      Floats out = x;
      qk::cpu::hadamard(isa, out.data(), n);
      return out;
    });
    Doubles exact = check::doubles(x);
    qk::reference::hadamard(exact.data(), n);
    CHECK(check::nmse(y, exact) < 1e-13);
    Floats back = y;
    qk::cpu::hadamard(qk::bestIsa(), back.data(), n);
    CHECK(check::nmse(back, check::doubles(x)) < 1e-13);
  }
}
