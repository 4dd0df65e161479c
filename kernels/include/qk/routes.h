// Owns the order in which routes are executed: a stable counting sort of (token, slot) by expert.
#pragma once

#include <cstdint>
#include <vector>

namespace qk {

// Routes of T tokens with k slots each, sorted by expert, then token, then slot. Masked routes (expert -1 or
// weight 0) have no packed row.
struct Routes {
  std::int64_t tokens = 0;
  std::int64_t slots = 0;
  std::int64_t experts = 0;
  bool slotsAscend = true;  // the experts of every token's live slots ascend (equal ones count as ascending)
  std::vector<std::int64_t> bounds;     // [E+1]; expert e owns packed rows bounds[e] .. bounds[e+1]
  std::vector<std::int32_t> token;      // [packed rows]
  std::vector<std::int32_t> slot;       // [packed rows]
  std::vector<float> weight;            // [packed rows]
  std::vector<std::int32_t> packedRow;  // [T][k]: the inverse; -1 where masked

  std::int64_t live() const { return static_cast<std::int64_t>(token.size()); }
  std::int64_t rowsOf(std::int64_t e) const { return bounds[e + 1] - bounds[e]; }
};

// Throws std::out_of_range naming token, slot and expert when an expert is not in [-1, E).
void checkExperts(const std::int32_t* expert, std::int64_t tokens, std::int64_t slots, std::int64_t experts);

// expert, weight [T][k] -> routes; O(T k + E), buffers of `routes` are reused. Checks as checkExperts.
void sortRoutes(const std::int32_t* expert, const float* weight, std::int64_t tokens, std::int64_t slots,
                std::int64_t experts, Routes& routes);

}  // namespace qk
