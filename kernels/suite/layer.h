// Owns one layer's experts for the cases of MMID: random weights, routings of many kinds, the plain loops that define
// the result, and the list of ways in which the library computes it.
#pragma once

#include <string>
#include <vector>

#include "case.h"
#include "qk/mmid.h"
#include "qk/packed_weights.h"
#include "qk/routes.h"

namespace suite {

struct ExpertTypes {
  qk::Type gate, up, down;
};

// E experts of gate, up [F][D] and down [D][F], as in the file and packed.
struct Layer {
  Layer(Setup& setup, ExpertTypes types, std::int64_t experts, std::int64_t hidden, std::int64_t inner,
        float clampLimit);
  // As `weights` points into the packed ones.
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  qk::MoeWeights weights() const { return {&packedGate, &packedUp, &packedDown, clamp}; }

  std::int64_t experts, hidden, inner;  // E, D, F
  float clamp;
  qk::test::Weights gate, up, down;
  qk::PackedWeights packedGate, packedUp, packedDown;
};

// expert, weight [T][k]; -1 or weight 0 masks a route.
struct Routing {
  std::int64_t tokens = 0, slots = 0;
  std::vector<std::int32_t> expert;
  std::vector<float> weight;

  bool live(std::int64_t route) const {
    return expert[static_cast<std::size_t>(route)] >= 0 && weight[static_cast<std::size_t>(route)] != 0.0f;
  }
  // The first `count` tokens.
  Routing prefix(std::int64_t count) const;
};

// Every route through one function of (token, slot) -> expert, random weights.
Routing routingBy(Random& random, std::int64_t tokens, std::int64_t slots,
                  const std::function<std::int32_t(std::int64_t token, std::int64_t slot)>& expert);
// Distinct experts a token, ascending, as a router gives them; the popularity of expert e is 1 / (e + 1)^skew.
Routing routerLike(Random& random, std::int64_t tokens, std::int64_t slots, std::int64_t experts, double skew);

// Rows of live routes, [T][k][D] with +0 where masked: in fp32 in the exact order, one route after the other, nothing
// packed and nothing shared. x [T][D].
Floats plainRoutes(qk::ThreadPool& pool, qk::Isa isa, const Layer& layer, const Routing& routing, const Floats& x);
// From there: +0, slots ascending, shared [T][D] (or empty) last. [T][D].
Floats plainCombine(const Routing& routing, std::int64_t hidden, const Floats& routes, const Floats& shared);

struct LayerInput {
  const Layer& layer;
  const Routing& routing;
  const Floats& x;      // [T][D]
  const Layer* shared;  // one expert of the same D and F, or null
};

// One way of computing a layer: name and out [T][D]. It checks by itself what it alone can see (rows, counters).
struct LayerPlan {
  std::string name;
  std::function<void(qk::Execution&, const LayerInput&, Destination& out, Check&)> run;
};
const std::vector<LayerPlan>& layerPlans();

// Every plan on several threads, and the first two on one, against `expected`; when `brief`, two plans and one.
void checkPlans(const Machine& machine, const LayerInput& input, const Floats& expected, bool brief, Check& check);

// The shared expert's rows, [T][D], in the exact order.
Floats plainShared(qk::ThreadPool& pool, qk::Isa isa, const Layer& shared, std::int64_t tokens, const Floats& x);

// y [T][k][D] of every route by one plan, in the order of the routes: masked ones +0.
void routeRows(qk::Execution& ex, qk::MoePlan plan, const LayerInput& input, Destination& rows, Check& check);

}  // namespace suite
