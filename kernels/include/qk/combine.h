// Owns the sum over a token's experts, in a fixed order.
#pragma once

#include <cstdint>

#include "qk/execution.h"
#include "qk/routes.h"

namespace qk {

// out[t] = +0, plus y[packed row] of every live slot in slot order (masked slots contribute exactly +0: they
// are not read), plus shared[t] last when shared is not null. y [packed rows][width], shared and out
// [T][width].
void combine(Execution& ex, const Routes& routes, const float* y, const float* shared, std::int64_t width,
             float* out);

}  // namespace qk
