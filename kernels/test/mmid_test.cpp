// Holds both plans of the experts to plain loops over routes, to the bit: routings, masks, types, threads,
// instruction sets.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "qk/combine.h"
#include "qk/mmid.h"
#include "qk/reference_matmul.h"
#include "qk/swiglu.h"
#include "random_weights.h"

using namespace qk;
using namespace qk::test;

namespace {

constexpr float poison = std::numeric_limits<float>::quiet_NaN();
constexpr float clampLimit = 2.0f;  // low, so that it acts

struct Types {
  Type gate, up, down;
};

struct Layer {
  std::int64_t experts, hidden, inner;
  Weights gate, up, down;

  Layer(Random& random, Types types, std::int64_t e, std::int64_t d, std::int64_t f)
      : experts(e),
        hidden(d),
        inner(f),
        gate(randomWeights(random, types.gate, e * f, d)),
        up(randomWeights(random, types.up, e * f, d)),
        down(randomWeights(random, types.down, e * d, f)) {}

  static ExpertMatrices split(const Weights& w, std::int64_t experts) {
    Matrix first = w.matrix;
    first.rows /= experts;
    return {first, experts};
  }
};

struct Routing {
  std::int64_t tokens, slots;
  std::vector<std::int32_t> expert;
  std::vector<float> weight;
};

Routing randomRouting(Random& random, std::int64_t tokens, std::int64_t slots, std::int64_t experts) {
  Routing routing{tokens, slots, {}, {}};
  std::uniform_real_distribution<float> weight(0.05f, 0.6f);
  for (std::int64_t i = 0; i < tokens * slots; ++i) {
    routing.expert.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(experts)));
    routing.weight.push_back(weight(random));
  }
  return routing;
}

std::vector<float> plainRow(const Matrix& w, const std::vector<float>& x) {
  std::vector<float> y;
  const auto blocks = reference::quantize(x.data(), w.cols);
  for (std::int64_t r = 0; r < w.rows; ++r) {
    y.push_back(takesInt8(w.type) ? reference::dotExactOrder(w, r, blocks)
                                  : reference::dotExactOrder(w, r, x.data()));
  }
  return y;
}

// One token after the other, one slot after the other, nothing packed and nothing shared.
std::vector<float> plainExperts(const Layer& layer, const Routing& routing, const std::vector<float>& x,
                                const std::vector<float>& shared) {
  std::vector<float> out;
  for (std::int64_t t = 0; t < routing.tokens; ++t) {
    const std::vector<float> token(x.begin() + t * layer.hidden, x.begin() + (t + 1) * layer.hidden);
    std::vector<float> sum(static_cast<std::size_t>(layer.hidden), 0.0f);
    for (std::int64_t s = 0; s < routing.slots; ++s) {
      const auto route = static_cast<std::size_t>(t * routing.slots + s);
      if (routing.expert[route] < 0 || routing.weight[route] == 0.0f) continue;
      const std::int64_t e = routing.expert[route];
      std::vector<float> gate = plainRow(Layer::split(layer.gate, layer.experts).expert(e), token);
      const std::vector<float> up = plainRow(Layer::split(layer.up, layer.experts).expert(e), token);
      cpu::swiglu(Isa::portable, gate.data(), up.data(), layer.inner, clampLimit, routing.weight[route],
                  gate.data());
      const std::vector<float> y = plainRow(Layer::split(layer.down, layer.experts).expert(e), gate);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += y[i];
    }
    for (std::size_t i = 0; i < sum.size() && !shared.empty(); ++i) {
      sum[i] += shared[static_cast<std::size_t>(t * layer.hidden) + i];
    }
    out.insert(out.end(), sum.begin(), sum.end());
  }
  return out;
}

struct Packed {
  PackedWeights gate, up, down;
  MoeWeights weights() const { return {&gate, &up, &down, clampLimit}; }
};

