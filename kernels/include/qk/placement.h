// Owns which owner holds which expert: pure functions of loads, sizes and budgets. Nothing of it shows in a bit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qk {

// [layer][expert]: how much work an expert gets, in any unit.
using ExpertLoads = std::vector<std::vector<double>>;

struct Placement {
  std::int64_t owners = 1;
  std::vector<std::vector<std::int32_t>> ownerOf;  // [layer][expert], in [0, owners)
};

ExpertLoads uniformLoads(std::int64_t layers, std::int64_t experts);

// Loads from lines `layer,expert,count`; such a heading as the first line, and empty lines, are skipped, and what
// is not named gets 0. Throws std::invalid_argument naming `file` and line when a line is not of that form, is out
// of range, or repeats a pair, and naming `file` when no count is above 0.
ExpertLoads parseHotness(std::string_view csv, const std::string& file, std::int64_t layers,
                         std::int64_t experts);

// The first owner takes experts from the hottest on (then by ascending expert, then layer, so that equal loads are
// taken ascending, from all layers evenly) until the next one does not fit into the budget. What is left is divided
// over the other owners by load. bytesOf [layer]: of one expert.
Placement placeByBudget(const ExpertLoads& loads, std::int64_t owners, const std::vector<std::int64_t>& bytesOf,
                        std::int64_t budgetBytes);

// For each layer: least max(load of the first owner / rate, load of the most loaded other one). From the hottest
// expert on, the first owner takes those that lower that maximum. rate: of the first owner, where the others have
// 1. sharedShare: what the first owner does besides, as a fraction of the layer's whole load.
Placement placeByCriticalPath(const ExpertLoads& loads, std::int64_t owners, double rate, double sharedShare);

}  // namespace qk
