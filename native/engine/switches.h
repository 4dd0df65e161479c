// Owns the switches of the embedded engine: which plan of the same graph runs. They are read once, when an
// engine opens.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace qe {

struct Switches {
  // DFLASH_MOE_GROUPED_MMID_PREFILL: 1 runs the routed experts of a chunk together, 0 one expert at a time.
  bool groupedPrefill = true;
  // DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS: chunks of fewer tokens run one expert at a time.
  std::int64_t expertMajorMinTokens = 32;

  // Value of a variable, nothing when it is not set.
  using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

  // Throws std::invalid_argument naming the variable, its value and what is allowed.
  static Switches read(const Lookup& lookup);
  static Switches fromEnvironment();

  // Effective value of every switch, by its name in the environment.
  std::map<std::string, std::string> effective() const;

  bool grouped(std::int64_t tokens) const { return groupedPrefill && tokens >= expertMajorMinTokens; }
};

}  // namespace qe
