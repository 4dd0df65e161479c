// Holds experts that are divided over owners to one owner, to the bit, for every placement; and the placements to
// their rules.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

#include "experts_check.h"
#include "qk/owners.h"
#include "qk/placement.h"

using namespace qk;
using namespace qk::test;

namespace {

OwnedLayer divide(ThreadPool& pool, const Layer& layer, const std::vector<std::int32_t>& ownerOf,
                  std::int64_t owners) {
  OwnedLayer divided = ownedLayer(ownerOf, owners);
  for (std::int64_t o = 0; o < owners; ++o) {
    const std::vector<std::int32_t> held = heldBy(ownerOf, o);
    if (held.empty()) continue;
    const auto part = [&](const Weights& w) {
      ExpertMatrices matrices = Layer::split(w, layer.experts);
      matrices.experts = static_cast<std::int64_t>(held.size());
      matrices.chosen = held.data();
      return PackedWeights(pool, matrices);
    };
    OwnedExperts& owner = divided.owners[static_cast<std::size_t>(o)];
    owner.gate = part(layer.gate);
    owner.up = part(layer.up);
    owner.down = part(layer.down);
  }
  return divided;
}

std::vector<float> runOwners(Execution& ex, Owners& owners, const Way& way, const OwnedLayer& divided,
                             const Packed* shared, const Routing& routing, const std::vector<float>& x) {
  const std::int64_t hidden = divided.any().gate.matrix().cols;
  Activations quantised;
  quantize(ex, x.data(), routing.tokens, hidden, hidden, quantised);
  const MoeWeights sharedWeights = shared != nullptr ? shared->weights() : MoeWeights{};
  std::vector<float> out(x.size(), poison);
  owners.moe(ex, way.plan, way.options, divided, clampLimit, shared != nullptr ? &sharedWeights : nullptr,
             inputs(x.data(), hidden, &quantised), routing.expert.data(), routing.weight.data(), routing.tokens,
             routing.slots, out.data());
  return out;
}

std::vector<std::int32_t> randomOwners(Random& random, std::int64_t experts, std::int64_t owners) {
  std::vector<std::int32_t> ownerOf(static_cast<std::size_t>(experts));
  for (std::int32_t& owner : ownerOf) owner = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(owners));
  return ownerOf;
}

