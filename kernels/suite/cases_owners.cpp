// Owns the cases of experts that are divided over owners: every placement has the bits of the plain loops, the shared
// expert runs once, and what an owner does not hold gives exactly nothing.
#include <algorithm>
#include <limits>

#include "layer.h"
#include "qk/owners.h"

namespace suite {
namespace {

using qk::Type;

qk::OwnedLayer divide(qk::ThreadPool& pool, const Layer& layer, const std::vector<std::int32_t>& ownerOf, int owners) {
  qk::OwnedLayer divided = qk::ownedLayer(ownerOf, owners);
  for (int o = 0; o < owners; ++o) {
    const std::vector<std::int32_t> held = qk::heldBy(ownerOf, o);
    if (held.empty()) continue;
    const auto part = [&](const qk::test::Weights& weights) {
      qk::Matrix first = weights.matrix;
      first.rows /= layer.experts;
      return qk::PackedWeights(pool, qk::ExpertMatrices{first, static_cast<std::int64_t>(held.size()), held.data()});
    };
    qk::OwnedExperts& owner = divided.owners[static_cast<std::size_t>(o)];
    owner.gate = part(layer.gate);
    owner.up = part(layer.up);
    owner.down = part(layer.down);
  }
  return divided;
}

using MakePlacement = std::function<std::vector<std::int32_t>(Random&, std::int64_t experts, int owners)>;

void add(Cases& cases, const std::string& name, ExpertTypes types, int owners, MakePlacement placement) {
  const std::string full = std::to_string(owners) + " owners, " + name + ", " + std::string(qk::format(types.gate).name);
  cases.push_back({"mmid/owners", full, CaseClass::exact, [=](Setup& setup) -> Run {
    constexpr std::int64_t experts = 7, hidden = 96, inner = 64, tokens = 40, slots = 3;
    const auto layer = std::make_shared<Layer>(setup, types, experts, hidden, inner, 2.0f);
    const auto shared = std::make_shared<Layer>(setup, ExpertTypes{Type::Q8_0, Type::Q8_0, Type::Q8_0}, 1, hidden, inner, 2.0f);
    const auto divided = std::make_shared<qk::OwnedLayer>(
        divide(setup.pool, *layer, placement(setup.random, experts, owners), owners));
    Routing routing = routingBy(setup.random, tokens, slots, [&](std::int64_t t, std::int64_t s) {
      return t == 4 || (t + s) % 5 == 0 ? -1 : static_cast<std::int32_t>(setup.random.below(experts));
    });
    const auto x = std::make_shared<Floats>(setup.random.normals(tokens * hidden, 0.3f));
    const auto poison = std::make_shared<Floats>(x->size(), std::numeric_limits<float>::quiet_NaN());
    const qk::Isa first = qk::test::supportedIsas().front();
    const Floats expected = plainCombine(routing, hidden, plainRoutes(setup.pool, first, *layer, routing, *x),
                                         plainShared(setup.pool, first, *shared, tokens, *x));
    return [=](const Machine& machine, Check& check) {
      qk::Owners group(owners, 4);
      for (const qk::MoePlan plan : {qk::MoePlan::serial, qk::MoePlan::grouped}) {
        // The first call leaves NaN in everything that owners keep between calls.
        for (const bool dirty : {true, false}) {
          qk::Counters counters;
          qk::Execution ex{machine.many, machine.isa, counters};
          const Floats& values = dirty ? *poison : *x;
          qk::Activations quantised;
          qk::quantize(ex, values.data(), tokens, hidden, hidden, quantised);
          const qk::MoeWeights weights = shared->weights();
          Destination out(tokens * hidden);
          group.moe(ex, plan, {}, *divided, layer->clamp, &weights, qk::inputs(values.data(), hidden, &quantised),
                    routing.expert.data(), routing.weight.data(), tokens, slots, out.data());
          if (dirty) continue;
          check.bits(plan == qk::MoePlan::serial ? "serial" : "grouped", out, expected);
          check.that(counters.of(qk::Kernel::sharedExpert) == 1, "the shared expert did not run exactly once");
          check.that(counters.of(qk::Kernel::ownerExperts) >= 1, "no owner was counted");
        }
      }
    };
  }});
}

}  // namespace

void addOwnerCases(Cases& cases) {
  const auto all = [](int owner) -> MakePlacement {
    return [owner](Random&, std::int64_t experts, int owners) {
      return std::vector<std::int32_t>(static_cast<std::size_t>(experts), owner < 0 ? owners - 1 : owner);
    };
  };
  const MakePlacement anyhow = [](Random& random, std::int64_t experts, int owners) {
    std::vector<std::int32_t> ownerOf(static_cast<std::size_t>(experts));
    for (std::int32_t& owner : ownerOf) owner = static_cast<std::int32_t>(random.below(owners));
    return ownerOf;
  };
  for (const ExpertTypes types : {ExpertTypes{Type::ROCmFP2, Type::ROCmFP2, Type::ROCmFP3},
                                  ExpertTypes{Type::Q4_0, Type::Q4_0, Type::Q8_0}, ExpertTypes{Type::F32, Type::F16, Type::F32}}) {
    for (const int owners : {1, 2, 3, 4}) {
      add(cases, "placed at random", types, owners, anyhow);
      if (owners == 1) continue;
      add(cases, "all on the first", types, owners, all(0));
      add(cases, "all on the last", types, owners, all(-1));
    }
  }
}

}  // namespace suite
