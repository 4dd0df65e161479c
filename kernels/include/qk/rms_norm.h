// Owns RMSNorm: y = x / sqrt(mean(x^2) + eps) * weight.
#pragma once

#include <cstdint>

#include "qk/isa.h"

namespace qk::cpu {

// `rows` vectors of `n` values, one after the other, each normalised by itself; weight [n] or null for none.
// The sum of squares has the order of qk::cpu::dot. `y` may be `x`. Threads may take any range of rows.
void rmsNorm(Isa isa, const float* x, std::int64_t rows, std::int64_t n, const float* weight, float eps,
             float* y);

}  // namespace qk::cpu

namespace qk::reference {

void rmsNorm(const double* x, std::int64_t rows, std::int64_t n, const double* weight, double eps,
             double* y);

}  // namespace qk::reference
