// Owns selection: the k best of n by (score descending, index ascending), told in ascending index order.
#pragma once

#include <cstdint>

#include "qk/isa.h"

namespace qk::cpu {

// Writes min(k, n) indices to `out` and returns how many. +0 and -0 are equal; NaN ranks below everything.
// n log n at worst, n times the bits that tell the k-th score from its neighbours.
std::int64_t topK(Isa isa, const float* scores, std::int64_t n, std::int64_t k, std::int32_t* out);

}  // namespace qk::cpu

namespace qk::reference {

std::int64_t topK(const double* scores, std::int64_t n, std::int64_t k, std::int32_t* out);

}  // namespace qk::reference
