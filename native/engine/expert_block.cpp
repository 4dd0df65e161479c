// The experts of a slice of a chunk.
#include "expert_block.h"

#include "qk/router.h"

namespace qe {
namespace {

constexpr std::int64_t kTokensPerItem = 16;

// A row of activations as the matmul of such weights takes it.
std::int64_t rowBytes(std::int64_t cols, bool int8) {
  const std::int64_t blocks = (cols + qk::activationBlock - 1) / qk::activationBlock;
  return int8 ? blocks * static_cast<std::int64_t>(sizeof(qk::ActivationBlock))
              : cols * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

ExpertBlock::ExpertBlock(const Model& model, const Switches& switches, qk::Owners* owners, PlantedFault& planted)
    : options_{switches.fusedCombine, switches.persistentQueue, switches.adaptiveTile},
      owners_(owners),
      planted_(planted),
      scaledLayer_(&model.layers()[model.layers().size() / 2].experts) {}

std::int64_t ExpertBlock::bytesPerToken(const Model& model, const Switches& switches) {
  constexpr auto word = static_cast<std::int64_t>(sizeof(float));
  const qk::Dimensions& d = model.dimensions();
  const ExpertWeights& weights = model.layers().front().experts;
  const bool fused = switches.groupedPrefill && switches.fusedCombine && switches.owners == 1;
  const std::int64_t input = rowBytes(d.hidden, true);
  const std::int64_t routing = word * (d.experts + 6 * d.expertsUsed);
  const std::int64_t hidden =
      d.expertsUsed * rowBytes(d.expertHidden, qk::takesInt8(weights.routed.any().down.matrix().type)) +
      rowBytes(weights.sharedDown.matrix().cols, qk::takesInt8(weights.sharedDown.matrix().type));
  const std::int64_t rows = fused ? 0 : (d.expertsUsed + 1) * d.hidden * word;
  return input + routing + hidden + rows;
}

std::int64_t ExpertBlock::bytes() const {
  return routeExperts_.bytes() + input_.bytes() + scratch_.bytes() + logits_.bytes() + routeScratch_.bytes() +
         routeWeights_.bytes() + (owners_ != nullptr ? owners_->bytes() : 0);
}

void ExpertBlock::run(const Run& run, const ExpertWeights& weights, const std::int32_t* ids,
                      qk::MoePlan plan, float* inOut) {
  const Stage outer = run.clock.enter(Stage::Router);
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t hidden = dimensions.hidden;
  const qk::OwnedExperts& experts = weights.routed.any();
  input_.prepare(run.execution, inOut, run.tokens, hidden, hidden,
                 {&weights.router, &experts.gate, &experts.up, &weights.sharedGate, &weights.sharedUp});
  route(run, weights, ids);
  if (!planted_.is(Fault::None)) {
    const std::int64_t used = dimensions.expertsUsed;
    spoilRoutes(planted_, &weights == scaledLayer_, dimensions.experts, run.start, run.tokens, used,
                routeExperts_.take(run.tokens * used), routeWeights_.take(run.tokens * used));
  }
  run.clock.enter(Stage::MoeGateUp);
  const qk::MoeTimes times = evaluate(run, weights, plan, inOut);
  run.clock.enter(outer);
  const auto moveFromGateUp = [&](Stage stage, std::int64_t ns) {
    run.clock.move(Stage::MoeGateUp, stage, static_cast<double>(ns) * 1e-6);
  };
  moveFromGateUp(Stage::MoeDown, times.downNs);
  moveFromGateUp(Stage::MoeShared, times.sharedNs);
  moveFromGateUp(Stage::MoeCombine, times.combineNs);
}

qk::MoeTimes ExpertBlock::evaluate(const Run& run, const ExpertWeights& weights, qk::MoePlan plan, float* inOut) {
  const qk::MoeWeights shared{&weights.sharedGate, &weights.sharedUp, &weights.sharedDown, weights.clamp};
  const std::int64_t used = run.dimensions.expertsUsed;
  const std::int32_t* chosen = routeExperts_.take(run.tokens * used);
  const float* chosenWeights = routeWeights_.take(run.tokens * used);
  if (owners_ != nullptr) {
    return owners_->moe(run.execution, plan, options_, weights.routed, weights.clamp, &shared, input_.from(0),
                        chosen, chosenWeights, run.tokens, used, inOut);
  }
  qk::sortRoutes(chosen, chosenWeights, run.tokens, used, run.dimensions.experts, routes_);
  run.execution.counters.add(qk::Kernel::routeSort);
  return qk::moe(run.execution, plan, options_, weights.routed.owners.front().weights(weights.clamp), &shared,
                 input_.from(0), routes_, scratch_, inOut);
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
}

}  // namespace qe
