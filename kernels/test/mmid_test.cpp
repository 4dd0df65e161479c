// Holds every way through the experts to plain loops over routes, to the bit: routings, masks, types, threads,
// instruction sets.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "experts_check.h"
#include "qk/combine.h"

using namespace qk;
using namespace qk::test;

namespace {

// Every way, thread count and instruction set against the plain loops.
void checkLayer(Random& random, const Layer& layer, const Layer* shared, const Routing& routing) {
  const auto x = randomFloats(random, static_cast<std::size_t>(routing.tokens * layer.hidden), 0.3f);
  const auto expected = plainExperts(layer, shared, routing, x);
  MoeScratch scratch;
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const Packed packed = pack(pool, layer);
    const Packed packedShared = shared != nullptr ? pack(pool, *shared) : Packed{};
    for (const Isa isa : supportedIsas()) {
      for (const Way& way : allWays()) {
        Counters counters;
        Execution ex{pool, isa, counters};
        INFO(name(isa) << ", threads " << threads << ", " << way.name());
        const auto out = runMoe(ex, way, packed, shared != nullptr ? &packedShared : nullptr, routing, x, scratch);
        CHECK(firstDifference(out, expected) == -1);
      }
    }
  }
}

// The ways that a difference of routing can tell apart, on the best instruction set.
void checkRouting(Random& random, const Layer& layer, const Layer* shared, const Packed& packed,
                  const Packed* packedShared, ThreadPool& pool, const Routing& routing, MoeScratch& scratch) {
  const auto x = randomFloats(random, static_cast<std::size_t>(routing.tokens * layer.hidden), 0.3f);
  const auto expected = plainExperts(layer, shared, routing, x);
  for (const Way& way : {Way{}, Way{MoePlan::grouped, {}}, Way{MoePlan::grouped, {false, true, true}}}) {
    Counters counters;
    Execution ex{pool, bestIsa(), counters};
    INFO("tokens " << routing.tokens << ", " << way.name());
    CHECK(firstDifference(runMoe(ex, way, packed, packedShared, routing, x, scratch), expected) == -1);
  }
}

// Masks of the field: one route in five, and here also whole tokens, by expert or by weight.
Routing masked(Routing routing) {
  for (std::int64_t t = 0; t < routing.tokens; ++t) {
    for (std::int64_t s = 0; s < routing.slots; ++s) {
      const auto r = static_cast<std::size_t>(t * routing.slots + s);
      if ((t + s) % 5 == 0 || t % 7 == 3) routing.expert[r] = -1;
      if (t % 11 == 4 || (t + 2 * s) % 9 == 1) routing.weight[r] = 0.0f;
    }
  }
  return routing;
}

// Zipf: expert e with weight 1 / (e + 1).
Routing zipfRouting(Random& random, std::int64_t tokens, std::int64_t slots, std::int64_t experts) {
  Routing routing = randomRouting(random, tokens, slots, experts);
  std::vector<double> weights;
  for (std::int64_t e = 0; e < experts; ++e) weights.push_back(1.0 / static_cast<double>(e + 1));
  std::discrete_distribution<std::int32_t> zipf(weights.begin(), weights.end());
  for (std::int32_t& expert : routing.expert) expert = zipf(random);
  return sortedSlots(std::move(routing));
}

}  // namespace

TEST_CASE("every way equals plain loops to the bit for every weight type") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  for (const Types types :
       {fieldTypes, Types{Type::Q4_0, Type::Q4_0, Type::Q4_0}, Types{Type::Q8_0, Type::Q8_0, Type::Q8_0},
        Types{Type::F32, Type::F32, Type::F32}, Types{Type::F16, Type::BF16, Type::F16},
        Types{Type::Q8_0, Type::F32, Type::Q4_0}, Types{Type::F16, Type::F16, Type::ROCmFP3}}) {
    // F of one whole block and one short one, D of no whole tile pair.
    const Layer layer(random, types, 3, 96, 160);
    const Layer shared(random, {Type::Q8_0, Type::Q8_0, Type::Q8_0}, 1, 96, 64);
    checkLayer(random, layer, &shared, sortedSlots(randomRouting(random, 9, 2, 3)));
  }
}

