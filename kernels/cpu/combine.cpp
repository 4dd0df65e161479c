// Owns the sum over a token's routes in slot order.
//
// k D floats of rows and D of the shared expert are read and D written for (k + 1) D additions: memory bound, 64 KB a
// token of `small`. Reached: 1.3 ms at 401 tokens of `mini`, 10 GB/s (AVX2, Zen 1, 2 threads, shared). The grouped
// plan's fused sum does without it.
#include "qk/combine.h"

#include <algorithm>

#include "cpu/kernels.h"

namespace qk {

void combine(Execution& ex, const Routes& routes, const float* y, const float* shared, std::int64_t width,
             float* out) {
  ex.counters.add(Kernel::combine);
  const auto add = QK_PICK(ex.isa, addRow);
  constexpr std::int64_t tokensPerItem = 16;
  ex.pool.run((routes.tokens + tokensPerItem - 1) / tokensPerItem, [&](std::int64_t item, int) {
    const std::int64_t last = std::min(routes.tokens, (item + 1) * tokensPerItem);
    for (std::int64_t t = item * tokensPerItem; t < last; ++t) {
      float* sum = out + t * width;
      std::fill(sum, sum + width, 0.0f);
      for (std::int64_t slot = 0; slot < routes.slots; ++slot) {
        const std::int32_t row = routes.packedRow[static_cast<std::size_t>(t * routes.slots + slot)];
        if (row >= 0) add(y + row * width, width, sum);
      }
      if (shared != nullptr) add(shared + t * width, width, sum);
    }
  });
}

}  // namespace qk
