// A weight matrix as it lies in the file: `rows` rows of `cols` values (GGUF ne[0] = cols), packed, not owned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "qk/format.h"

namespace qk {

struct Matrix {
  Type type = Type::F32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;  // K, the length of the dot product
  const std::byte* data = nullptr;

  std::int64_t rowBytes() const { return cols / format(type).weights * format(type).bytes; }
  const std::byte* row(std::int64_t r) const { return data + r * rowBytes(); }
};

// `experts` matrices of one shape, one after the other; or those of them that `chosen` names.
struct ExpertMatrices {
  Matrix first;
  std::int64_t experts = 0;
  const std::int32_t* chosen = nullptr;  // [experts]

  Matrix expert(std::int64_t e) const {
    Matrix m = first;
    m.data += (chosen != nullptr ? chosen[e] : e) * m.rows * m.rowBytes();
    return m;
  }
};

}  // namespace qk
