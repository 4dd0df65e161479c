// Owns the memory of one chunk's evaluation. Buffers grow to the largest chunk seen and are shared by all
// layers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "model.h"
#include "qk/activations.h"
#include "qk/aligned_buffer.h"
#include "qk/execution.h"
#include "qk/matmul.h"
#include "qk/mmid.h"
#include "qk/routes.h"
#include "qk/rope.h"
#include "timings.h"

namespace qe {

// Grows only; contents are lost when it does.
template <typename T>
class Scratch {
 public:
  T* take(std::int64_t count) {
    buffer_.reserve(static_cast<std::size_t>(count) * sizeof(T));
    return buffer_.as<T>();
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(buffer_.bytes()); }

 private:
  qk::AlignedBuffer buffer_;
};

// Rows that matmuls read: fp32, and int8 when one of the weights asks for it.
class Operand {
 public:
  // values [rows][cols], row r at values + r * stride; they must outlive the uses.
  void prepare(qk::Execution& execution, const float* values, std::int64_t rows, std::int64_t cols,
               std::int64_t stride, std::initializer_list<const qk::PackedWeights*> readers);
  // The rows from `firstRow` on.
  qk::Inputs from(std::int64_t firstRow) const;
  std::int64_t bytes() const { return blocks_.bytes(); }
  // Of a row of `cols` in int8.
  static std::int64_t rowBytes(std::int64_t cols) {
    const std::int64_t blocks = (cols + qk::activationBlock - 1) / qk::activationBlock;
    return blocks * static_cast<std::int64_t>(sizeof(qk::ActivationBlock));
  }

 private:
  const float* values_ = nullptr;
  std::int64_t stride_ = 0;
  bool quantised_ = false;
  qk::Activations blocks_;
};

// What every stage of a chunk is given.
struct Run {
  const qk::Dimensions& dimensions;
  qk::Execution& execution;
  StageClock& clock;
  std::int64_t start;   // position of the chunk's first token
  std::int64_t tokens;  // of the chunk
};

// Calls fn(begin, end, thread) for ranges of at most `perItem` tokens that cover [0, tokens).
template <typename Fn>
void forTokens(qk::ThreadPool& pool, std::int64_t tokens, std::int64_t perItem, const Fn& fn) {
  pool.run((tokens + perItem - 1) / perItem, [&](std::int64_t item, int thread) {
    fn(item * perItem, std::min(tokens, (item + 1) * perItem), thread);
  });
}

}  // namespace qe
