// Owns the decision which blocks of 128 can be summed as integers.
//
// Rule of a block: bacc = +0, then bacc = fma(float(dot), scale, bacc) for 8 groups. A scale is
// n * 2^(e - 11) with 0 <= n <= 15. Let E be the smallest e of a row's groups that are not zero, and N the
// numerators in its unit: scale = N * 2^(E - 11). Every partial sum is then an integer times 2^(E - 11), of at most
// sum(|dot| * N) with |dot| <= 16 * level * 127. If that bound is below 2^24, every fma is exact, whatever the
// order, and so is a sum of runs of groups, each an exact int32 times its own power of two (e of a run is at least
// E). Zero: a group with scale 0 or dot 0 adds +-0 to a sum that began at +0, which leaves it; exact cancellation
// gives +0 in either way; so a sum is never -0. Subnormal bytes are n = m at e = 1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/packed_layout.h"

namespace qk {

// scales: [8][16] UE4M3 bytes of a block; chooses the fewest runs (1, 2, 4) of which every numerator is at most
// `limit`, rewrites the bytes and returns the number; 8 leaves them. maxLevel: the largest magnitude of a level.
int foldScales(std::byte* scales, int limit, int maxLevel);

}  // namespace qk