TEST_CASE("every way equals plain loops to the bit for the 4-bit and k-quant types") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  for (const Type type : {Type::ROCmFP4, Type::ROCmFP4_FAST, Type::MXFP4, Type::Q2_K}) {
    // Q2_K takes whole blocks of 256 columns.
    const std::int64_t width = type == Type::Q2_K ? 256 : 96;
    const Layer layer(random, {type, type, type}, 3, width, width);
    checkLayer(random, layer, nullptr, sortedSlots(randomRouting(random, 9, 2, 3)));
  }
}

TEST_CASE("every count of rows of an expert from 1 to 70, duplicates of an expert in a token included") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, fieldTypes, 2, 64, 32);
  ThreadPool pool(1);
  const Packed packed = pack(pool, layer);
  MoeScratch scratch;
  for (std::int64_t tokens = 1; tokens <= 35; ++tokens) {
    const Routing routing{tokens, 2, std::vector<std::int32_t>(static_cast<std::size_t>(2 * tokens), 1),
                          randomRouting(random, tokens, 2, 2).weight};
    checkRouting(random, layer, nullptr, packed, nullptr, pool, routing, scratch);
  }
}

TEST_CASE("masks at every width from 1 to 70, 256, and a batch that is masked as a whole") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, fieldTypes, 6, 64, 32);  // experts 4 and 5 have no route
  const Layer shared(random, {Type::Q8_0, Type::Q8_0, Type::Q8_0}, 1, 64, 32);
  ThreadPool pool(2);
  const Packed packed = pack(pool, layer);
  const Packed packedShared = pack(pool, shared);
  MoeScratch scratch;
  std::vector<std::int64_t> widths(70);
  std::iota(widths.begin(), widths.end(), 1);
  widths.push_back(256);
  for (const std::int64_t tokens : widths) {
    const Routing routing = masked(sortedSlots(randomRouting(random, tokens, 3, 4)));
    checkRouting(random, layer, nullptr, packed, nullptr, pool, routing, scratch);
    checkRouting(random, layer, &shared, packed, &packedShared, pool, routing, scratch);
    Routing none = routing;
    std::fill(none.expert.begin(), none.expert.end(), -1);
    checkRouting(random, layer, nullptr, packed, nullptr, pool, none, scratch);
    checkRouting(random, layer, &shared, packed, &packedShared, pool, none, scratch);
  }
}

TEST_CASE("masked routes, masked tokens and experts without routes contribute exactly +0") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, fieldTypes, 5, 64, 128);
  const Layer shared(random, fieldTypes, 1, 64, 128);
  Routing routing = sortedSlots(randomRouting(random, 12, 3, 4));  // expert 4 has none
  for (std::size_t i = 0; i < routing.expert.size(); i += 4) routing.expert[i] = -1;
  for (std::size_t i = 1; i < routing.expert.size(); i += 5) routing.weight[i] = 0.0f;
  for (std::size_t slot = 0; slot < 3; ++slot) routing.expert[5 * 3 + slot] = -1;  // token 5 as a whole
  checkLayer(random, layer, nullptr, routing);
  checkLayer(random, layer, &shared, routing);

  ThreadPool pool(2);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  MoeScratch scratch;
  const Packed packed = pack(pool, layer);
  const auto x = randomFloats(random, 12 * 64);
  Routing none = routing;
  std::fill(none.expert.begin(), none.expert.end(), -1);
  for (const Way& way : allWays()) {
    const auto out = runMoe(ex, way, packed, nullptr, routing, x, scratch);
    for (std::size_t i = 5 * 64; i < 6 * 64; ++i) CHECK(sameBits(out[i], 0.0f));
    for (const float value : runMoe(ex, way, packed, nullptr, none, x, scratch)) CHECK(sameBits(value, 0.0f));
  }
}

