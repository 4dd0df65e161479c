// Owns the plain loops and the plans of a layer's experts.
#include "layer.h"

#include <algorithm>
#include <cmath>

#include "qk/combine.h"
#include "qk/reference_matmul.h"
#include "qk/swiglu.h"

namespace suite {
namespace {

qk::ExpertMatrices split(const qk::test::Weights& weights, std::int64_t experts) {
  qk::Matrix first = weights.matrix;
  first.rows /= experts;
  return {first, experts};
}

void plainRow(const qk::Matrix& w, const float* x, float* y) {
  const auto blocks = qk::reference::quantize(x, w.cols);
  for (std::int64_t r = 0; r < w.rows; ++r) {
    y[r] = qk::takesInt8(w.type) ? qk::reference::dotExactOrder(w, r, blocks)
                                 : qk::reference::dotExactOrder(w, r, x);
  }
}

qk::Routes sorted(const LayerInput& in) {
  qk::Routes routes;
  qk::sortRoutes(in.routing.expert.data(), in.routing.weight.data(), in.routing.tokens, in.routing.slots,
                 in.layer.experts, routes);
  return routes;
}

// y of every route in packed order; what no live route owns must be +0 and is poisoned after the look at it.
void packedRows(qk::Execution& ex, qk::MoePlan plan, const LayerInput& in, const qk::Routes& routes, Destination& y,
                Check& check) {
  qk::Activations quantised;
  const std::int64_t hidden = in.layer.hidden;
  qk::quantize(ex, in.x.data(), in.routing.tokens, hidden, hidden, quantised);
  qk::MoeScratch scratch;
  qk::routedExperts(ex, plan, in.layer.weights(), qk::inputs(in.x.data(), hidden, &quantised), routes, scratch,
                    y.data());
  const std::int64_t live = routes.live() * hidden;
  check.bits("rows of masked routes", y.values().subspan(static_cast<std::size_t>(live)),
             Floats(static_cast<std::size_t>(y.size() - live), 0.0f));
  check.that(y.guardsIntact(), "rows of routes: written outside of the destination");
  y.poisonFrom(live);
}

std::uint64_t usedExperts(const qk::Routes& routes) {
  std::uint64_t used = 0;
  for (std::int64_t e = 0; e < routes.experts; ++e) used += routes.rowsOf(e) > 0 ? 1 : 0;
  return used;
}

// Calls of a kernel since `before`.
std::uint64_t ran(const qk::Execution& ex, const qk::Counters& before, qk::Kernel kernel) {
  return ex.counters.of(kernel) - before.of(kernel);
}

// Rows of routes, then rows of the shared expert, then the sum: three calls.
void runByParts(qk::Execution& ex, const LayerInput& in, Destination& out, Check& check) {
  const qk::Routes routes = sorted(in);
  const std::int64_t tokens = in.routing.tokens, hidden = in.layer.hidden;
  Destination y(tokens * in.routing.slots * hidden), shared(in.shared != nullptr ? tokens * hidden : 0);
  packedRows(ex, qk::MoePlan::grouped, in, routes, y, check);
  if (in.shared != nullptr) {
    qk::Activations quantised;
    qk::quantize(ex, in.x.data(), tokens, hidden, hidden, quantised);
    qk::MoeScratch scratch;
    qk::sharedExpert(ex, in.shared->weights(), qk::inputs(in.x.data(), hidden, &quantised), tokens, scratch, shared.data());
  }
  qk::combine(ex, routes, y.data(), in.shared != nullptr ? shared.data() : nullptr, hidden, out.data());
}

// Every call of the engine, with the counters that it must and must not raise.
void runWhole(qk::Execution& ex, qk::MoePlan plan, const qk::MoeOptions& options, const LayerInput& in, Destination& out,
              Check& check) {
  const qk::Routes routes = sorted(in);
  const std::int64_t hidden = in.layer.hidden;
  qk::Activations quantised;
  qk::quantize(ex, in.x.data(), in.routing.tokens, hidden, hidden, quantised);
  qk::MoeScratch scratch;
  const qk::MoeWeights shared = in.shared != nullptr ? in.shared->weights() : qk::MoeWeights{};
  const qk::Counters before = ex.counters;
  qk::moe(ex, plan, options, in.layer.weights(), in.shared != nullptr ? &shared : nullptr,
          qk::inputs(in.x.data(), hidden, &quantised), routes, scratch, out.data());
  if (plan == qk::MoePlan::serial) {
    check.that(ran(ex, before, qk::Kernel::serialExpert) == usedExperts(routes) &&
                   ran(ex, before, qk::Kernel::groupedGateUp) == 0,
               "the serial plan was not counted once for every expert that has routes");
    return;
  }
  check.that(ran(ex, before, qk::Kernel::groupedGateUp) == 1 && ran(ex, before, qk::Kernel::serialExpert) == 0,
             "the grouped plan was not counted as one grouped call");
  const bool fused = options.fusedCombine && routes.slotsAscend;
  check.that((ran(ex, before, qk::Kernel::groupedDownCombine) > 0) == fused, "the fused sum was not counted as it ran");
  check.that((ran(ex, before, qk::Kernel::persistentQueue) > 0) == options.persistentQueue &&
                 (ran(ex, before, qk::Kernel::adaptiveTile) > 0) == options.adaptiveTile,
             "queue and tiles were not counted as they ran");
}

}  // namespace

Layer::Layer(Setup& setup, ExpertTypes types, std::int64_t e, std::int64_t d, std::int64_t f, float clampLimit)
    : experts(e),
      hidden(d),
      inner(f),
      clamp(clampLimit),
      gate(qk::test::randomWeights(setup.random.engine(), types.gate, e * f, d)),
      up(qk::test::randomWeights(setup.random.engine(), types.up, e * f, d)),
      down(qk::test::randomWeights(setup.random.engine(), types.down, e * d, f)),
      packedGate(setup.pool, split(gate, e)),
      packedUp(setup.pool, split(up, e)),
      packedDown(setup.pool, split(down, e)) {}

Routing Routing::prefix(std::int64_t count) const {
  return {count, slots, {expert.begin(), expert.begin() + count * slots}, {weight.begin(), weight.begin() + count * slots}};
}

Routing routingBy(Random& random, std::int64_t tokens, std::int64_t slots,
                  const std::function<std::int32_t(std::int64_t, std::int64_t)>& expert) {
  Routing routing{tokens, slots, {}, {}};
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t s = 0; s < slots; ++s) {
      routing.expert.push_back(expert(t, s));
      routing.weight.push_back(random.uniform(0.05f, 0.6f));
    }
  }
  return routing;
}