Packed pack(ThreadPool& pool, const Layer& layer) {
  return {PackedWeights(pool, Layer::split(layer.gate, layer.experts)),
          PackedWeights(pool, Layer::split(layer.up, layer.experts)),
          PackedWeights(pool, Layer::split(layer.down, layer.experts))};
}

std::vector<float> run(Execution& ex, MoePlan plan, const Packed& packed, std::int64_t experts,
                       std::int64_t hidden, const Routing& routing, const std::vector<float>& x,
                       const std::vector<float>& shared, MoeScratch& scratch) {
  Routes routes;
  sortRoutes(routing.expert.data(), routing.weight.data(), routing.tokens, routing.slots, experts, routes);
  Activations quantised;
  quantize(ex, x.data(), routing.tokens, hidden, hidden, quantised);
  std::vector<float> y(static_cast<std::size_t>(routing.tokens * routing.slots * hidden), poison);
  routedExperts(ex, plan, packed.weights(), inputs(x.data(), hidden, &quantised), routes, scratch, y.data());
  for (std::size_t i = static_cast<std::size_t>(routes.live() * hidden); i < y.size(); ++i)
    CHECK(sameBits(y[i], 0.0f));
  // Nothing may be read of rows that no route owns.
  std::fill(y.begin() + routes.live() * hidden, y.end(), poison);
  std::vector<float> out(static_cast<std::size_t>(routing.tokens * hidden), poison);
  combine(ex, routes, y.data(), shared.empty() ? nullptr : shared.data(), hidden, out.data());
  return out;
}

void checkLayer(Random& random, const Layer& layer, const Routing& routing, bool withShared) {
  const auto x = randomFloats(random, static_cast<std::size_t>(routing.tokens * layer.hidden), 0.3f);
  const auto shared = withShared ? randomFloats(random, x.size()) : std::vector<float>{};
  const auto expected = plainExperts(layer, routing, x, shared);
  MoeScratch scratch;
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const Packed packed = pack(pool, layer);
    for (const Isa isa : supportedIsas()) {
      for (const MoePlan plan : {MoePlan::serial, MoePlan::grouped}) {
        Counters counters;
        Execution ex{pool, isa, counters};
        INFO(name(isa) << " threads " << threads << " grouped " << (plan == MoePlan::grouped));
        const auto out = run(ex, plan, packed, layer.experts, layer.hidden, routing, x, shared, scratch);
        CHECK(firstDifference(out, expected) == -1);
      }
    }
  }
}

constexpr Types field{Type::ROCmFP2, Type::ROCmFP2, Type::ROCmFP3};

}  // namespace

TEST_CASE("both plans equal plain loops to the bit for every weight type") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  for (const Types types :
       {field, Types{Type::Q4_0, Type::Q4_0, Type::Q4_0}, Types{Type::Q8_0, Type::Q8_0, Type::Q8_0},
        Types{Type::F32, Type::F32, Type::F32}, Types{Type::F16, Type::BF16, Type::F16},
        Types{Type::Q8_0, Type::F32, Type::Q4_0}, Types{Type::F16, Type::F16, Type::ROCmFP3}}) {
    // F of one whole block and one short one, D of no whole tile pair.
    const Layer layer(random, types, 3, 96, 160);
    checkLayer(random, layer, randomRouting(random, 9, 2, 3), true);
  }
}

TEST_CASE("every count of rows of an expert from 1 to 70, duplicates of an expert in a token included") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, field, 2, 64, 32);
  ThreadPool pool(1);
  const Packed packed = pack(pool, layer);
  Counters counters;
  MoeScratch scratch;
  for (std::int64_t tokens = 1; tokens <= 35; ++tokens) {
    const Routing routing{tokens, 2, std::vector<std::int32_t>(static_cast<std::size_t>(2 * tokens), 1),
                          randomRouting(random, tokens, 2, 2).weight};
    const auto x = randomFloats(random, static_cast<std::size_t>(tokens * 64), 0.3f);
    const auto expected = plainExperts(layer, routing, x, {});
    for (const MoePlan plan : {MoePlan::serial, MoePlan::grouped}) {
      Execution ex{pool, bestIsa(), counters};
      INFO("tokens " << tokens << " grouped " << (plan == MoePlan::grouped));
      CHECK(firstDifference(run(ex, plan, packed, 2, 64, routing, x, {}, scratch), expected) == -1);
    }
  }
}

