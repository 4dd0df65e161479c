// Owns the fp64 form of RMSNorm, rotary embedding and SwiGLU.
#include <algorithm>
#include <cmath>

#include "qk/rms_norm.h"
#include "qk/rope.h"
#include "qk/swiglu.h"

namespace qk::reference {

void rmsNorm(const double* x, std::int64_t rows, std::int64_t n, const double* weight, double eps,
             double* y) {
  for (std::int64_t row = 0; row < rows; ++row, x += n, y += n) {
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) squares += x[i] * x[i];
    const double r = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * r * (weight != nullptr ? weight[i] : 1);
  }
}

void rope(double* x, std::int64_t rows, std::int64_t n, const std::vector<double>& frequencies,
          std::int64_t position, bool inverse) {
  const auto pairs = static_cast<std::int64_t>(frequencies.size());
  for (std::int64_t row = 0; row < rows; ++row, x += n) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double angle =
          static_cast<double>(position) * frequencies[static_cast<std::size_t>(i)] * (inverse ? -1 : 1);
      double* pair = x + n - 2 * pairs + 2 * i;
      const double real = pair[0] * std::cos(angle) - pair[1] * std::sin(angle);
      const double imaginary = pair[0] * std::sin(angle) + pair[1] * std::cos(angle);
      pair[0] = real;
      pair[1] = imaginary;
    }
  }
}

void swiglu(const double* gate, const double* up, std::int64_t n, double limit, double weight, double* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double g = std::min(gate[i], limit);
    const double u = std::clamp(up[i], -limit, limit);
    out[i] = g / (1 + std::exp(-g)) * u * weight;
  }
}

}  // namespace qk::reference
