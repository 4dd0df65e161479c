// Owns weights in the order in which the kernels read them: tiles of 16 rows, 16 lanes side by side, at the
// file's bits per weight. Made once at load; the mapped file is not needed afterwards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "qk/aligned_buffer.h"
#include "qk/matrix.h"
#include "qk/thread_pool.h"

namespace qk {

inline constexpr std::int64_t tileRows = 16;

// True for types whose matmul takes int8 activations (rule 4); false for F32, F16, BF16, which take fp32.
bool takesInt8(Type type);

// One packed matrix, not owned: ceil(rows / 16) tiles of tileBytes each. Rows beyond `rows` in the last tile
// are zero.
struct PackedMatrix {
  Type type = Type::F32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t tileBytes = 0;
  const std::byte* tiles = nullptr;  // 64-byte aligned

  std::int64_t tileCount() const { return (rows + tileRows - 1) / tileRows; }
};

// One matrix, or E experts of one shape.
class PackedWeights {
 public:
  PackedWeights() = default;
  // Throws std::invalid_argument for a type without kernels (I32), an empty shape, or cols that are not
  // a multiple of the type's block (32, of Q2_K 256).
  PackedWeights(ThreadPool& pool, const Matrix& matrix);
  PackedWeights(ThreadPool& pool, const ExpertMatrices& experts);

  std::int64_t count() const { return count_; }
  // Expert e, 0 for a single matrix.
  PackedMatrix matrix(std::int64_t e = 0) const;
  std::size_t bytes() const { return tiles_.bytes(); }

 private:
  PackedMatrix shape_;
  std::int64_t count_ = 0;
  AlignedBuffer tiles_;
};

}  // namespace qk
