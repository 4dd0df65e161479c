// Owns the mixture-of-experts sub-layer of one chunk: router, routed experts by either plan, shared expert,
// combine.
#pragma once

#include "switches.h"
#include "workspace.h"

namespace qe {

class ExpertBlock {
 public:
  explicit ExpertBlock(const Switches& switches);

  // inOut [tokens][D]: the normed input, overwritten by the output; ids [tokens] for layers that route by
  // token id.
  void run(const Run& run, const ExpertWeights& weights, const std::int32_t* ids, qk::MoePlan plan,
           float* inOut);
  std::int64_t bytes() const;

 private:
  void route(const Run& run, const ExpertWeights& weights, const std::int32_t* ids);

  qk::MoeOptions options_;
  Operand input_;
  Scratch<float> logits_, routeScratch_, routeWeights_;
  Scratch<std::int32_t> routeExperts_;
  qk::Routes routes_;
  qk::MoeScratch scratch_;
};

}  // namespace qe
