// Rounding of float rows to the storage formats of weights; the inverse of `dequantize` (format.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "qk/format.h"

namespace qk {

// Encodes n consecutive values (a multiple of the block) into n / block blocks.
//   F32 copy; F16, BF16 round to nearest even; Q8_0 scale = amax / 127; Q4_0 scale = (value of largest magnitude) / -8
//   (both as ggml's reference quantiser, F16 scale).
//   ROCmFP2, ROCmFP3, ROCmFP4, ROCmFP4_FAST: for each group of one scale the scale byte of 1..126 with the least squared
//   error, summed in float in index order; ties take the lowest byte; an all-zero group has byte 0.
//   MXFP4: scale byte 127 + floor(log2(amax)) - 2, at least 0; nearest level, at a tie the smaller magnitude.
//   Q2_K: for each 16 values the (scale, minimum) of 17 tries with the least error weighted by |x|, then scales and minima
//   rounded to 4 bits against the largest of the superblock (the same weights as ggml's reference quantiser gives).
//   A value that is not finite becomes the zero level of the ROCmFP family, and 0 before MXFP4 and Q2_K are made.
// `importance` [n] (null: all alike) makes the error of value i of a ROCmFP type count importance[i] * sqrt(m + x[i]^2)
// times, m the mean square of the n values, which are one row of the matrix; a weight that is negative or not finite is 0.
// Throws std::invalid_argument for I32, an n that is not a multiple of the block, or importance for any other type.
void quantize(Type type, const float* values, std::int64_t n, std::byte* blocks, const float* importance = nullptr);

// True for the types whose quantiser takes an importance.
bool takesImportance(Type type);

}  // namespace qk
