// Owns the choice of instruction set. Every operation gives the same bits on each of them; only the speed
// differs.
#pragma once

#include <string_view>

namespace qk {

enum class Isa { portable, avx2, avx512 };

// avx2 also needs FMA and F16C; avx512 needs F, BW, DQ, VL, VNNI and VBMI as well.
bool supported(Isa isa);
// The fastest one that this CPU supports.
Isa bestIsa();
std::string_view name(Isa isa);

}  // namespace qk