Routing routerLike(Random& random, std::int64_t tokens, std::int64_t slots, std::int64_t experts, double skew) {
  Routing routing{tokens, slots, {}, {}};
  std::vector<std::pair<double, std::int32_t>> drawn(static_cast<std::size_t>(experts));
  for (std::int64_t t = 0; t < tokens; ++t) {
    // The k smallest of exponentials with the popularities as rates are a draw without replacement.
    for (std::int64_t e = 0; e < experts; ++e) {
      const double rate = std::pow(static_cast<double>(e + 1), -skew);
      drawn[static_cast<std::size_t>(e)] = {-std::log(static_cast<double>(random.uniform(1e-6f, 1.0f))) / rate,
                                            static_cast<std::int32_t>(e)};
    }
    std::partial_sort(drawn.begin(), drawn.begin() + slots, drawn.end());
    std::vector<std::int32_t> chosen;
    for (std::int64_t s = 0; s < slots; ++s) chosen.push_back(drawn[static_cast<std::size_t>(s)].second);
    std::sort(chosen.begin(), chosen.end());
    routing.expert.insert(routing.expert.end(), chosen.begin(), chosen.end());
    for (std::int64_t s = 0; s < slots; ++s) routing.weight.push_back(random.uniform(0.05f, 0.6f));
  }
  return routing;
}

Floats plainRoutes(qk::ThreadPool& pool, qk::Isa isa, const Layer& layer, const Routing& routing, const Floats& x) {
  const std::int64_t count = routing.tokens * routing.slots;
  Floats rows(static_cast<std::size_t>(count * layer.hidden), 0.0f);
  const qk::ExpertMatrices gates = split(layer.gate, layer.experts), ups = split(layer.up, layer.experts),
                           downs = split(layer.down, layer.experts);
  pool.run(count, [&](std::int64_t route, int) {
    if (!routing.live(route)) return;
    const auto r = static_cast<std::size_t>(route);
    const float* token = x.data() + route / routing.slots * layer.hidden;
    Floats gate(static_cast<std::size_t>(layer.inner)), up(gate.size());
    plainRow(gates.expert(routing.expert[r]), token, gate.data());
    plainRow(ups.expert(routing.expert[r]), token, up.data());
    qk::cpu::swiglu(isa, gate.data(), up.data(), layer.inner, layer.clamp, routing.weight[r], gate.data());
    plainRow(downs.expert(routing.expert[r]), gate.data(), rows.data() + route * layer.hidden);
  });
  return rows;
}