TEST_CASE("masked routes, masked tokens and experts without routes contribute exactly +0") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, field, 5, 64, 128);
  Routing routing = randomRouting(random, 12, 3, 4);  // expert 4 has none
  for (std::size_t i = 0; i < routing.expert.size(); i += 4) routing.expert[i] = -1;
  for (std::size_t i = 1; i < routing.expert.size(); i += 5) routing.weight[i] = 0.0f;
  for (std::size_t slot = 0; slot < 3; ++slot) routing.expert[5 * 3 + slot] = -1;  // token 5 as a whole
  checkLayer(random, layer, routing, false);
  checkLayer(random, layer, routing, true);

  ThreadPool pool(2);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  MoeScratch scratch;
  const auto x = randomFloats(random, 12 * 64);
  for (const MoePlan plan : {MoePlan::serial, MoePlan::grouped}) {
    const auto out = run(ex, plan, pack(pool, layer), 5, 64, routing, x, {}, scratch);
    for (std::size_t i = 5 * 64; i < 6 * 64; ++i) CHECK(sameBits(out[i], 0.0f));
    Routing none = routing;
    std::fill(none.expert.begin(), none.expert.end(), -1);
    for (const float value : run(ex, plan, pack(pool, layer), 5, 64, none, x, {}, scratch))
      CHECK(sameBits(value, 0.0f));
  }
}

TEST_CASE("skewed routing: one expert takes more rows than one item or pass holds") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, field, 4, 32, 64);
  Routing routing = randomRouting(random, 300, 2, 4);
  for (std::size_t i = 0; i < routing.expert.size(); ++i) routing.expert[i] = i % 10 == 0 ? 3 : 2;
  checkLayer(random, layer, routing, true);
}

TEST_CASE("a token's bits do not depend on the tokens beside it") {
  Random random(11);
  const Layer layer(random, field, 4, 128, 256);
  const Routing whole = randomRouting(random, 40, 3, 4);
  const auto x = randomFloats(random, 40 * 128, 0.3f);
  ThreadPool pool(2);
  const Packed packed = pack(pool, layer);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  MoeScratch scratch;
  const auto all = run(ex, MoePlan::grouped, packed, 4, 128, whole, x, {}, scratch);
  for (std::int64_t first = 0; first < 40; first += 7) {
    const std::int64_t n = std::min<std::int64_t>(7, 40 - first);
    const Routing part{n,
                       3,
                       {whole.expert.begin() + first * 3, whole.expert.begin() + (first + n) * 3},
                       {whole.weight.begin() + first * 3, whole.weight.begin() + (first + n) * 3}};
    const std::vector<float> xs(x.begin() + first * 128, x.begin() + (first + n) * 128);
    const std::vector<float> expected(all.begin() + first * 128, all.begin() + (first + n) * 128);
    CHECK(firstDifference(run(ex, MoePlan::grouped, packed, 4, 128, part, xs, {}, scratch), expected) == -1);
  }
}

TEST_CASE("the shared expert is one expert that takes every token with weight 1") {
  Random random(12);
  const Layer layer(random, {Type::Q8_0, Type::Q8_0, Type::Q8_0}, 1, 96, 192);
  const std::int64_t tokens = 70;
  const Routing everyToken{tokens, 1, std::vector<std::int32_t>(tokens, 0), std::vector<float>(tokens, 1.0f)};
  const auto x = randomFloats(random, static_cast<std::size_t>(tokens * 96), 0.3f);
  const auto expected = plainExperts(layer, everyToken, x, {});
  ThreadPool pool(2);
  const Packed packed = pack(pool, layer);
  for (const Isa isa : supportedIsas()) {
    Counters counters;
    Execution ex{pool, isa, counters};
    Activations quantised;
    quantize(ex, x.data(), tokens, 96, 96, quantised);
    MoeScratch scratch;
    std::vector<float> y(expected.size(), poison);
    sharedExpert(ex, packed.weights(), inputs(x.data(), 96, &quantised), tokens, scratch, y.data());
    CHECK(firstDifference(y, expected) == -1);
    CHECK(counters.of(Kernel::sharedExpert) == 1);
  }
}

