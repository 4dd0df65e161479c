// Rounding of float rows to the storage formats of weights; the inverse of `dequantize` (format.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "qk/format.h"

namespace qk {

// Encodes n consecutive values (a multiple of the block) into n / block blocks.
//   F32 copy; F16, BF16 round to nearest even; Q8_0 scale = amax / 127; Q4_0 scale = (value of largest magnitude) / -8
//   (both as ggml's reference quantiser, F16 scale).
//   ROCmFP2, ROCmFP3: for each group of 16 the scale byte of 1..126 with the least squared error, summed in float in
//   index order; ties take the lowest byte; an all-zero group has byte 0; a non-finite value becomes the zero level.
// Throws std::invalid_argument for I32 or an n that is not a multiple of the block.
void quantize(Type type, const float* values, std::int64_t n, std::byte* blocks);

}  // namespace qk