Floats plainCombine(const Routing& routing, std::int64_t hidden, const Floats& routes, const Floats& shared) {
  Floats out(static_cast<std::size_t>(routing.tokens * hidden), 0.0f);
  for (std::int64_t t = 0; t < routing.tokens; ++t) {
    float* sum = out.data() + t * hidden;
    for (std::int64_t s = 0; s < routing.slots; ++s) {
      const std::int64_t route = t * routing.slots + s;
      if (!routing.live(route)) continue;
      for (std::int64_t i = 0; i < hidden; ++i) sum[i] += routes[static_cast<std::size_t>(route * hidden + i)];
    }
    for (std::int64_t i = 0; i < hidden && !shared.empty(); ++i)
      sum[i] += shared[static_cast<std::size_t>(t * hidden + i)];
  }
  return out;
}

Floats plainShared(qk::ThreadPool& pool, qk::Isa isa, const Layer& shared, std::int64_t tokens, const Floats& x) {
  const auto count = static_cast<std::size_t>(tokens);
  const Routing all{tokens, 1, std::vector<std::int32_t>(count, 0), std::vector<float>(count, 1.0f)};
  return plainRoutes(pool, isa, shared, all, x);
}

const std::vector<LayerPlan>& layerPlans() {
  const auto whole = [](qk::MoePlan plan, qk::MoeOptions options) {
    return [=](qk::Execution& ex, const LayerInput& in, Destination& out, Check& check) {
      runWhole(ex, plan, options, in, out, check);
    };
  };
  using enum qk::MoePlan;
  static const std::vector<LayerPlan> plans = {
      {"serial", whole(serial, {})},
      {"grouped", whole(grouped, {})},
      {"grouped in three calls", runByParts},
      {"grouped, sum not fused", whole(grouped, {.fusedCombine = false})},
      {"grouped, a fork and join for each expert", whole(grouped, {.persistentQueue = false})},
      {"grouped, tiles of one width", whole(grouped, {.adaptiveTile = false})},
      {"grouped, nothing else", whole(grouped, {.fusedCombine = false, .persistentQueue = false, .adaptiveTile = false})},
  };
  return plans;
}

void checkPlans(const Machine& machine, const LayerInput& input, const Floats& expected, bool brief, Check& check) {
  for (qk::ThreadPool* pool : {&machine.one, &machine.many}) {
    qk::Counters counters;
    qk::Execution ex{*pool, machine.isa, counters};
    const auto& plans = layerPlans();
    const bool one = pool == &machine.one;
    for (std::size_t i = one && brief ? 1 : 0; i < (one || brief ? 2 : plans.size()); ++i) {
      Destination out(input.routing.tokens * input.layer.hidden);
      plans[i].run(ex, input, out, check);
      check.bits(plans[i].name + ", " + std::to_string(pool->threads()) + " threads, " +
                     std::to_string(input.routing.tokens) + " tokens",
                 out, expected);
    }
  }
}

void routeRows(qk::Execution& ex, qk::MoePlan plan, const LayerInput& in, Destination& rows, Check& check) {
  const qk::Routes routes = sorted(in);
  Destination y(in.routing.tokens * in.routing.slots * in.layer.hidden);
  packedRows(ex, plan, in, routes, y, check);
  for (std::int64_t route = 0; route < in.routing.tokens * in.routing.slots; ++route) {
    const std::int32_t row = routes.packedRow[static_cast<std::size_t>(route)];
    check.that((row >= 0) == in.routing.live(route), "a route is masked that should live, or the other way round");
    for (std::int64_t i = 0; i < in.layer.hidden; ++i) {
      rows.data()[route * in.layer.hidden + i] = row >= 0 ? y.data()[row * in.layer.hidden + i] : 0.0f;
    }
  }
}

}  // namespace suite
