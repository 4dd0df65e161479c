// Owns greedy choice.
#pragma once

#include <cstdint>

namespace qk::cpu {

// Index of the largest of n >= 1 logits, the lowest at a tie. Throws std::domain_error naming the index of a
// NaN.
std::int64_t argmax(const float* logits, std::int64_t n);

}  // namespace qk::cpu
