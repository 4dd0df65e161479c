// Owns the encoder of Q2_K, whose search is of another kind than that of the other formats.
#pragma once

#include <cstddef>

namespace qk {

// values [256] -> a superblock of 84 bytes; see quantize.h.
void encodeQ2_K(const float* values, std::byte* block);

}  // namespace qk
