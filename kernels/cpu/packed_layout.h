// Owns the layout of a packed tile of 16 rows: the codes of all steps of 32 k, then the scales of all steps.
// Lane r (4 bytes wide) belongs to row r; an operand is 64 bytes: 4 consecutive k of every row, as the byte
// dot product wants them. Bytes of codes and of scales a step:
//
//   ROCmFP2  128  [group of 16 k][lane], bits 2s of byte j: k = 4s + j               32  [group][row] UE4M3
//   ROCmFP3  192  as ROCmFP2 (index of magnitude), then [lane] bit s of byte j:
//                 sign of k = 4s + j, s < 8                                          32  [group][row] UE4M3
//   Q4_0     256  [p < 4][lane] byte j: low nibble k = 4p + j, high k = 16 + 4p + j  32  [row] fp16
//   Q8_0     512  [s < 8][lane] byte j: code + 128 of k = 4s + j                     32  [row] fp16
//
// Float types have no steps: [k][row] in the file's type.
#pragma once

#include <cstdint>

namespace qk {

inline constexpr std::int64_t stepLength = 32;  // k
inline constexpr std::int64_t scaleBytesPerStep = 32;

inline constexpr std::int64_t codeBytesROCmFP2 = 128;
inline constexpr std::int64_t codeBytesROCmFP3 = 192;
inline constexpr std::int64_t codeBytesQ4_0 = 256;
inline constexpr std::int64_t codeBytesQ8_0 = 512;

}  // namespace qk
