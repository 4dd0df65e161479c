// Owns routing: affinity sqrt(softplus(logit)); the experts are the top k of affinity + bias (bias for
// selection only) or, in hash layers, those of a table by token id; weights are the unbiased affinities over
// their sum, times a scale.
#pragma once

#include <cstdint>

#include "qk/isa.h"

namespace qk {

struct RouterShape {
  std::int64_t experts = 0;  // E
  std::int64_t used = 0;     // k
  bool normalise = true;
  float scale = 1;
};

}  // namespace qk

namespace qk::cpu {

// Floats of scratch for one call.
inline std::int64_t routeScratch(const RouterShape& shape) { return 2 * shape.experts; }

// One token. logits [E]; bias [E] or null; hashExperts: null, or the k ids of the token's row of the table
// (then bias is not used). Writes experts [k] ascending and weights [k] = affinity / sum * scale (no floor
// under the sum; sum in that order). Throws std::out_of_range for a hash id outside [0, E).
void route(Isa isa, const RouterShape& shape, const float* logits, const float* bias,
           const std::int32_t* hashExperts, float* scratch, std::int32_t* experts, float* weights);

}  // namespace qk::cpu

namespace qk::reference {

void route(const RouterShape& shape, double scale, const double* logits, const double* bias,
           const std::int32_t* hashExperts, std::int32_t* experts, double* weights);

}  // namespace qk::reference
