// Owns the error measures and the words of a failure.
#include "check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace suite {
namespace {

std::uint32_t bitsOf(float value) { return std::bit_cast<std::uint32_t>(value); }

std::string shown(float value) {
  char text[48];
  if (bitsOf(value) == poisonBits) return "not written";
  std::snprintf(text, sizeof text, "%.9g (%08x)", static_cast<double>(value), bitsOf(value));
  return text;
}

std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// A larger value, or a NaN, which no comparison may hide.
void raise(double& worst, double value) {
  if (!(value <= worst)) worst = value;
}

}  // namespace

void Check::fail(const std::string& text) {
  if (failure_.empty()) failure_ = text;
}

void Check::that(bool holds, const std::string& what) {
  ++compared_;
  if (!holds) fail(what);
}

void Check::bits(const std::string& what, std::span<const float> got, std::span<const float> expected) {
  compared_ += static_cast<std::int64_t>(expected.size());
  if (got.size() != expected.size()) {
    fail(what + ": " + std::to_string(got.size()) + " values instead of " + std::to_string(expected.size()));
    return;
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (bitsOf(got[i]) == bitsOf(expected[i])) continue;
    fail(what + ": element " + std::to_string(i) + " is " + shown(got[i]) + ", expected " + shown(expected[i]));
    return;
  }
}

void Check::bits(const std::string& what, const Destination& got, std::span<const float> expected) {
  bits(what, got.values(), expected);
  if (!got.guardsIntact()) fail(what + ": written outside of the destination");
}

void Check::sameEverywhere(const std::string& what, std::span<const float> got) {
  const auto [found, inserted] = first_.values.try_emplace(what, got.begin(), got.end());
  if (inserted) {
    first_.isa = isa_;
    return;
  }
  bits(what + " against " + std::string(qk::name(first_.isa)), got, found->second);
}

void Check::near(const std::string& what, const Destination& got, const Doubles& expected, const Limits& limits) {
  const std::span<const float> values = got.values();
  bounded_ = true;
  compared_ += static_cast<std::int64_t>(expected.size());
  if (!got.guardsIntact()) fail(what + ": written outside of the destination");
  if (values.size() != expected.size()) {
    fail(what + ": " + std::to_string(values.size()) + " values instead of " + std::to_string(expected.size()));
    return;
  }
  double error = 0, power = 0, own = 0, product = 0, largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double a = static_cast<double>(values[i]);
    const double b = expected[i];
    error += (a - b) * (a - b);
    power += b * b;
    own += a * a;
    product += a * b;
    raise(largest, std::fabs(a - b));
  }
  const double nmse = power == 0 ? error : error / power;
  const double cosineDistance = power == 0 ? 0 : std::max(0.0, 1 - product / std::sqrt(own * power));
  raise(nmse_, nmse);
  raise(maxAbs_, largest);
  raise(cosineDistance_, std::isnan(product) ? product : cosineDistance);
  if (!(nmse <= limits.nmse)) fail(what + ": NMSE " + shown(nmse) + " above " + shown(limits.nmse));
  if (!(largest <= limits.maxAbs)) fail(what + ": max abs error " + shown(largest) + " above " + shown(limits.maxAbs));
  if (!(cosineDistance <= limits.cosineDistance))
    fail(what + ": 1 - cosine " + shown(cosineDistance) + " above " + shown(limits.cosineDistance));
  sameEverywhere(what, values);
}

void Check::equal(const std::string& what, std::span<const std::int32_t> got,
                  std::span<const std::int32_t> expected) {
  compared_ += static_cast<std::int64_t>(expected.size());
  if (got.size() != expected.size()) {
    fail(what + ": " + std::to_string(got.size()) + " values instead of " + std::to_string(expected.size()));
    return;
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    fail(what + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", expected " +
         std::to_string(expected[i]));
    return;
  }
}

}  // namespace suite
