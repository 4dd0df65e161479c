// Owns the mixture-of-experts sub-layer of one chunk: router, routed experts by either plan, shared expert,
// combine.
#pragma once

#include "planted_fault.h"
#include "qk/owners.h"
#include "switches.h"
#include "workspace.h"

namespace qe {

class ExpertBlock {
 public:
  // All must outlive the block; owners is null when the experts are not divided.
  ExpertBlock(const Model& model, const Switches& switches, qk::Owners* owners, PlantedFault& planted);

  // What a token of a chunk takes of the workspace, without what does not grow with the tokens. The serial plan and
  // owners write the rows of all routes, as does the grouped plan without the fused combine.
  static std::int64_t bytesPerToken(const Model& model, const Switches& switches);

  // inOut [tokens][D]: the normed input, overwritten by the output; ids [tokens] for layers that route by
  // token id.
  void run(const Run& run, const ExpertWeights& weights, const std::int32_t* ids, qk::MoePlan plan,
           float* inOut);
  std::int64_t bytes() const;

 private:
  void route(const Run& run, const ExpertWeights& weights, const std::int32_t* ids);

  qk::MoeTimes evaluate(const Run& run, const ExpertWeights& weights, qk::MoePlan plan, float* inOut);

  qk::MoeOptions options_;
  qk::Owners* owners_;
  PlantedFault& planted_;
  const ExpertWeights* scaledLayer_;  // of Fault::ExpertScale
  Operand input_;
  Scratch<float> logits_, routeScratch_, routeWeights_;
  Scratch<std::int32_t> routeExperts_;
  qk::Routes routes_;
  qk::MoeScratch scratch_;
};

}  // namespace qe