TEST_CASE("256 and 300 experts, most of them with one row or none") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  for (const std::int64_t experts : {256, 300}) {
    const Layer layer(random, fieldTypes, experts, 32, 32);
    checkLayer(random, layer, nullptr, sortedSlots(randomRouting(random, 33, 6, experts)));
  }
}

TEST_CASE("skewed routing: Zipf, and one expert with more rows than one item or pass holds") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, fieldTypes, 16, 32, 64);
  checkLayer(random, layer, nullptr, zipfRouting(random, 200, 6, 16));
  const Layer few(random, fieldTypes, 4, 32, 64);
  Routing hot = randomRouting(random, 300, 2, 4);
  for (std::size_t i = 0; i < hot.expert.size(); ++i) hot.expert[i] = i % 10 == 0 ? 3 : 2;
  checkLayer(random, few, nullptr, sortedSlots(hot));
}

TEST_CASE("slots that do not ascend by expert are summed in slot order all the same, and not counted as fused") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, fieldTypes, 7, 64, 32);
  Routing routing = masked(sortedSlots(randomRouting(random, 40, 4, 7)));
  for (std::int64_t t = 0; t < routing.tokens; ++t) {
    std::shuffle(routing.expert.begin() + t * 4, routing.expert.begin() + (t + 1) * 4, random);
  }
  routing.expert[0] = 3;  // at least one token descends
  routing.expert[1] = 2;
  routing.weight[0] = routing.weight[1] = 0.5f;
  checkLayer(random, layer, nullptr, routing);

  ThreadPool pool(2);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  MoeScratch scratch;
  const auto x = randomFloats(random, 40 * 64);
  runMoe(ex, {MoePlan::grouped, {}}, pack(pool, layer), nullptr, routing, x, scratch);
  CHECK(counters.of(Kernel::groupedDownCombine) == 0);
  CHECK(counters.of(Kernel::groupedDown) == 2);
  CHECK(counters.of(Kernel::combine) == 2);
}

TEST_CASE("many threads cut the output into blocks of columns and bands of tokens, and no bit") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, fieldTypes, 5, 288, 32);
  const Layer shared(random, fieldTypes, 1, 288, 32);
  MoeScratch scratch;
  for (const int threads : {2, 5, 16}) {
    ThreadPool pool(threads);
    const Packed packed = pack(pool, layer);
    const Packed packedShared = pack(pool, shared);
    for (const std::int64_t tokens : {1, 31, 64, 97, 260}) {
      INFO("threads " << threads);
      const Routing routing = masked(sortedSlots(randomRouting(random, tokens, 3, 5)));
      checkRouting(random, layer, &shared, packed, &packedShared, pool, routing, scratch);
    }
  }
}

TEST_CASE("a token's bits do not depend on the tokens beside it") {
  Random random(11);
  const Layer layer(random, fieldTypes, 4, 128, 256);
  const Routing whole = sortedSlots(randomRouting(random, 40, 3, 4));
  const auto x = randomFloats(random, 40 * 128, 0.3f);
  ThreadPool pool(2);
  const Packed packed = pack(pool, layer);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  MoeScratch scratch;
  const Way way{MoePlan::grouped, {}};
  const auto all = runMoe(ex, way, packed, nullptr, whole, x, scratch);
  for (std::int64_t first = 0; first < 40; first += 7) {
    const std::int64_t n = std::min<std::int64_t>(7, 40 - first);
    const Routing part{n,
                       3,
                       {whole.expert.begin() + first * 3, whole.expert.begin() + (first + n) * 3},
                       {whole.weight.begin() + first * 3, whole.weight.begin() + (first + n) * 3}};
    const std::vector<float> xs(x.begin() + first * 128, x.begin() + (first + n) * 128);
    const std::vector<float> expected(all.begin() + first * 128, all.begin() + (first + n) * 128);
    CHECK(firstDifference(runMoe(ex, way, packed, nullptr, part, xs, scratch), expected) == -1);
  }
}