std::string messageOf(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("owners give the bits of one owner for every placement, plan, type and number of owners") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  constexpr std::int64_t experts = 7;
  for (const Types types : {fieldTypes, Types{Type::Q4_0, Type::Q4_0, Type::Q8_0},
                            Types{Type::F32, Type::F16, Type::F32}, Types{Type::MXFP4, Type::ROCmFP4, Type::Q8_0}}) {
    const Layer layer(random, types, experts, 96, 64);
    const Layer sharedLayer(random, {Type::Q8_0, Type::Q8_0, Type::Q8_0}, 1, 96, 32);
    Routing routing = randomRouting(random, 40, 3, experts);  // neither ascending nor without duplicates
    for (std::size_t i = 0; i < routing.expert.size(); i += 5) routing.expert[i] = -1;
    for (std::size_t i = 3; i < routing.expert.size(); i += 7) routing.weight[i] = 0.0f;
    for (std::size_t s = 0; s < 3; ++s) routing.expert[4 * 3 + s] = -1;  // a token as a whole
    const auto x = randomFloats(random, 40 * 96, 0.3f);
    ThreadPool pool(4);
    const Packed shared = pack(pool, sharedLayer);
    for (const Packed* with : {static_cast<const Packed*>(nullptr), &shared}) {
      const auto expected = plainExperts(layer, with != nullptr ? &sharedLayer : nullptr, routing, x);
      for (const int owners : {1, 2, 3, 4}) {
        Owners threads(owners, 4);
        std::vector<std::vector<std::int32_t>> placements{
            std::vector<std::int32_t>(experts, 0), std::vector<std::int32_t>(experts, owners - 1),
            randomOwners(random, experts, owners), randomOwners(random, experts, owners)};
        for (const auto& ownerOf : placements) {
          const OwnedLayer divided = divide(pool, layer, ownerOf, owners);
          for (const Way& way : {Way{}, Way{MoePlan::grouped, {}}, Way{MoePlan::grouped, {false, false, false}}}) {
            for (const Isa isa : supportedIsas()) {
              Counters counters;
              Execution ex{pool, isa, counters};
              INFO(name(isa) << ", owners " << owners << ", " << way.name());
              const auto out = runOwners(ex, threads, way, divided, with, routing, x);
              CHECK(firstDifference(out, expected) == -1);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("an owner without a live route gives exact +0, whatever an earlier call left in its memory") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const Layer layer(random, fieldTypes, 4, 64, 32);
  ThreadPool pool(2);
  Owners owners(2, 2);
  const OwnedLayer divided = divide(pool, layer, {0, 0, 1, 1}, 2);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  auto poisoned = randomFloats(random, 20 * 64, 0.3f);
  std::fill(poisoned.begin(), poisoned.end(), poison);
  const auto x = randomFloats(random, 20 * 64, 0.3f);
  for (const Way& way : {Way{}, Way{MoePlan::grouped, {}}}) {
    // Every row of both owners becomes NaN ...
    const Routing both = randomRouting(random, 20, 2, 4);
    for (const float value : runOwners(ex, owners, way, divided, nullptr, both, poisoned)) CHECK(std::isnan(value));
    // ... and none of it may be seen when the second owner, then the first, then both have nothing live.
    for (const std::int32_t only : {0, 2}) {
      Routing one = both;
      for (std::int32_t& e : one.expert) e = only + e % 2;
      for (std::size_t i = 0; i < one.expert.size(); i += 3) one.expert[i] = (only + 2) % 4;
      for (std::size_t i = 0; i < one.weight.size(); i += 3) one.weight[i] = 0.0f;
      counters = {};
      CHECK(firstDifference(runOwners(ex, owners, way, divided, nullptr, one, x),
                            plainExperts(layer, nullptr, one, x)) == -1);
      CHECK(counters.of(Kernel::ownerExperts) == 1);
    }
    Routing none = both;
    std::fill(none.expert.begin(), none.expert.end(), -1);
    counters = {};
    for (const float value : runOwners(ex, owners, way, divided, nullptr, none, x)) CHECK(sameBits(value, 0.0f));
    CHECK(counters.of(Kernel::ownerExperts) == 0);
  }
}

TEST_CASE("the shared expert runs on exactly one owner, and owners are counted") {
  Random random(3);
  const Layer layer(random, fieldTypes, 4, 64, 32);
  const Layer sharedLayer(random, fieldTypes, 1, 64, 32);
  ThreadPool pool(3);
  const Packed shared = pack(pool, sharedLayer);
  Owners owners(3, 3);
  const OwnedLayer divided = divide(pool, layer, {1, 2, 1, 2}, 3);  // the first holds only the shared one
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  const Routing routing = sortedSlots(randomRouting(random, 50, 2, 4));
  runOwners(ex, owners, {MoePlan::grouped, {}}, divided, &shared, routing, randomFloats(random, 50 * 64));
  CHECK(counters.of(Kernel::sharedExpert) == 1);
  CHECK(counters.of(Kernel::ownerExperts) == 3);
  CHECK(counters.of(Kernel::groupedGateUp) == 2);
  CHECK(counters.of(Kernel::groupedDownCombine) == 0);
  CHECK(counters.of(Kernel::combine) == 1);
}

TEST_CASE("each owner's weights are compact, and local ids are -1 for what it does not hold") {
  Random random(4);
  const Layer layer(random, fieldTypes, 5, 64, 32);
  ThreadPool pool(1);
  const OwnedLayer divided = divide(pool, layer, {1, 0, 1, 1, 0}, 3);
  CHECK(divided.owners[0].local == std::vector<std::int32_t>{-1, 0, -1, -1, 1});
  CHECK(divided.owners[1].local == std::vector<std::int32_t>{0, -1, 1, 2, -1});
  CHECK(divided.owners[2].local == std::vector<std::int32_t>{-1, -1, -1, -1, -1});
  CHECK(divided.owners[0].count() == 2);
  CHECK(divided.owners[2].count() == 0);
  const Packed whole = pack(pool, layer);
  CHECK(divided.bytes() == static_cast<std::int64_t>(whole.gate.bytes() + whole.up.bytes() + whole.down.bytes()));
  CHECK(divided.owners[2].gate.bytes() == 0);
}

TEST_CASE("threads are divided evenly over owners, and more owners than threads are refused") {
  Owners owners(3, 7);
  CHECK(owners.threadsOf(0) + owners.threadsOf(1) + owners.threadsOf(2) == 7);
  for (int o = 0; o < 3; ++o) CHECK((owners.threadsOf(o) == 2 || owners.threadsOf(o) == 3));
  CHECK(messageOf([] { Owners(3, 2); }) ==
        "3 owners of experts need a thread each; there are 2: ask for fewer owners or more threads");
}

TEST_CASE("experts, owners and shapes that do not fit together are refused") {
  Random random(5);
  const Layer layer(random, fieldTypes, 4, 64, 32);
  ThreadPool pool(2);
  Owners owners(2, 2);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  const auto x = randomFloats(random, 64);
  const OwnedLayer divided = divide(pool, layer, {0, 1, 0, 1}, 2);
  Routing routing{1, 2, {0, 4}, {1, 1}};
  CHECK(messageOf([&] { runOwners(ex, owners, {}, divided, nullptr, routing, x); }) ==
        "token 0, slot 1: expert 4 is not in [-1, 4)");
  routing.expert[1] = 3;
  CHECK_THROWS_AS(runOwners(ex, owners, {}, divide(pool, layer, {0, 1, 2, 0}, 3), nullptr, routing, x),
                  std::invalid_argument);
  const Packed wide = pack(pool, Layer(random, fieldTypes, 1, 96, 32));
  CHECK_THROWS_AS(runOwners(ex, owners, {}, divided, &wide, routing, x), std::invalid_argument);
}

TEST_CASE("a budget takes experts ascending from all layers evenly until it is used") {
  const Placement placement = placeByBudget(uniformLoads(2, 4), 2, {10, 10}, 39);
  CHECK(placement.ownerOf[0] == std::vector<std::int32_t>{0, 0, 1, 1});
  CHECK(placement.ownerOf[1] == std::vector<std::int32_t>{0, 1, 1, 1});
  CHECK(placeByBudget(uniformLoads(1, 3), 2, {10}, 0).ownerOf[0] == std::vector<std::int32_t>{1, 1, 1});
  CHECK(placeByBudget(uniformLoads(1, 3), 2, {10}, 1000).ownerOf[0] == std::vector<std::int32_t>{0, 0, 0});
  CHECK(placeByBudget(uniformLoads(1, 3), 1, {10}, 0).ownerOf[0] == std::vector<std::int32_t>{0, 0, 0});
  // What is left is divided over the other owners.
  CHECK(placeByBudget(uniformLoads(1, 5), 3, {10}, 10).ownerOf[0] == std::vector<std::int32_t>{0, 1, 2, 1, 2});
}

TEST_CASE("a budget with hotness takes the hottest first, over all layers") {
  const ExpertLoads loads{{1, 9, 0, 3}, {8, 0, 0, 7}};
  const Placement placement = placeByBudget(loads, 2, {10, 20}, 50);
  CHECK(placement.ownerOf[0] == std::vector<std::int32_t>{1, 0, 1, 1});  // 9
  CHECK(placement.ownerOf[1] == std::vector<std::int32_t>{0, 1, 1, 0});  // 8, 7: 50 bytes
}

TEST_CASE("the critical path: an expert is added only while it lowers the longest owner") {
  // rate 3: the first owner takes about three quarters of a uniform load.
  const Placement uniform = placeByCriticalPath(uniformLoads(1, 8), 2, 3.0, 0.0);
  CHECK(std::count(uniform.ownerOf[0].begin(), uniform.ownerOf[0].end(), 0) == 6);
  // One hot expert that alone is longer than all others stays alone.
  CHECK(placeByCriticalPath({{1, 10, 1, 1}}, 2, 1.0, 0.0).ownerOf[0] == std::vector<std::int32_t>{1, 0, 1, 1});
  // The shared expert is work of the first owner: here as much as all routed ones.
  CHECK(placeByCriticalPath(uniformLoads(1, 4), 2, 1.0, 1.0).ownerOf[0] == std::vector<std::int32_t>{1, 1, 1, 1});
  // No load, no reason to move anything.
  CHECK(placeByCriticalPath({{0, 0}}, 2, 1.0, 0.0).ownerOf[0] == std::vector<std::int32_t>{1, 1});
  CHECK_THROWS_AS(placeByCriticalPath(uniformLoads(1, 4), 2, 0.0, 0.0), std::invalid_argument);
}

TEST_CASE("the critical path is never longer than by taking one expert more or less") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<double> load(12);
    for (double& value : load) value = static_cast<double>(random() % 20);
    const double rate = 0.5 + static_cast<double>(random() % 8) / 2;
    const Placement placement = placeByCriticalPath({load}, 2, rate, 0.0);
    double loads[2] = {0, 0};
    for (std::size_t e = 0; e < load.size(); ++e) loads[placement.ownerOf[0][e]] += load[e];
    const double longest = std::max(loads[0] / rate, loads[1]);
    for (std::size_t e = 0; e < load.size(); ++e) {
      if (placement.ownerOf[0][e] != 1) continue;
      CHECK(std::max((loads[0] + load[e]) / rate, loads[1] - load[e]) >= longest);
    }
  }
}

TEST_CASE("hotness is read from lines, and a bad line is named") {
  const ExpertLoads loads = parseHotness("layer,expert,count\n0,1,5\r\n\n1,0,7\n", "hot.csv", 2, 3);
  CHECK(loads == ExpertLoads{{0, 5, 0}, {7, 0, 0}});
  CHECK(parseHotness("0,0,3", "hot.csv", 1, 1) == ExpertLoads{{3}});
  const auto problem = [](const char* csv) {
    return messageOf([&] { parseHotness(csv, "hot.csv", 2, 3); });
  };
  CHECK(problem("0,1,5\n0,1") == "hot.csv, line 2: \"0,1\" is not layer,expert,count in whole numbers");
  CHECK(problem("0,1,5,6") == "hot.csv, line 1: \"0,1,5,6\" is not layer,expert,count in whole numbers");
  CHECK(problem("0,1,-5") == "hot.csv, line 1: \"0,1,-5\" is not layer,expert,count in whole numbers");
  CHECK(problem("0,1,5.5") == "hot.csv, line 1: \"0,1,5.5\" is not layer,expert,count in whole numbers");
  CHECK(problem("0, 1,5") == "hot.csv, line 1: \"0, 1,5\" is not layer,expert,count in whole numbers");
  CHECK(problem("0,1,5\nlayer,expert,count") ==
        "hot.csv, line 2: \"layer,expert,count\" is not layer,expert,count in whole numbers");
  CHECK(problem("0,1,\x1b[2J\t\xff") ==
        "hot.csv, line 1: \"0,1,\\x1b[2J\\x09\\xff\" is not layer,expert,count in whole numbers");
  for (const char* csv : {"", "layer,expert,count\n", "0,1,0\n1,2,0\n"}) {
    CHECK(problem(csv) == "hot.csv: no expert has a count above 0; name those that are hot");
  }
  CHECK(problem("2,0,1") == "hot.csv, line 1: layer 2 is not below 2");
  CHECK(problem("0,3,1") == "hot.csv, line 1: expert 3 is not below 3");
  CHECK(problem("0,1,1\n1,1,1\n0,1,2") == "hot.csv, line 3: layer 0, expert 1 was given before");
}
