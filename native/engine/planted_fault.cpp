#include "planted_fault.h"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <utility>

namespace qe {
namespace {

constexpr std::array<std::pair<Fault, std::string_view>, 6> kNames = {{
    {Fault::None, "none"},
    {Fault::DroppedRoute, "dropped-route"},
    {Fault::DroppedWindowKey, "dropped-window-key"},
    {Fault::DroppedTopKEntry, "dropped-topk-entry"},
    {Fault::HalfContext, "half-context"},
    {Fault::ExpertScale, "expert-scale"},
}};

// By position, so that chunks do not move the fault; the first lies in the shortest prompt that a cell may have.
constexpr std::int64_t kRouteEvery = 64;
constexpr std::int64_t kRouteFirst = 31;

}  // namespace

std::string_view faultName(Fault fault) {
  for (const auto& [each, name] : kNames) {
    if (each == fault) return name;
  }
  return "none";
}

Fault faultNamed(std::string_view name) {
  for (const auto& [fault, each] : kNames) {
    if (each == name) return fault;
  }
  std::string known;
  for (const auto& [fault, each] : kNames) known.append(known.empty() ? "" : ", ").append(each);
  throw std::invalid_argument("there is no fault '" + std::string(name) + "' to plant; there are " + known);
}

std::vector<std::string> faultNames() {
  std::vector<std::string> names;
  for (const auto& [fault, name] : kNames) {
    if (fault != Fault::None) names.emplace_back(name);
  }
  return names;
}

std::int64_t windowWith(const PlantedFault& planted, std::int64_t window) {
  return std::max<std::int64_t>(1, window - (planted.is(Fault::DroppedWindowKey) ? 1 : 0));
}

std::int64_t topKWith(const PlantedFault& planted, std::int64_t topK) {
  return std::max<std::int64_t>(1, topK - (planted.is(Fault::DroppedTopKEntry) ? 1 : 0));
}

void spoilRoutes(PlantedFault& planted, bool scaledLayer, std::int64_t experts, std::int64_t start, std::int64_t tokens,
                 std::int64_t used, std::int32_t* chosen, float* weights) {
  if (planted.is(Fault::DroppedRoute)) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      if ((start + t) % kRouteEvery != kRouteFirst) continue;
      const std::int64_t last = t * used + used - 1;
      if (weights[last] != 0) ++planted.struck;
      chosen[last] = -1;
    }
  }
  if (planted.is(Fault::ExpertScale) && scaledLayer) {
    for (std::int64_t route = 0; route < tokens * used; ++route) {
      if (chosen[route] != experts / 2) continue;
      weights[route] *= 2;
      ++planted.struck;
    }
  }
}

void hideOlderHalf(const float* firstSeen, std::int64_t hidden, std::size_t windowRows, std::vector<const float*>& keys,
                   std::vector<std::uint8_t>& kept) {
  const auto entries = static_cast<std::ptrdiff_t>(windowRows);
  if (!kept.empty()) {
    std::fill_n(kept.begin() + entries, hidden, std::uint8_t{0});
    return;
  }
  const auto isHidden = [&](const float* key) { return std::less<>()(key, firstSeen); };
  keys.erase(std::remove_if(keys.begin() + entries, keys.end(), isHidden), keys.end());
}

}  // namespace qe