TEST_CASE("a NaN input poisons its own token and no other") {
  Random random(13);
  const Layer layer(random, field, 3, 128, 128);
  const Routing routing = randomRouting(random, 6, 2, 3);
  auto x = randomFloats(random, 6 * 128, 0.3f);
  x[2 * 128 + 5] = poison;
  ThreadPool pool(1);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  MoeScratch scratch;
  const auto out = run(ex, MoePlan::grouped, pack(pool, layer), 3, 128, routing, x, {}, scratch);
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i / 128 == 2));
}

TEST_CASE("the counters tell the plans apart") {
  Random random(14);
  const Layer layer(random, field, 3, 32, 32);
  const Routing routing{2, 2, {0, 2, 0, 2}, {1, 1, 1, 1}};
  const auto x = randomFloats(random, 64);
  ThreadPool pool(1);
  const Packed packed = pack(pool, layer);
  MoeScratch scratch;
  Counters serial;
  Execution serialRun{pool, bestIsa(), serial};
  run(serialRun, MoePlan::serial, packed, 3, 32, routing, x, {}, scratch);
  CHECK(serial.of(Kernel::serialExpert) == 2);
  CHECK(serial.of(Kernel::groupedGateUp) == 0);
  CHECK(serial.of(Kernel::matmulROCmFP2) == 4);
  Counters grouped;
  Execution groupedRun{pool, bestIsa(), grouped};
  run(groupedRun, MoePlan::grouped, packed, 3, 32, routing, x, {}, scratch);
  CHECK(grouped.of(Kernel::serialExpert) == 0);
  CHECK(grouped.of(Kernel::groupedGateUp) == 1);
  CHECK(grouped.of(Kernel::groupedDown) == 1);
  CHECK(grouped.of(Kernel::matmulROCmFP2) == 0);
  CHECK(grouped.of(Kernel::combine) == 1);
}

TEST_CASE("weights and inputs that do not fit together are refused") {
  Random random(15);
  const Layer layer(random, field, 3, 32, 32);
  const Layer other(random, field, 3, 64, 32);
  ThreadPool pool(1);
  const Packed packed = pack(pool, layer);
  const Packed otherPacked = pack(pool, other);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  MoeScratch scratch;
  const std::vector<float> x(64, 1.0f);
  std::vector<float> y(64);
  Routes routes;
  const std::int32_t expert[] = {0};
  const float weight[] = {1};
  sortRoutes(expert, weight, 1, 1, 3, routes);
  const MoeWeights mixed{&packed.gate, &otherPacked.up, &packed.down, clampLimit};
  Activations quantised;
  quantize(ex, x.data(), 1, 32, 32, quantised);
  const Inputs in = inputs(x.data(), 32, &quantised);
  CHECK_THROWS_AS(routedExperts(ex, MoePlan::grouped, mixed, in, routes, scratch, y.data()),
                  std::invalid_argument);
  sortRoutes(expert, weight, 1, 1, 4, routes);
  CHECK_THROWS_AS(routedExperts(ex, MoePlan::grouped, packed.weights(), in, routes, scratch, y.data()),
                  std::invalid_argument);
  sortRoutes(expert, weight, 1, 1, 3, routes);
  const Inputs fp32Only = inputs(x.data(), 32, nullptr);
  for (const MoePlan plan : {MoePlan::serial, MoePlan::grouped}) {
    CHECK_THROWS_AS(routedExperts(ex, plan, packed.weights(), fp32Only, routes, scratch, y.data()),
                    std::invalid_argument);
  }
}
