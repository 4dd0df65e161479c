// Owns the mixture-of-experts sub-layer of one chunk: router, routed experts by either plan, shared expert, combine.
#pragma once

#include "qk/combine.h"
#include "workspace.h"

namespace qe {

class ExpertBlock {
 public:
  // input [tokens][D], normed; ids [tokens] for layers that route by token id -> [tokens][D]. Valid until the next call.
  const float* run(const Run& run, const ExpertWeights& weights, const std::int32_t* ids, qk::MoePlan plan, const float* input);
  std::int64_t bytes() const;

 private:
  void route(const Run& run, const ExpertWeights& weights, const std::int32_t* ids, std::int64_t first, std::int64_t count);

  Operand input_;
  Scratch<float> logits_, routeScratch_, routeWeights_, routed_, shared_, result_;
  Scratch<std::int32_t> routeExperts_;
  qk::Routes routes_;
  qk::MoeScratch scratch_;
};

}  // namespace qe
