// Owns the cases that the field's list lacks: masks at every width, whole tokens and batches masked, experts without
// routes, 256 and 300 experts, the real model's K and rows, duplicate and unsorted experts, skewed routings, and every
// count of rows with its tile remainder.
#include <algorithm>

#include "layer.h"

namespace suite {
namespace {

using qk::Type;

constexpr ExpertTypes kField{Type::ROCmFP2, Type::ROCmFP2, Type::ROCmFP3};
constexpr float kLimit = 2.0f;  // low, so that it acts

qk::Isa firstIsa() { return qk::test::supportedIsas().front(); }

// A layer with one routing of many tokens; every prefix of it is a width. A token's result does not depend on the
// tokens beside it, so one reference serves all widths.
struct Prepared {
  std::shared_ptr<Layer> layer, shared;
  Routing routing;
  Floats x, expected;

  Floats first(const Floats& values, std::int64_t tokens) const {
    return Floats(values.begin(), values.begin() + tokens * layer->hidden);
  }
};

std::shared_ptr<Prepared> prepare(Setup& setup, std::shared_ptr<Layer> layer, Routing routing) {
  auto made = std::make_shared<Prepared>();
  made->x = setup.random.normals(routing.tokens * layer->hidden, 0.3f);
  const ExpertTypes types{Type::Q8_0, Type::Q8_0, Type::Q8_0};
  made->shared = std::make_shared<Layer>(setup, types, 1, layer->hidden, layer->inner, layer->clamp);
  const Floats rows = plainRoutes(setup.pool, firstIsa(), *layer, routing, made->x);
  const Floats shared = plainShared(setup.pool, firstIsa(), *made->shared, routing.tokens, made->x);
  made->expected = plainCombine(routing, layer->hidden, rows, shared);
  made->layer = std::move(layer);
  made->routing = std::move(routing);
  return made;
}

Run atWidths(std::shared_ptr<Prepared> made, std::vector<std::int64_t> widths, bool thorough) {
  return [=](const Machine& machine, Check& check) {
    for (const std::int64_t width : widths) {
      if (!check.passed()) return;
      const Floats x = made->first(made->x, width);
      const Routing routing = made->routing.prefix(width);
      checkPlans(machine, {*made->layer, routing, x, made->shared.get()}, made->first(made->expected, width),
                 !thorough && routing.tokens * made->layer->hidden * made->layer->inner > 1'000'000, check);
    }
  };
}

struct Shape {
  ExpertTypes types = kField;
  std::int64_t experts = 8, hidden = 96, inner = 160;
};

using MakeRouting = std::function<Routing(Random&, std::int64_t experts)>;

void add(Cases& cases, const std::string& group, const std::string& name, const Shape& shape, MakeRouting routing,
         std::vector<std::int64_t> widths = {}) {
  cases.push_back({group, name, CaseClass::exact, [=](Setup& setup) -> Run {
    auto layer = std::make_shared<Layer>(setup, shape.types, shape.experts, shape.hidden, shape.inner, kLimit);
    Routing made = routing(setup.random, shape.experts);
    const std::int64_t all = made.tokens;
    return atWidths(prepare(setup, std::move(layer), std::move(made)),
                    widths.empty() ? std::vector<std::int64_t>{all} : widths, setup.thorough);
  }});
}

// Every width to 70, then some around multiples of the tiles, and the last; all when `every`.
std::vector<std::int64_t> widthsBetween(std::int64_t first, std::int64_t last, bool every) {
  std::vector<std::int64_t> widths;
  for (std::int64_t width = first; width <= last; ++width) {
    const bool some = width % 512 == 1 || width % 512 == 511 || width == last - 67;
    if (every || width <= 70 || width == last || some) widths.push_back(width);
  }
  return widths;
}

void addWidths(Cases& cases, bool thorough) {
  const Shape shape{kField, 3, 32, 32};
  const auto random = [](std::int64_t tokens, double masked) {
    return [=](Random& source, std::int64_t experts) {
      Routing routing = routingBy(source, tokens, 2, [&](std::int64_t, std::int64_t) {
        return static_cast<std::int32_t>(source.below(experts));
      });
      for (std::size_t i = 0; i < routing.expert.size(); ++i) {
        const float draw = source.uniform(0, 1);
        if (draw < static_cast<float>(masked)) routing.expert[i] = -1;
        else if (draw > 1 - static_cast<float>(masked) / 2) routing.weight[i] = 0.0f;
      }
      return routing;
    };
  };
  for (const auto& [first, last] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 16}, {17, 32}, {33, 48}, {49, 64}, {65, 128}, {129, 512}, {513, 1024}, {1025, 2048}}) {
    const std::string range = "widths " + std::to_string(first) + " to " + std::to_string(last);
    add(cases, "mmid/widths", range, shape, random(last, 0), widthsBetween(first, last, thorough));
    add(cases, "mmid/masks", range, shape, random(last, 0.25), widthsBetween(first, last, thorough));
  }
  // One expert: its rows are the width, so that every remainder of a token tile is met.
  add(cases, "mmid/widths", "one expert, 1 to 140 rows", {kField, 1, 64, 32},
      [](Random& source, std::int64_t) { return routingBy(source, 140, 1, [](auto, auto) { return 0; }); },
      widthsBetween(1, 140, thorough));
}

