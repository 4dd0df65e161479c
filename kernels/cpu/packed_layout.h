// Owns the layout of a packed tile of 16 rows: the codes of all blocks of 128 k, then the scales of all blocks,
// then one byte a block: the number of runs (below). K is padded to whole blocks with scale +0: such groups meet
// activations that are zero, and add +0 to a sum that is never -0. Lane r (4 bytes wide) belongs to row r; an
// operand is 64 bytes: 4 consecutive k of every row, as the byte dot product wants them. A block is 4 steps of 32:
//
//   codes of a step                                                         scales of a block
//   ROCmFP2, Q2_K  128  [group of 16][lane], bits 2s of byte j: k = 4s + j  ROCmFP*, MXFP4: [group][row] bytes
//   ROCmFP3        192  as ROCmFP2 (index of magnitude), then [lane] bit s  Q4_0, Q8_0: [group][row] fp16
//                       of byte j: sign of k = 4s + j, s < 8                Q2_K: [group][row] bytes, then d and
//   Q4_0, ROCmFP4, 256  [p < 4][lane] byte j: low nibble k = 4p + j,              dmin [row] fp16
//   _FAST, MXFP4        high k = 16 + 4p + j
//   Q8_0           512  [s < 8][lane] byte j: code + 128 of k = 4s + j
//
// Runs (ROCmFP2 and ROCmFP3; 8 / runs groups each): in a block whose every partial sum is an integer below 2^24
// in one unit, each fma of the rule is exact, so any exact way gives its bits (packed_fold.h). Then the scale
// bytes of the block hold numerators n, scale = n * 2^(e - 11) with e the same for a row's groups of one run: n in
// the lower six bits, and in the upper two of a run's first and second group the lower and upper half of e. With 8
// runs the bytes are UE4M3 and the rule is followed as it is written.
//
// Float types have neither: [k][row] in the file's type.
#pragma once

#include <cstdint>

namespace qk {

inline constexpr std::int64_t blockLength = 128;  // k; of an activation block too
inline constexpr std::int64_t stepLength = 32;
inline constexpr std::int64_t groupsPerBlock = 8;  // of 16

inline constexpr std::int64_t codeBytesROCmFP2 = 512;  // a block
inline constexpr std::int64_t codeBytesROCmFP3 = 768;
inline constexpr std::int64_t codeBytesNibbles = 1024;
inline constexpr std::int64_t codeBytesQ8_0 = 2048;

inline constexpr std::int64_t scaleBytes16 = 128;  // a byte a group of 16
inline constexpr std::int64_t scaleBytes32 = 64;
inline constexpr std::int64_t scaleBytesF16 = 128;
inline constexpr std::int64_t scaleBytesQ2_K = 192;

// Largest numerators for which 128 + level * n is a byte: levels up to 2 and 4.
inline constexpr int numeratorLimitROCmFP2 = 63;
inline constexpr int numeratorLimitROCmFP3 = 31;

}  // namespace qk
