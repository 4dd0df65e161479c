// Owns the cases of the route sort and of the combine: integers and bits against plain loops.
#include <algorithm>
#include <stdexcept>

#include "layer.h"
#include "qk/combine.h"

namespace suite {
namespace {

struct Route {
  std::int32_t expert, token, slot;
  float weight;
};

void checkSort(const Routing& routing, std::int64_t experts, qk::Routes& routes, Check& check) {
  qk::sortRoutes(routing.expert.data(), routing.weight.data(), routing.tokens, routing.slots, experts, routes);
  std::vector<Route> expected;
  for (std::int64_t r = 0; r < routing.tokens * routing.slots; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (!routing.live(r)) {
      check.that(routes.packedRow[i] == -1, "a masked route has a packed row");
      continue;
    }
    expected.push_back({routing.expert[i], static_cast<std::int32_t>(r / routing.slots),
                        static_cast<std::int32_t>(r % routing.slots), routing.weight[i]});
  }
  std::stable_sort(expected.begin(), expected.end(), [](const Route& a, const Route& b) { return a.expert < b.expert; });
  check.that(routes.live() == static_cast<std::int64_t>(expected.size()), "the number of live routes differs");
  check.that(static_cast<std::int64_t>(routes.bounds.size()) == experts + 1 && routes.bounds.front() == 0 &&
                 routes.bounds.back() == static_cast<std::int64_t>(expected.size()),
             "the bounds do not span the live routes");
  if (!check.passed()) return;
  for (std::size_t row = 0; row < expected.size(); ++row) {
    const Route& route = expected[row];
    const auto r = static_cast<std::size_t>(route.token * routing.slots + route.slot);
    check.that(routes.token[row] == route.token && routes.slot[row] == route.slot &&
                   qk::test::sameBits(routes.weight[row], route.weight),
               "packed row " + std::to_string(row) + " is another route than a stable sort gives");
    check.that(routes.packedRow[r] == static_cast<std::int32_t>(row), "packedRow is not the inverse of the order");
    const auto e = static_cast<std::size_t>(route.expert);
    check.that(routes.bounds[e] <= static_cast<std::int64_t>(row) && static_cast<std::int64_t>(row) < routes.bounds[e + 1],
               "a packed row lies outside of its expert's bounds");
  }
}

Routing maskedRouting(Random& random, std::int64_t tokens, std::int64_t slots, std::int64_t experts) {
  Routing routing = routingBy(random, tokens, slots, [&](std::int64_t, std::int64_t) {
    if (random.below(5) == 0) return std::int32_t{-1};
    return static_cast<std::int32_t>(random.below(2) == 0 ? random.below(experts) : 0);
  });
  for (float& weight : routing.weight) {
    if (random.below(7) == 0) weight = 0.0f;
  }
  return routing;
}

void addCombine(Cases& cases, std::int64_t width, bool withShared) {
  const std::string name = "width " + std::to_string(width) + (withShared ? ", shared last" : ", no shared expert");
  cases.push_back({"combine", name, CaseClass::exact, [=](Setup& setup) -> Run {
    const std::int64_t tokens = 33, slots = 6;
    const auto routing = std::make_shared<Routing>(maskedRouting(setup.random, tokens, slots, 16));
    for (std::int64_t s = 0; s < slots; ++s) routing->expert[static_cast<std::size_t>(4 * slots + s)] = -1;
    // Magnitudes far apart, so that another order of the sums shows.
    Floats y = setup.random.normals(tokens * slots * width);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= std::exp(4 * setup.random.normal());
    const Floats shared = withShared ? setup.random.normals(tokens * width) : Floats{};
    const Floats expected = plainCombine(*routing, width, y, shared);
    return [=](const Machine& machine, Check& check) {
      qk::Routes routes;
      qk::sortRoutes(routing->expert.data(), routing->weight.data(), tokens, slots, 16, routes);
      Destination packed(tokens * slots * width);  // poison where no live route writes
      for (std::int64_t r = 0; r < tokens * slots; ++r) {
        const std::int32_t row = routes.packedRow[static_cast<std::size_t>(r)];
        if (row >= 0) std::copy_n(y.begin() + r * width, width, packed.data() + row * width);
      }
      for (qk::ThreadPool* pool : {&machine.one, &machine.many}) {
        qk::Counters counters;
        qk::Execution ex{*pool, machine.isa, counters};
        Destination out(tokens * width);
        qk::combine(ex, routes, packed.data(), shared.empty() ? nullptr : shared.data(), width, out.data());
        check.bits(std::to_string(pool->threads()) + " threads", out, expected);
      }
    };
  }});
}

}  // namespace

void addRouteCases(Cases& cases, bool thorough) {
  for (const std::int64_t experts : {1, 3, 64, 256, 257, 300}) {
    for (const std::int64_t slots : {1, 6, 8}) {
      const std::string name = std::to_string(experts) + " experts, " + std::to_string(slots) + " slots";
      cases.push_back({"route sort", name, CaseClass::exact, [=](Setup& setup) -> Run {
        std::vector<Routing> routings;
        for (const std::int64_t tokens : {0, 1, 2, 5, 130, thorough ? 8192 : 2048})
          routings.push_back(maskedRouting(setup.random, tokens, slots, experts));
        return [=](const Machine&, Check& check) {
          qk::Routes routes;  // reused, as the engine does
          for (const Routing& routing : routings) checkSort(routing, experts, routes, check);
        };
      }});
    }
  }
  cases.push_back({"route sort", "an expert that does not exist is refused", CaseClass::exact, [](Setup&) -> Run {
    return [](const Machine&, Check& check) {
      for (const std::int32_t bad : {4, -2}) {
        const std::int32_t expert[] = {0, 1, 2, bad};
        const float weight[] = {1, 1, 1, 1};
        qk::Routes routes;
        bool refused = false;
        try {
          qk::sortRoutes(expert, weight, 2, 2, 4, routes);
        } catch (const std::out_of_range&) {
          refused = true;
        }
        check.that(refused, "expert " + std::to_string(bad) + " of 4 was accepted");
      }
    };
  }});
  for (const std::int64_t width : {1, 260, 1024, 4096}) {
    for (const bool withShared : {false, true}) addCombine(cases, width, withShared);
  }
}

}  // namespace suite
