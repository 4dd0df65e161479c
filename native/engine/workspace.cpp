#include "workspace.h"

namespace qe {

void Operand::prepare(qk::Execution& execution, const float* values, std::int64_t rows, std::int64_t cols,
                      std::int64_t stride, std::initializer_list<const qk::PackedWeights*> readers) {
  values_ = values;
  stride_ = stride;
  quantised_ = std::any_of(readers.begin(), readers.end(), [](const qk::PackedWeights* reader) {
    return qk::takesInt8(reader->matrix().type);
  });
  if (quantised_) qk::quantize(execution, values, rows, cols, stride, blocks_);
}

qk::Inputs Operand::from(std::int64_t firstRow) const {
  qk::Inputs inputs;
  inputs.values = values_ + firstRow * stride_;
  inputs.valueStride = stride_;
  if (quantised_) {
    inputs.blocks = blocks_.row(firstRow);
    inputs.blockStride = blocks_.blocksPerRow();
  }
  return inputs;
}

}  // namespace qe