TEST_CASE("the sum may take the place of the inputs") {
  Random random(16);
  const Layer layer(random, {Type::F32, Type::F32, Type::F32}, 3, 64, 64);
  const Layer shared(random, {Type::F32, Type::F32, Type::F32}, 1, 64, 64);
  const Routing routing = sortedSlots(randomRouting(random, 20, 2, 3));
  const auto x = randomFloats(random, 20 * 64, 0.3f);
  const auto expected = plainExperts(layer, &shared, routing, x);
  ThreadPool pool(2);
  const Packed packed = pack(pool, layer);
  const Packed packedShared = pack(pool, shared);
  const MoeWeights sharedWeights = packedShared.weights();
  Routes routes;
  sortRoutes(routing.expert.data(), routing.weight.data(), 20, 2, 3, routes);
  for (const Way& way : allWays()) {
    Counters counters;
    Execution ex{pool, bestIsa(), counters};
    MoeScratch scratch;
    INFO(way.name());
    std::vector<float> inOut = x;
    moe(ex, way.plan, way.options, packed.weights(), &sharedWeights, inputs(inOut.data(), 64, nullptr), routes,
        scratch, inOut.data());
    CHECK(firstDifference(inOut, expected) == -1);
  }
}

TEST_CASE("rows before they are summed: those of live routes are written, those of masked ones are +0") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, fieldTypes, 4, 64, 128);
  const Routing routing = masked(randomRouting(random, 50, 3, 4));
  const auto x = randomFloats(random, 50 * 64, 0.3f);
  const auto expected = plainExperts(layer, nullptr, routing, x);
  ThreadPool pool(2);
  const Packed packed = pack(pool, layer);
  Routes routes;
  sortRoutes(routing.expert.data(), routing.weight.data(), 50, 3, 4, routes);
  REQUIRE(routes.live() < 150);
  MoeScratch scratch;
  for (const MoePlan plan : {MoePlan::serial, MoePlan::grouped}) {
    Counters counters;
    Execution ex{pool, bestIsa(), counters};
    Activations quantised;
    quantize(ex, x.data(), 50, 64, 64, quantised);
    std::vector<float> y(150 * 64, poison);
    routedExperts(ex, plan, packed.weights(), inputs(x.data(), 64, &quantised), routes, scratch, y.data());
    for (std::size_t i = static_cast<std::size_t>(routes.live() * 64); i < y.size(); ++i)
      CHECK(sameBits(y[i], 0.0f));
    // Nothing may be read of rows that no route owns.
    std::fill(y.begin() + routes.live() * 64, y.end(), poison);
    std::vector<float> out(50 * 64, poison);
    combine(ex, routes, y.data(), nullptr, 64, out.data());
    CHECK(firstDifference(out, expected) == -1);
  }
}

TEST_CASE("the shared expert is one expert that takes every token with weight 1") {
  Random random(12);
  const Layer layer(random, {Type::Q8_0, Type::Q8_0, Type::Q8_0}, 1, 96, 192);
  const std::int64_t tokens = 70;
  const Routing everyToken{tokens, 1, std::vector<std::int32_t>(tokens, 0), std::vector<float>(tokens, 1.0f)};
  const auto x = randomFloats(random, static_cast<std::size_t>(tokens * 96), 0.3f);
  const auto expected = plainExperts(layer, nullptr, everyToken, x);
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
  const Layer layer(random, fieldTypes, 3, 128, 128);
  const Routing routing = sortedSlots(randomRouting(random, 6, 2, 3));
  auto x = randomFloats(random, 6 * 128, 0.3f);
  x[2 * 128 + 5] = poison;
  ThreadPool pool(1);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  MoeScratch scratch;
  const auto out = runMoe(ex, {MoePlan::grouped, {}}, pack(pool, layer), nullptr, routing, x, scratch);
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i / 128 == 2));
}

