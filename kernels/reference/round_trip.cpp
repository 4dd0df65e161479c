// Owns the fp64 form of the storage roundings: the nearest level by search over all levels, ties to the even
// code.
#include "qk/round_trip.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace qk::reference {

namespace {

// Levels by code, ascending: E4M3 without its NaN (0 .. 448), E2M1 (0 .. 6).
std::vector<double> floatLevels(int mantissaBits, int bias, int codes) {
  std::vector<double> levels;
  const int steps = 1 << mantissaBits;
  for (int code = 0; code < codes; ++code) {
    const int exponent = code / steps;
    const double mantissa = static_cast<double>(code % steps) / steps;
    levels.push_back(exponent == 0 ? std::ldexp(mantissa, 1 - bias)
                                   : std::ldexp(1 + mantissa, exponent - bias));
  }
  return levels;
}

double nearest(double magnitude, const std::vector<double>& levels) {
  const auto above = std::lower_bound(levels.begin(), levels.end(), magnitude);
  if (above == levels.begin()) return *above;
  if (above == levels.end()) return levels.back();
  const double high = *above - magnitude;
  const double low = magnitude - *(above - 1);
  if (high != low) return high < low ? *above : *(above - 1);
  return (above - levels.begin()) % 2 == 0 ? *above : *(above - 1);
}

void roundTrip(double* x, std::int64_t n, std::int64_t block, double floor,
               const std::vector<double>& levels) {
  for (std::int64_t start = 0; start < n; start += block) {
    const std::int64_t end = std::min(start + block, n);
    double amax = floor;
    for (std::int64_t i = start; i < end; ++i) amax = std::max(amax, std::fabs(x[i]));
    const double scale = std::ldexp(1.0, scaleExponent(amax, levels.back()));
    for (std::int64_t i = start; i < end; ++i) {
      x[i] = std::copysign(nearest(std::fabs(x[i]) / scale, levels), x[i]) * scale;
    }
  }
}

}  // namespace

void roundTripE4m3(double* x, std::int64_t n) {
  static const std::vector<double> levels = floatLevels(3, 7, 127);
  roundTrip(x, n, 64, 1e-4, levels);
}

void roundTripE2m1(double* x, std::int64_t n) {
  static const std::vector<double> levels = floatLevels(1, 1, 8);
  roundTrip(x, n, 32, 6 * 0x1p-126, levels);
}

void hadamard(double* x, std::int64_t n) {
  const std::vector<double> in(x, x + n);
  for (std::int64_t row = 0; row < n; ++row) {
    double total = 0;
    for (std::int64_t column = 0; column < n; ++column) {
      const bool odd = __builtin_parityll(static_cast<unsigned long long>(row & column)) != 0;
      total += odd ? -in[static_cast<std::size_t>(column)] : in[static_cast<std::size_t>(column)];
    }
    x[row] = total / std::sqrt(static_cast<double>(n));
  }
}

}  // namespace qk::reference
