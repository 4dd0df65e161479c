// Owns the faults that can be planted into an open model. They are mistakes that kernels of this shape do make, each as
// small as it comes, so that a set of prompts can be graded by which of them its outputs would have shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qe {

enum class Fault : std::uint8_t {
  None,
  DroppedRoute,      // every 64th token is left without the expert of its last slot, in every layer
  DroppedWindowKey,  // attention's window is one key short: the oldest is not seen
  DroppedTopKEntry,  // the indexer takes one entry too few: the weakest of the k best is not seen
  HalfContext,       // the older half of the compressed entries that a query sees is not seen
  ExpertScale,       // in the middle layer, all block scales of one expert's down projection are twice as large
};

// As options and counters name it: "none", "dropped-route", ...
std::string_view faultName(Fault fault);
// Throws std::invalid_argument that names those there are.
Fault faultNamed(std::string_view name);
// In the order above, without "none".
std::vector<std::string> faultNames();

// What is planted into one model, and how often it has struck: routes, keys, selections, queries or routes that were
// computed otherwise than they should be. Counted by the calling thread only.
struct PlantedFault {
  Fault fault = Fault::None;
  std::uint64_t struck = 0;

  bool is(Fault other) const { return fault == other; }
};

// The window, and the number of entries that the indexer takes, with what is planted: at least 1.
std::int64_t windowWith(const PlantedFault& planted, std::int64_t window);
std::int64_t topKWith(const PlantedFault& planted, std::int64_t topK);

// Spoils the routes of the tokens at positions `start` and on, [tokens][used] each. `scaledLayer`: they belong to the
// layer whose expert has wrong scales. Doubled scales double the expert's output exactly, as a doubled weight does.
void spoilRoutes(PlantedFault& planted, bool scaledLayer, std::int64_t experts, std::int64_t start, std::int64_t tokens,
                 std::int64_t used, std::int32_t* chosen, float* weights);

// Takes the first `hidden` entries, which lie before `firstSeen`, out of what a query reads: out of `keys`, which begin
// with `windowRows` others, or, where a mask says what is kept (every visible entry is a key then), out of that.
void hideOlderHalf(const float* firstSeen, std::int64_t hidden, std::size_t windowRows, std::vector<const float*>& keys,
                   std::vector<std::uint8_t>& kept);

}  // namespace qe
