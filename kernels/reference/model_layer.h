// Owns what the oracle's two sub-layers have in common.
#pragma once

#include "qk/reference_model.h"

namespace qk::reference {

// out[r] = sum_c matrix[r][c] * x[c] of the rows first .. first + rows - 1.
Values product(const Values& matrix, std::int64_t first, std::int64_t rows, const double* x,
               std::int64_t cols);
Values product(const Values& matrix, std::int64_t rows, const Values& x);

Values normed(const Values& x, const double* weight, double eps);

// One sub-layer over all tokens: normed inputs [T] of [hidden] -> outputs [T] of [hidden].
std::vector<Values> attentionLayer(const Dimensions& d, std::int32_t ratio, const LayerWeights& w,
                                   const std::vector<Values>& inputs);
std::vector<Values> expertLayer(const Dimensions& d, std::int64_t layer, const LayerWeights& w,
                                const std::vector<std::int32_t>& tokens, const std::vector<Values>& inputs);

}  // namespace qk::reference