void addMasks(Cases& cases) {
  const Shape shape;
  const auto masked = [](std::function<bool(std::int64_t, std::int64_t)> mask) -> MakeRouting {
    return [mask](Random& source, std::int64_t experts) {
      return routingBy(source, 67, 3, [&](std::int64_t t, std::int64_t s) {
        const auto e = static_cast<std::int32_t>(source.below(experts));
        return mask(t, s) ? -1 : e;
      });
    };
  };
  add(cases, "mmid/masks", "every third token masked as a whole", shape, masked([](auto t, auto) { return t % 3 == 0; }));
  add(cases, "mmid/masks", "first and last token masked", shape,
      masked([](auto t, auto) { return t == 0 || t == 66; }));
  add(cases, "mmid/masks", "one slot masked in every token", shape, masked([](auto, auto s) { return s == 1; }));
  add(cases, "mmid/masks", "all but one route masked", shape, masked([](auto t, auto s) { return t != 40 || s != 2; }));
  add(cases, "mmid/masks", "the whole batch masked", shape, masked([](auto, auto) { return true; }), {1, 2, 16, 67});
  add(cases, "mmid/masks", "masked by weight 0 of either sign", shape, [](Random& source, std::int64_t experts) {
    Routing routing = routerLike(source, 67, 3, experts, 0);
    for (std::size_t i = 0; i < routing.weight.size(); i += 4) routing.weight[i] = i % 8 == 0 ? 0.0f : -0.0f;
    return routing;
  });
}

void addRoutings(Cases& cases) {
  const Shape shape;
  const auto skewed = [](double skew) -> MakeRouting {
    return [skew](Random& source, std::int64_t experts) { return routerLike(source, 130, 3, experts, skew); };
  };
  add(cases, "mmid/routing", "uniform", shape, skewed(0));
  add(cases, "mmid/routing", "Zipf", shape, skewed(1));
  add(cases, "mmid/routing", "steep Zipf", shape, skewed(3));
  add(cases, "mmid/routing", "one hot expert in every token", shape, [](Random& source, std::int64_t experts) {
    return routingBy(source, 130, 3, [&](std::int64_t, std::int64_t s) {
      return s == 0 ? 0 : static_cast<std::int32_t>(1 + source.below(experts - 1));
    });
  });
  add(cases, "mmid/routing", "all routes to the last expert", shape, [](Random& source, std::int64_t experts) {
    return routingBy(source, 70, 3, [&](auto, auto) { return static_cast<std::int32_t>(experts - 1); });
  });
  add(cases, "mmid/routing", "an expert twice and three times in a token", shape,
      [](Random& source, std::int64_t experts) {
        return routingBy(source, 67, 3, [&, last = std::int32_t{0}](std::int64_t t, std::int64_t s) mutable {
          if (s == 0 || (t % 2 == 0 && s == 1)) last = static_cast<std::int32_t>(source.below(experts));
          return last;
        });
      });
  add(cases, "mmid/routing", "slots not in the order of the experts", shape, [](Random& source, std::int64_t experts) {
    Routing routing = routerLike(source, 67, 3, experts, 0);
    for (std::size_t i = 0; i < routing.expert.size(); i += 3) {
      if (i % 2 == 0) std::reverse(routing.expert.begin() + static_cast<std::ptrdiff_t>(i),
                                   routing.expert.begin() + static_cast<std::ptrdiff_t>(i) + 3);
    }
    return routing;
  });
  add(cases, "mmid/routing", "every second expert has no route", shape, [](Random& source, std::int64_t experts) {
    return routingBy(source, 67, 3, [&](auto, auto) { return static_cast<std::int32_t>(2 * source.below(experts / 2)); });
  });
  for (const std::int64_t experts : {256, 300}) {
    add(cases, "mmid/routing", std::to_string(experts) + " experts, 6 slots", {kField, experts, 64, 32},
        [](Random& source, std::int64_t e) { return routerLike(source, 150, 6, e, 0.5); }, {1, 3, 40, 150});
  }
}

