// Owns the hyper-connections around a sub-layer: streams in, one normed vector to the sub-layer, its output
// back.
#pragma once

#include "workspace.h"

namespace qe {

class HyperBlock {
 public:
  // streams [tokens][n][D] -> the sub-layer's input [tokens][D], RMS-normed by `norm`; the caller may write
  // the sub-layer's output over it. Valid until the next call.
  float* enter(const Run& run, const HyperWeights& weights, const std::vector<float>& norm,
               const float* streams);
  // Takes the sub-layer's output [tokens][D] back into the streams, with what enter() found.
  void leave(const Run& run, const float* output, float* streams);
  // leave() of one sub-layer and enter() of the next, a few tokens at a time: their streams, which are by far the largest
  // thing that either touches, are still in the cache. The same bits.
  float* cross(const Run& run, const float* output, const HyperWeights& next, const std::vector<float>& nextNorm,
               float* streams);
  // The last merge of the streams of `tokens` tokens, RMS-normed: [tokens][D].
  const float* head(const Run& run, const HyperWeights& weights, const std::vector<float>& norm,
                    const float* streams, std::int64_t tokens);
  // What a token takes of the workspace.
  static std::int64_t bytesPerToken(const qk::Dimensions& dimensions) {
    const std::int64_t n = dimensions.streams;
    return (dimensions.hidden + n + n * n) * static_cast<std::int64_t>(sizeof(float));
  }
  std::int64_t bytes() const { return input_.bytes() + post_.bytes() + mix_.bytes(); }

 private:
  // What a sub-layer works on: input [tokens][D], post [tokens][n], mix [tokens][n][n].
  struct Vectors {
    float* input;
    float* post;
    float* mix;
  };
  Vectors take(const Run& run);

  Scratch<float> input_, post_, mix_;
};

}  // namespace qe
