// Owns what tests of operations share: fresh random inputs with a printed seed, poisoned outputs, error
// measures, and the instruction sets of this CPU.
#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "qk/isa.h"

namespace check {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

// A fresh seed every run, printed when a check fails; QK_TEST_SEED repeats a run.
class Random {
 public:
  Random() : seed_(pickSeed()), engine_(seed_) {}
  std::uint64_t seed() const { return seed_; }
  float normal() { return normal_(engine_); }
  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }
  std::int64_t below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(engine_);
  }
  Floats normals(std::int64_t n, float sigma = 1) {
    Floats values(static_cast<std::size_t>(n));
    for (float& value : values) value = sigma * normal();
    return values;
  }

 private:
  static std::uint64_t pickSeed() {
    const char* given = std::getenv("QK_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  }
  std::uint64_t seed_;
  std::mt19937_64 engine_;
  std::normal_distribution<float> normal_{0, 1};
};

inline Doubles doubles(const Floats& values) { return Doubles(values.begin(), values.end()); }

// A destination that shows every element that was not written.
inline Floats poisoned(std::int64_t n) {
  return Floats(static_cast<std::size_t>(n), std::numeric_limits<float>::quiet_NaN());
}

// mean((a - b)^2) / mean(b^2); NaN when an element of `a` is.
inline double nmse(const Floats& a, const Doubles& b) {
  REQUIRE(a.size() == b.size());
  double error = 0;
  double power = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    power += b[i] * b[i];
  }
  return power == 0 ? error : error / power;
}

inline double maxAbs(const Floats& a, const Doubles& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = std::fabs(static_cast<double>(a[i]) - b[i]);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

// Distance of x from the exact value in units of the last place of float at that value.
inline double ulps(float x, double exact) {
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::fabs(static_cast<double>(x) - exact) / std::ldexp(1.0, exponent - 23);
}

inline bool sameBits(const Floats& a, const Floats& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  }
  return true;
}

// Every instruction set that this CPU can run; what it lacks is said aloud, once.
inline std::vector<qk::Isa> isas() {
  static std::set<qk::Isa> told;
  std::vector<qk::Isa> found;
  for (const qk::Isa isa : {qk::Isa::portable, qk::Isa::avx2, qk::Isa::avx512}) {
    if (qk::supported(isa)) {
      found.push_back(isa);
    } else if (told.insert(isa).second) {
      MESSAGE("this CPU lacks ", std::string(qk::name(isa)), ": its kernels were not run");
    }
  }
  return found;
}

// Runs `operation(isa)` -> Floats on every instruction set, checks that the bits are equal, and returns
// them.
template <typename Operation>
Floats everywhere(Operation operation) {
  const Floats expected = operation(qk::Isa::portable);
  for (const qk::Isa isa : isas()) {
    INFO("instruction set ", std::string(qk::name(isa)));
    CHECK(sameBits(operation(isa), expected));
  }
  return expected;
}

}  // namespace check
