// Owns random weights in every storage format, written as codes and scales directly: no quantiser, no float copy.
//
// Codes are drawn with mean 0 (a uniform draw of Q4_0 or ROCmFP2 codes would not have it), and the scale of each block or
// group varies a little around the wanted deviation, so that a kernel that mixes up scales does not go unseen.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counter_random.h"
#include "qk/format.h"

namespace qe {

// Writes blocks [first, first + count) of an endless random tensor of the given deviation. Equal arguments give equal
// bytes, and a deviation times a power of two gives the same codes with scales times that power.
// Throws std::invalid_argument for I32.
void randomBlocks(const CounterRandom& random, qk::Type type, double deviation, std::int64_t first, std::int64_t count,
                  std::byte* out);

}  // namespace qe
