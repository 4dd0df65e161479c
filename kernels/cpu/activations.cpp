// Owns quantising over the pool.
#include "qk/activations.h"

#include <algorithm>

#include "cpu/kernels.h"

namespace qk {

void Activations::resize(std::int64_t rows, std::int64_t cols) {
  rows_ = rows;
  cols_ = cols;
  blocks_ = (cols + activationBlock - 1) / activationBlock;
  data_.reserve(static_cast<std::size_t>(rows_ * blocks_) * sizeof(ActivationBlock));
}

void quantize(Execution& ex, const float* x, std::int64_t rows, std::int64_t cols, std::int64_t stride,
              Activations& out) {
  ex.counters.add(Kernel::quantize);
  out.resize(rows, cols);
  const auto kernel = QK_PICK(ex.isa, quantizeRow);
  constexpr std::int64_t rowsPerItem = 16;
  ex.pool.run((rows + rowsPerItem - 1) / rowsPerItem, [&](std::int64_t item, int) {
    const std::int64_t last = std::min(rows, (item + 1) * rowsPerItem);
    for (std::int64_t r = item * rowsPerItem; r < last; ++r) kernel(x + r * stride, cols, out.row(r));
  });
}

}  // namespace qk
