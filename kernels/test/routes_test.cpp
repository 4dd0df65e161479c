// Holds the route sort to a stable sort, and its tables to each other.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "qk/routes.h"

using qk::Routes;
using qk::sortRoutes;

namespace {

struct Route {
  std::int32_t expert, token, slot;
  float weight;
};

void checkAgainstStableSort(const std::vector<std::int32_t>& expert, const std::vector<float>& weight,
                            std::int64_t tokens, std::int64_t slots, std::int64_t experts, Routes& routes) {
  sortRoutes(expert.data(), weight.data(), tokens, slots, experts, routes);
  std::vector<Route> expected;
  for (std::int64_t r = 0; r < tokens * slots; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (expert[i] < 0 || weight[i] == 0.0f) {
      CHECK(routes.packedRow[i] == -1);
      continue;
    }
    expected.push_back(
        {expert[i], static_cast<std::int32_t>(r / slots), static_cast<std::int32_t>(r % slots), weight[i]});
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [](const Route& a, const Route& b) { return a.expert < b.expert; });
  REQUIRE(routes.live() == static_cast<std::int64_t>(expected.size()));
  REQUIRE(routes.bounds.size() == static_cast<std::size_t>(experts) + 1);
  CHECK(routes.bounds.front() == 0);
  CHECK(routes.bounds.back() == routes.live());
  for (std::size_t row = 0; row < expected.size(); ++row) {
    const Route& route = expected[row];
    CHECK(routes.token[row] == route.token);
    CHECK(routes.slot[row] == route.slot);
    CHECK(routes.weight[row] == route.weight);
    CHECK(routes.packedRow[static_cast<std::size_t>(route.token * slots + route.slot)] ==
          static_cast<int>(row));
    CHECK(routes.bounds[static_cast<std::size_t>(route.expert)] <= static_cast<std::int64_t>(row));
    CHECK(routes.bounds[static_cast<std::size_t>(route.expert) + 1] > static_cast<std::int64_t>(row));
  }
}

}  // namespace

TEST_CASE("routes are sorted by expert and stay in token and slot order, whatever was sorted before") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  Routes routes;
  for (const std::int64_t experts : {1, 3, 64, 257}) {
    for (const std::int64_t tokens : {0, 1, 5, 130}) {
      for (const std::int64_t slots : {1, 6}) {
        std::vector<std::int32_t> expert(static_cast<std::size_t>(tokens * slots));
        std::vector<float> weight(expert.size());
        // Duplicates of an expert in a token, masks by expert and by weight, and a few hot experts.
        for (std::size_t i = 0; i < expert.size(); ++i) {
          expert[i] = random() % 5 == 0
                          ? -1
                          : static_cast<std::int32_t>(random() % (random() % 2 == 0 ? experts : 1));
          weight[i] = random() % 7 == 0 ? 0.0f : 0.25f + static_cast<float>(random() % 8);
        }
        checkAgainstStableSort(expert, weight, tokens, slots, experts, routes);
      }
    }
  }
}

TEST_CASE("experts without routes own empty ranges and a token may be masked as a whole") {
  Routes routes;
  checkAgainstStableSort({2, 2, -1, -1, 2, 0}, {1, 1, 1, 1, 0, 1}, 3, 2, 4, routes);
  CHECK(routes.rowsOf(0) == 1);
  CHECK(routes.rowsOf(1) == 0);
  CHECK(routes.rowsOf(2) == 2);
  CHECK(routes.rowsOf(3) == 0);
}

TEST_CASE("an expert that does not exist is refused with token and slot") {
  Routes routes;
  const std::int32_t expert[] = {0, 1, 2, 4};
  const float weight[] = {1, 1, 1, 1};
  CHECK_THROWS_WITH_AS(sortRoutes(expert, weight, 2, 2, 4, routes),
                       "token 1, slot 1: expert 4 is not in [-1, 4)", std::out_of_range);
  const std::int32_t below[] = {-2};
  CHECK_THROWS_AS(sortRoutes(below, weight, 1, 1, 4, routes), std::out_of_range);
}

TEST_CASE("it is recorded whether the live slots of every token ascend by expert") {
  const auto ascend = [](std::vector<std::int32_t> expert, std::vector<float> weight) {
    Routes routes;
    routes.slotsAscend = false;
    sortRoutes(expert.data(), weight.data(), static_cast<std::int64_t>(expert.size()) / 3, 3, 300, routes);
    return routes.slotsAscend;
  };
  CHECK(ascend({}, {}));
  CHECK(ascend({0, 4, 299, 1, 1, 7}, {1, 1, 1, 1, 1, 1}));
  CHECK_FALSE(ascend({0, 4, 299, 1, 7, 1}, {1, 1, 1, 1, 1, 1}));
  // A masked slot is none, whatever its expert is.
  CHECK(ascend({5, -1, 5, -1, -1, -1}, {1, 1, 1, 1, 1, 1}));
  CHECK(ascend({5, 2, 6}, {1, 0, 1}));
  CHECK_FALSE(ascend({5, -1, 4}, {1, 1, 1}));
}