void addTypes(Cases& cases) {
  const auto routing = [](Random& source, std::int64_t experts) { return routerLike(source, 37, 2, experts, 0.5); };
  const auto same = [](Type type) { return ExpertTypes{type, type, type}; };
  for (const Type type : {Type::ROCmFP2, Type::ROCmFP3, Type::ROCmFP4, Type::ROCmFP4_FAST, Type::Q8_0, Type::Q4_0,
                          Type::MXFP4, Type::F32, Type::F16, Type::BF16}) {
    // F of one whole block of 128 and a short one, D of no whole pair of tiles.
    add(cases, "mmid/types", std::string(qk::format(type).name), {same(type), 4, 96, 160}, routing);
  }
  add(cases, "mmid/types", "q2_k", {same(Type::Q2_K), 4, 256, 512}, routing);
  add(cases, "mmid/types", "f16, bf16, rocmfp3", {{Type::F16, Type::BF16, Type::ROCmFP3}, 4, 96, 160}, routing);
  add(cases, "mmid/types", "q8_0, f32, q4_0", {{Type::Q8_0, Type::F32, Type::Q4_0}, 4, 96, 160}, routing);
}

void addModel(Cases& cases, bool thorough) {
  const auto routing = [](Random& source, std::int64_t experts) { return routerLike(source, 3, 2, experts, 0); };
  add(cases, "mmid/model", "K 4096, F 2048, rocmfp2 and rocmfp3", {kField, 3, 4096, 2048}, routing);
  add(cases, "mmid/model", "small: K 2048, F 1024, q2_k", {{Type::Q2_K, Type::Q2_K, Type::Q2_K}, 3, 2048, 1024},
      routing);
  if (!thorough) return;
  for (const Type type : {Type::ROCmFP4, Type::Q8_0, Type::Q4_0, Type::MXFP4})
    add(cases, "mmid/model", "K 4096, F 2048, " + std::string(qk::format(type).name), {{type, type, type}, 3, 4096, 2048},
        routing, {3});
}

void addShared(Cases& cases) {
  for (const Type type : {Type::Q8_0, Type::ROCmFP4_FAST, Type::F16}) {
    cases.push_back({"mmid/shared", std::string(qk::format(type).name), CaseClass::exact, [=](Setup& setup) -> Run {
      auto layer = std::make_shared<Layer>(setup, ExpertTypes{type, type, type}, 1, 96, 160, kLimit);
      const auto x = std::make_shared<Floats>(setup.random.normals(70 * 96, 0.3f));
      const auto rows = std::make_shared<Floats>(plainShared(setup.pool, firstIsa(), *layer, 70, *x));
      return [=](const Machine& machine, Check& check) {
        for (qk::ThreadPool* pool : {&machine.one, &machine.many}) {
          qk::Counters counters;
          qk::Execution ex{*pool, machine.isa, counters};
          qk::Activations quantised;
          qk::quantize(ex, x->data(), 70, 96, 96, quantised);
          qk::MoeScratch scratch;
          Destination out(70 * 96);
          qk::sharedExpert(ex, layer->weights(), qk::inputs(x->data(), 96, &quantised), 70, scratch, out.data());
          check.bits("shared expert", out, *rows);
          check.that(counters.of(qk::Kernel::sharedExpert) == 1, "the shared expert was not counted once");
        }
      };
    }});
  }
}

}  // namespace

void addExpertCases(Cases& cases, bool thorough) {
  addTypes(cases);
  addWidths(cases, thorough);
  addMasks(cases);
  addRoutings(cases);
  addModel(cases, thorough);
  addShared(cases);
}

}  // namespace suite
