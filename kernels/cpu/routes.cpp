// Owns the stable counting sort of routes: histogram, exclusive prefix, scatter in (token, slot) order.
//
// O(T k + E): two passes over T k ids and weights (8 bytes each), 16 bytes written a route, no flops; the floor is
// the latency of the scatter's cursors. Reached: 13 to 14 ns a route (AVX2, Zen 1, 2.0 GHz, shared), 34 us at 401
// tokens and 313 us at 4096, a five-thousandth of `mini`'s experts on two threads there: one thread sorts.
#include "qk/routes.h"

#include <stdexcept>
#include <string>

namespace qk {
namespace {

[[noreturn]] void refuse(std::int64_t token, std::int64_t slot, std::int32_t expert, std::int64_t experts) {
  throw std::out_of_range("token " + std::to_string(token) + ", slot " + std::to_string(slot) + ": expert " +
                          std::to_string(expert) + " is not in [-1, " + std::to_string(experts) + ")");
}

}  // namespace

void checkExperts(const std::int32_t* expert, std::int64_t tokens, std::int64_t slots, std::int64_t experts) {
  for (std::int64_t r = 0; r < tokens * slots; ++r) {
    if (expert[r] < -1 || expert[r] >= experts) refuse(r / slots, r % slots, expert[r], experts);
  }
}

void sortRoutes(const std::int32_t* expert, const float* weight, std::int64_t tokens, std::int64_t slots,
                std::int64_t experts, Routes& routes) {
  routes.tokens = tokens;
  routes.slots = slots;
  routes.experts = experts;
  routes.slotsAscend = true;
  // bounds[e + 1] first counts expert e, then is its first row, and after the scatter its end.
  routes.bounds.assign(static_cast<std::size_t>(experts) + 1, 0);
  const std::int64_t routeCount = tokens * slots;
  for (std::int64_t first = 0; first < routeCount; first += slots) {
    std::int32_t last = -1;
    for (std::int64_t r = first; r < first + slots; ++r) {
      if (expert[r] < -1 || expert[r] >= experts) refuse(r / slots, r % slots, expert[r], experts);
      if (expert[r] < 0 || weight[r] == 0.0f) continue;
      ++routes.bounds[static_cast<std::size_t>(expert[r]) + 1];
      routes.slotsAscend = routes.slotsAscend && expert[r] >= last;
      last = expert[r];
    }
  }
  std::int64_t live = 0;
  for (std::size_t e = 1; e < routes.bounds.size(); ++e) {
    const std::int64_t rows = routes.bounds[e];
    routes.bounds[e] = live;
    live += rows;
  }
  routes.token.resize(static_cast<std::size_t>(live));
  routes.slot.resize(static_cast<std::size_t>(live));
  routes.weight.resize(static_cast<std::size_t>(live));
  routes.packedRow.assign(static_cast<std::size_t>(routeCount), -1);
  for (std::int64_t r = 0; r < routeCount; ++r) {
    if (expert[r] < 0 || weight[r] == 0.0f) continue;
    const auto row = static_cast<std::size_t>(routes.bounds[static_cast<std::size_t>(expert[r]) + 1]++);
    routes.token[row] = static_cast<std::int32_t>(r / slots);
    routes.slot[row] = static_cast<std::int32_t>(r % slots);
    routes.weight[row] = weight[r];
    routes.packedRow[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(row);
  }
}

}  // namespace qk
