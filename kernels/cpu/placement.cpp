// Owns the three ways to divide experts over owners, and the reading of their loads.
#include "qk/placement.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <stdexcept>
#include <tuple>

namespace qk {
namespace {

constexpr std::int32_t unplaced = -1;

Placement everythingUnplaced(const ExpertLoads& loads, std::int64_t owners) {
  if (owners < 1) throw std::invalid_argument("experts need at least one owner");
  Placement placement{owners, {}};
  const std::int32_t owner = owners == 1 ? 0 : unplaced;
  for (const auto& layer : loads) placement.ownerOf.emplace_back(layer.size(), owner);
  return placement;
}

// Experts by falling load, equal ones ascending.
std::vector<std::size_t> hottestFirst(const std::vector<double>& load) {
  std::vector<std::size_t> order(load.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return load[a] > load[b]; });
  return order;
}

// What the first owner left goes to the least loaded of the others, hottest first. Gives the greatest load.
double divideRest(const std::vector<double>& load, std::int64_t owners, std::vector<std::int32_t>& ownerOf) {
  std::vector<double> total(static_cast<std::size_t>(owners) - 1, 0.0);
  std::vector<std::int64_t> count(total.size(), 0);
  for (const std::size_t e : hottestFirst(load)) {
    if (ownerOf[e] != unplaced) continue;
    // Experts without load are spread by their number.
    std::size_t least = 0;
    for (std::size_t o = 1; o < total.size(); ++o) {
      if (std::tie(total[o], count[o]) < std::tie(total[least], count[least])) least = o;
    }
    total[least] += load[e];
    ++count[least];
    ownerOf[e] = static_cast<std::int32_t>(least) + 1;
  }
  return *std::max_element(total.begin(), total.end());
}

[[noreturn]] void refuseLine(const std::string& file, std::int64_t line, const std::string& problem) {
  throw std::invalid_argument(file + ", line " + std::to_string(line) + ": " + problem);
}

// The start of a line as it may stand in a message: what is not printable ASCII as \xNN.
std::string shown(std::string_view line) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : line.substr(0, 60)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text.append("\\x").append({digits[byte >> 4], digits[byte & 15]});
    }
  }
  return text;
}

// layer, expert, count; false when the line is not three whole numbers.
bool readNumbers(std::string_view line, std::array<std::int64_t, 3>& numbers) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && (at == end || *at++ != ',')) return false;
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc() || numbers[i] < 0) return false;
    at = next;
  }
  return at == end;
}

}  // namespace

ExpertLoads uniformLoads(std::int64_t layers, std::int64_t experts) {
  return ExpertLoads(static_cast<std::size_t>(layers), std::vector<double>(static_cast<std::size_t>(experts), 1.0));
}

ExpertLoads parseHotness(std::string_view csv, const std::string& file, std::int64_t layers,
                         std::int64_t experts) {
  constexpr double absent = -1;
  ExpertLoads loads(static_cast<std::size_t>(layers),
                    std::vector<double>(static_cast<std::size_t>(experts), absent));
  std::int64_t number = 0;
  bool counted = false;
  while (!csv.empty()) {
    const std::size_t end = std::min(csv.find('\n'), csv.size());
    std::string_view line = csv.substr(0, end);
    csv.remove_prefix(std::min(end + 1, csv.size()));
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || (number == 1 && line == "layer,expert,count")) continue;
    std::array<std::int64_t, 3> numbers{};
    if (!readNumbers(line, numbers)) {
      refuseLine(file, number, '"' + shown(line) + "\" is not layer,expert,count in whole numbers");
    }
    const auto [layer, expert, count] = numbers;
    if (layer >= layers) {
      refuseLine(file, number, "layer " + std::to_string(layer) + " is not below " + std::to_string(layers));
    }
    if (expert >= experts) {
      refuseLine(file, number, "expert " + std::to_string(expert) + " is not below " + std::to_string(experts));
    }
    double& load = loads[static_cast<std::size_t>(layer)][static_cast<std::size_t>(expert)];
    if (load != absent) {
      refuseLine(file, number,
                 "layer " + std::to_string(layer) + ", expert " + std::to_string(expert) + " was given before");
    }
    load = static_cast<double>(count);
    counted = counted || count > 0;
  }
  if (!counted) throw std::invalid_argument(file + ": no expert has a count above 0; name those that are hot");
  for (auto& layer : loads) std::replace(layer.begin(), layer.end(), absent, 0.0);
  return loads;
}

Placement placeByBudget(const ExpertLoads& loads, std::int64_t owners, const std::vector<std::int64_t>& bytesOf,
                        std::int64_t budgetBytes) {
  Placement placement = everythingUnplaced(loads, owners);
  if (owners == 1) return placement;
  struct Candidate {
    double load;
    std::size_t expert, layer;
  };
  std::vector<Candidate> candidates;
  for (std::size_t layer = 0; layer < loads.size(); ++layer) {
    for (std::size_t e = 0; e < loads[layer].size(); ++e) candidates.push_back({loads[layer][e], e, layer});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(b.load, a.expert, a.layer) < std::tie(a.load, b.expert, b.layer);
  });
  for (const Candidate& candidate : candidates) {
    budgetBytes -= bytesOf.at(candidate.layer);
    if (budgetBytes < 0) break;
    placement.ownerOf[candidate.layer][candidate.expert] = 0;
  }
  for (std::size_t layer = 0; layer < loads.size(); ++layer) {
    divideRest(loads[layer], owners, placement.ownerOf[layer]);
  }
  return placement;
}

Placement placeByCriticalPath(const ExpertLoads& loads, std::int64_t owners, double rate, double sharedShare) {
  if (!(rate > 0)) throw std::invalid_argument("the first owner's rate must be more than 0");
  Placement placement = everythingUnplaced(loads, owners);
  if (owners == 1) return placement;
  for (std::size_t layer = 0; layer < loads.size(); ++layer) {
    const std::vector<double>& load = loads[layer];
    const double all = std::accumulate(load.begin(), load.end(), 0.0);
    double first = all * sharedShare;
    double others = all;
    // Of the others together: how they divide it comes afterwards.
    const auto longest = [&](double mine, double theirs) {
      return std::max(mine / rate, theirs / static_cast<double>(owners - 1));
    };
    for (const std::size_t e : hottestFirst(load)) {
      if (longest(first + load[e], others - load[e]) >= longest(first, others)) continue;
      first += load[e];
      others -= load[e];
      placement.ownerOf[layer][e] = 0;
    }
    divideRest(load, owners, placement.ownerOf[layer]);
  }
  return placement;
}

}  // namespace qk
