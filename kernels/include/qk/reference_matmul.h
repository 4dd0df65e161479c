// Plain twins of the matmul, for tests: they read the file's blocks, not the packed tiles, one output at a
// time.
#pragma once

#include <cstdint>
#include <vector>

#include "qk/activations.h"
#include "qk/matrix.h"

namespace qk::reference {

// x [cols] -> blocks of 128, by the definition in qk/activations.h.
std::vector<ActivationBlock> quantize(const float* x, std::int64_t cols);
// The values that the blocks stand for.
std::vector<double> dequantize(const std::vector<ActivationBlock>& blocks, std::int64_t cols);

// One row times one token in fp32, exactly in the order that qk/matmul.h defines: what every kernel must
// equal to the bit.
float dotExactOrder(const Matrix& w, std::int64_t row, const std::vector<ActivationBlock>& x);
float dotExactOrder(const Matrix& w, std::int64_t row, const float* x);

// The dequantised row times x, in fp64.
double dot(const Matrix& w, std::int64_t row, const double* x);

}  // namespace qk::reference
