// Owns the weights of a created model: which type and which values each tensor has, and any range of its blocks.
//
// Decisive weights (the default): the output row of token pi(t) is the embedding row of t times a power of two, with pi
// one fixed cycle over the bytes and one over the padding tokens, so that the token alone would decide the next one. The
// layers add vectors whose length is chosen against the width, so that they change the answer at about one position in
// ten and every logit everywhere. Keys are long (norm weight 2), which makes attention choose a few keys instead of
// averaging all: losing one key then shows.
// Stress weights: every tensor F32 and independent normal numbers, for comparison with an oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "counter_random.h"
#include "qk/dimensions.h"
#include "qk/format.h"
#include "tensor_layout.h"

namespace qe {

// Changes whenever a byte of any created file would.
inline constexpr std::int64_t kGeneratorVersion = 1;

// Types of the routed experts by name: rocmfp2 (down is rocmfp3), and, for all three alike, rocmfp4, rocmfp4_fast, q2_k,
// q4_0, q8_0, mxfp4, f16, f32.
struct ExpertTypes {
  qk::Type gateUp;
  qk::Type down;
};
// Throws std::invalid_argument naming what exists.
ExpertTypes expertTypes(std::string_view name);

// Type of the matrices that are no experts, by name: f16, f32, and without a name q8_0. Float matrices take activations as
// they are; the others have them rounded to int8. Throws std::invalid_argument naming what exists.
qk::Type generatedDense(std::string_view name);

class WeightsGenerator {
 public:
  WeightsGenerator(const qk::Dimensions& dimensions, std::uint64_t seed, ExpertTypes experts, qk::Type dense,
                   bool stress);

  qk::Type typeOf(const TensorSpec& tensor) const;
  // Writes blocks [first, first + count) of the tensor, row after row as they lie in the file. Pure: any range, any
  // order, any thread.
  void blocks(const TensorSpec& tensor, std::int64_t first, std::int64_t count, std::byte* out) const;

  // pi: the token that the embedding of t points at. Bytes stay bytes and padding stays padding; the two special tokens
  // point at themselves, so that they hardly ever come up.
  const std::vector<std::int32_t>& successor() const { return successor_; }

 private:
  double deviation(const TensorSpec& tensor) const;
  float mean(const TensorSpec& tensor, std::int64_t index) const;
  void outputBlocks(const TensorSpec& tensor, std::int64_t first, std::int64_t count, std::byte* out) const;
  void tokenExperts(const TensorSpec& tensor, std::int64_t first, std::int64_t count, std::byte* out) const;

  qk::Dimensions dimensions_;
  std::uint64_t seed_;
  ExpertTypes experts_;
  qk::Type dense_;
  bool stress_;
  std::vector<std::int32_t> successor_;
  std::vector<std::int32_t> predecessor_;
};

}  // namespace qe
