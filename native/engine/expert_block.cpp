// The experts of a slice of a chunk.
#include "expert_block.h"

#include "qk/router.h"

namespace qe {
namespace {

constexpr std::int64_t kTokensPerItem = 16;

}  // namespace

ExpertBlock::ExpertBlock(const Switches& switches)
    : options_{switches.fusedCombine, switches.persistentQueue, switches.adaptiveTile} {}

std::int64_t ExpertBlock::bytes() const {
  return routeExperts_.bytes() + input_.bytes() + scratch_.bytes() + logits_.bytes() + routeScratch_.bytes() +
         routeWeights_.bytes();
}

void ExpertBlock::run(const Run& run, const ExpertWeights& weights, const std::int32_t* ids,
                      qk::MoePlan plan, float* inOut) {
  const Stage outer = run.clock.enter(Stage::Router);
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t hidden = dimensions.hidden;
  const qk::MoeWeights routedWeights{&weights.gate, &weights.up, &weights.down, weights.clamp};
  const qk::MoeWeights sharedWeights{&weights.sharedGate, &weights.sharedUp, &weights.sharedDown,
                                     weights.clamp};
  input_.prepare(run.execution, inOut, run.tokens, hidden, hidden,
                 {&weights.router, &weights.gate, &weights.up, &weights.sharedGate, &weights.sharedUp});
  route(run, weights, ids);
  run.clock.enter(Stage::MoeGateUp);
  const qk::MoeTimes times = qk::moe(run.execution, plan, options_, routedWeights, &sharedWeights, input_.from(0),
                                     routes_, scratch_, inOut);
  run.clock.enter(outer);
  const auto moveFromGateUp = [&](Stage stage, std::int64_t ns) {
    run.clock.move(Stage::MoeGateUp, stage, static_cast<double>(ns) * 1e-6);
  };
  moveFromGateUp(Stage::MoeDown, times.downNs);
  moveFromGateUp(Stage::MoeShared, times.sharedNs);
  moveFromGateUp(Stage::MoeCombine, times.combineNs);
}

void ExpertBlock::route(const Run& run, const ExpertWeights& weights, const std::int32_t* ids) {
  const std::int64_t count = run.tokens;
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t experts = dimensions.experts;
  const std::int64_t used = dimensions.expertsUsed;
  const qk::RouterShape shape{experts, used, dimensions.expertNormalise,
                              static_cast<float>(dimensions.expertScale)};
  const std::int64_t scratchFloats = qk::cpu::routeScratch(shape);
  float* logits = logits_.take(count * experts);
  float* scratch = routeScratch_.take(run.execution.pool.threads() * scratchFloats);
  std::int32_t* chosen = routeExperts_.take(count * used);
  float* chosenWeights = routeWeights_.take(count * used);
  qk::matmul(run.execution, weights.router.matrix(), input_.from(0), count, logits, experts);
  forTokens(
      run.execution.pool, count, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int thread) {
        for (std::int64_t t = begin; t < end; ++t) {
          const std::int32_t* hashed =
              weights.hashTable.empty()
                  ? nullptr
                  : weights.hashTable.data() + static_cast<std::int64_t>(ids[t]) * used;
          qk::cpu::route(run.execution.isa, shape, logits + t * experts,
                         weights.bias.empty() ? nullptr : weights.bias.data(), hashed,
                         scratch + thread * scratchFloats, chosen + t * used, chosenWeights + t * used);
        }
      });
  qk::sortRoutes(chosen, chosenWeights, count, used, experts, routes_);
  run.execution.counters.add(qk::Kernel::routeSort);
}

}  // namespace qe