TEST_CASE("the counters tell the ways apart") {
  Random random(14);
  const Layer layer(random, fieldTypes, 3, 32, 32);
  const Routing routing{2, 2, {0, 2, 0, 2}, {1, 1, 1, 1}};
  const auto x = randomFloats(random, 64);
  ThreadPool pool(1);
  const Packed packed = pack(pool, layer);
  MoeScratch scratch;
  // Counts of two calls.
  for (const Way& way : allWays()) {
    INFO(way.name());
    Counters counters;
    Execution ex{pool, bestIsa(), counters};
    runMoe(ex, way, packed, nullptr, routing, x, scratch);
    const bool grouped = way.plan == MoePlan::grouped;
    const bool fused = grouped && way.options.fusedCombine;
    CHECK(counters.of(Kernel::serialExpert) == (grouped ? 0 : 4));
    CHECK(counters.of(Kernel::matmulROCmFP2) == (grouped ? 0 : 8));
    CHECK(counters.of(Kernel::groupedGateUp) == (grouped ? 2 : 0));
    CHECK(counters.of(Kernel::groupedDown) == (grouped && !fused ? 2 : 0));
    CHECK(counters.of(Kernel::groupedDownCombine) == (fused ? 2 : 0));
    CHECK(counters.of(Kernel::combine) == (fused ? 0 : 2));
    CHECK(counters.of(Kernel::persistentQueue) == (grouped && way.options.persistentQueue ? 2 : 0));
    CHECK(counters.of(Kernel::adaptiveTile) == (grouped && way.options.adaptiveTile ? 2 : 0));
    CHECK(counters.of(Kernel::sharedExpert) == 0);
  }
}

TEST_CASE("the fused way holds no row of a route") {
  Random random(17);
  const Layer layer(random, fieldTypes, 3, 64, 32);
  const Routing routing = sortedSlots(randomRouting(random, 64, 2, 3));
  const auto x = randomFloats(random, 64 * 64);
  ThreadPool pool(1);
  const Packed packed = pack(pool, layer);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  MoeScratch scratch;
  runMoe(ex, {MoePlan::grouped, {}}, packed, nullptr, routing, x, scratch);
  CHECK(scratch.rows.bytes() == 0);
  CHECK(scratch.sharedRows.bytes() == 0);
}

TEST_CASE("weights and inputs that do not fit together are refused") {
  Random random(15);
  const Layer layer(random, fieldTypes, 3, 32, 32);
  const Layer other(random, fieldTypes, 3, 64, 32);
  const Layer wideShared(random, fieldTypes, 1, 64, 32);
  ThreadPool pool(1);
  const Packed packed = pack(pool, layer);
  const Packed otherPacked = pack(pool, other);
  const Packed sharedPacked = pack(pool, wideShared);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  MoeScratch scratch;
  const std::vector<float> x(64, 1.0f);
  std::vector<float> y(64);
  Routes routes;
  const std::int32_t expert[] = {0};
  const float weight[] = {1};
  const MoeWeights mixed{&packed.gate, &otherPacked.up, &packed.down, clampLimit};
  const MoeWeights weights = packed.weights();
  const MoeWeights shared = sharedPacked.weights();
  Activations quantised;
  quantize(ex, x.data(), 1, 32, 32, quantised);
  const Inputs in = inputs(x.data(), 32, &quantised);
  const Inputs fp32Only = inputs(x.data(), 32, nullptr);
  for (const Way& way : allWays()) {
    INFO(way.name());
    const auto run = [&](const MoeWeights& routed, const MoeWeights* with, const Inputs& given) {
      moe(ex, way.plan, way.options, routed, with, given, routes, scratch, y.data());
    };
    sortRoutes(expert, weight, 1, 1, 3, routes);
    CHECK_THROWS_AS(run(mixed, nullptr, in), std::invalid_argument);
    CHECK_THROWS_AS(run(weights, &shared, in), std::invalid_argument);
    CHECK_THROWS_AS(run(weights, &weights, in), std::invalid_argument);  // the shared expert is one
    CHECK_THROWS_AS(run(weights, nullptr, fp32Only), std::invalid_argument);
    sortRoutes(expert, weight, 1, 1, 4, routes);
    CHECK_THROWS_AS(run(weights, nullptr, in), std::invalid_argument);
    CHECK_THROWS_AS(routedExperts(ex, way.plan, weights, in, routes, scratch, y.data(), way.options),
                    std::invalid_argument);
  }
}
