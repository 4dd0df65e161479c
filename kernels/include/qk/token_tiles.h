// Owns the choice of how the rows of an expert are cut into token tiles. The cut shows in no bit.
#pragma once

namespace qk {

// adaptive: as few tiles as hold the rows, evenly filled (9 rows are 5 + 4), each by the kernel of its own
// width. fixed: every tile is as wide as the kernel's widest; the last one is filled up with repetitions of its
// last row, whose results are dropped.
enum class TokenTiles { adaptive, fixed };

}  // namespace qk
