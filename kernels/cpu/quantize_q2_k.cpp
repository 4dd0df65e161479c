// Owns the encoder of Q2_K: weight = d * scale * code - dmin * minimum, with 4-bit scale and minimum for each 16
// weights.
//
// For 16 values x the pair (step, low) is searched that makes sum |x| * |step * code + low - x| least, code in 0..3 and
// low <= 0. The first guess spreads the codes over [min(x, 0), max(x)]; 16 further tries round the values with a step
// that is somewhat shorter or longer than that, and fit (step, low) to those codes by weighted least squares.
// Operations and their order are those of ggml's reference quantiser, so that the weights are the same; only the codes
// of a group whose scale comes out as 0, which mean nothing, are left over there and 0 here.
//
// Work: 17 roundings and errors of each weight, about 30 operations each. Reached (SSE2, Zen 1, 2.0 GHz, one thread):
// 5.6 million weights a second.
#include "cpu/quantize_q2_k.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "qk/half.h"

namespace qk {
namespace {

constexpr std::size_t kGroup = 16;
constexpr std::size_t kGroups = 16;
constexpr int kMostCode = 3;
constexpr int kMostScale = 15;
constexpr int kTries = 16;

using Values = std::array<float, kGroup>;
using Codes = std::array<int, kGroup>;

struct Fit {
  float step = 0;
  float low = 0;  // at most 0
};

// Nearest whole number, ties to even, brought into 0..most; NaN gives 0.
int rounded(float value, int most) {
  if (!(value > 0)) return 0;
  if (value >= static_cast<float>(most)) return most;
  return static_cast<int>(std::nearbyint(value));
}

Codes codesOf(const Values& x, float low, float inverse) {
  Codes codes{};
  for (std::size_t i = 0; i < kGroup; ++i) codes[i] = rounded(inverse * (x[i] - low), kMostCode);
  return codes;
}

float errorOf(const Values& x, const Codes& codes, const Fit& fit) {
  float error = 0;
  for (std::size_t i = 0; i < kGroup; ++i) {
    error += std::fabs(x[i]) * std::fabs(fit.step * static_cast<float>(codes[i]) + fit.low - x[i]);
  }
  return error;
}

// Least squares of step * code + low against x, weighted by |x|. False when all codes are equal. A positive low is not
// representable: then the line goes through zero.
bool leastSquares(const Values& x, const Codes& codes, Fit& fit) {
  float sumW = 0;
  float sumX = 0;
  float sumL = 0;
  float sumL2 = 0;
  float sumXL = 0;
  for (std::size_t i = 0; i < kGroup; ++i) {
    const float w = std::fabs(x[i]);
    const auto l = static_cast<float>(codes[i]);
    sumW += w;
    sumX += w * x[i];
    sumL += w * l;
    sumL2 += w * l * l;
    sumXL += w * l * x[i];
  }
  const float determinant = sumW * sumL2 - sumL * sumL;
  if (!(determinant > 0)) return false;
  fit.step = (sumW * sumXL - sumX * sumL) / determinant;
  fit.low = (sumL2 * sumX - sumL * sumXL) / determinant;
  if (fit.low > 0) fit = {sumXL / sumL2, 0};
  return true;
}

Fit searchFit(const Values& x) {
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  Fit best{0, std::min(*least, 0.0f)};
  // All equal, or steps that F16 does not know.
  if (!(*most - best.low > std::numeric_limits<float>::min() * kMostCode)) return best;
  const float first = static_cast<float>(kMostCode) / (*most - best.low);
  best.step = 1 / first;
  float bestError = errorOf(x, codesOf(x, best.low, first), best);
  for (int i = 0; i < kTries; ++i) {
    const float steps = -0.5f + 0.1f * static_cast<float>(i) + static_cast<float>(kMostCode);
    const Codes codes = codesOf(x, best.low, steps / (*most - best.low));  // from the best low so far
    Fit fit;
    if (!leastSquares(x, codes, fit)) continue;
    const float error = errorOf(x, codes, fit);
    if (error < bestError) {
      best = fit;
      bestError = error;
    }
  }
  return best;
}

// Values of the sixteen groups in units of a sixteenth of the largest: 4-bit numbers and the unit as F16.
std::uint16_t roundTogether(const std::array<float, kGroups>& values, std::array<int, kGroups>& whole) {
  const float largest = std::max(0.0f, *std::max_element(values.begin(), values.end()));
  if (largest == 0) return 0;
  const float inverse = static_cast<float>(kMostScale) / largest;
  for (std::size_t g = 0; g < kGroups; ++g) whole[g] = rounded(inverse * values[g], kMostScale);
  return floatToHalf(largest / static_cast<float>(kMostScale));
}

}  // namespace

void encodeQ2_K(const float* values, std::byte* block) {
  std::array<Values, kGroups> x{};
  std::array<float, kGroups> steps{};
  std::array<float, kGroups> minima{};
  for (std::size_t g = 0; g < kGroups; ++g) {
    for (std::size_t i = 0; i < kGroup; ++i) {
      const float value = values[g * kGroup + i];
      x[g][i] = std::isfinite(value) ? value : 0.0f;
    }
    const Fit fit = searchFit(x[g]);
    steps[g] = fit.step;
    minima[g] = -fit.low;
  }
  std::array<int, kGroups> scale{};
  std::array<int, kGroups> minimum{};
  const std::uint16_t d = roundTogether(steps, scale);
  const std::uint16_t dmin = roundTogether(minima, minimum);
  std::memset(block, 0, 80);
  for (std::size_t g = 0; g < kGroups; ++g) {
    block[g] = static_cast<std::byte>(scale[g] | minimum[g] << 4);
    const float step = halfToFloat(d) * static_cast<float>(scale[g]);
    const float low = halfToFloat(dmin) * static_cast<float>(minimum[g]);
    for (std::size_t i = 0; i < kGroup && step != 0; ++i) {
      const int code = rounded((x[g][i] + low) / step, kMostCode);
      // Within its half of 128: byte k % 32 of the half, at bit 2 (k / 32).
      const std::size_t k = g % 8 * kGroup + i;
      block[16 + g / 8 * 32 + k % 32] |= static_cast<std::byte>(code << (2 * (k / 32)));
    }
  }
  std::memcpy(block + 80, &d, sizeof d);
  std::memcpy(block + 82, &dmin, sizeof dmin);
}

}  // namespace qk
