// Owns sparse attention of one token: H query heads over one list of key rows that are also the values; a learned sink per
// head joins the denominator only.
#pragma once

#include <cstdint>

#include "qk/isa.h"

namespace qk::cpu {

// Floats of scratch that `attention` needs for n keys. Key rows at multiples of 64 bytes are read faster.
std::int64_t attentionScratch(std::int64_t heads, std::int64_t dim, std::int64_t n);

// q [heads][dim] (normed, rotated), keys: n >= 1 pointers to rows [dim] in the order window oldest .. newest, then compressed
// ascending; sinks [heads]; out [heads][dim] (not yet rotated back; may be q). scale is headDim^-0.5 and applied to q.k.
// Order: q.k by fma with the dimension ascending; maximum over keys and sink; the sum of exp, and each output, by key
// ascending from +0; the sink's term is added last; then one multiplication by 1 / sum. No tiles show in the bits.
void attention(Isa isa, const float* q, const float* const* keys, std::int64_t n, std::int64_t heads, std::int64_t dim,
               const float* sinks, float scale, float* scratch, float* out);

}  // namespace qk::cpu

namespace qk::reference {

void attention(const double* q, const double* const* keys, std::int64_t n, std::int64_t heads, std::int64_t dim,
               const double* sinks, double scale, double* out);

}  // namespace qk::reference
