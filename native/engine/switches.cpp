// Reads switches from the environment. Every name, default and allowed value is stated here once.
#include "switches.h"

#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace qe {
namespace {

constexpr const char* kGroupedPrefill = "DFLASH_MOE_GROUPED_MMID_PREFILL";
constexpr const char* kExpertMajorMinTokens = "DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS";
constexpr std::int64_t kMostTokens = 1 << 20;

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& allowed) {
  throw std::invalid_argument(name + "=\"" + value + "\" is not understood: " + allowed);
}

bool readFlag(const std::string& name, const std::string& value) {
  if (value == "0" || value == "1") return value == "1";
  refuse(name, value, "allowed are 0 and 1");
}

std::int64_t readCount(const std::string& name, const std::string& value) {
  std::int64_t count = 0;
  const char* end = value.data() + value.size();
  const auto [parsed, error] = std::from_chars(value.data(), end, count);
  if (error != std::errc() || parsed != end || count < 1 || count > kMostTokens) {
    refuse(name, value, "allowed is a whole number of tokens from 1 to " + std::to_string(kMostTokens));
  }
  return count;
}

}  // namespace

Switches Switches::read(const Lookup& lookup) {
  Switches switches;
  if (const auto value = lookup(kGroupedPrefill))
    switches.groupedPrefill = readFlag(kGroupedPrefill, *value);
  if (const auto value = lookup(kExpertMajorMinTokens)) {
    switches.expertMajorMinTokens = readCount(kExpertMajorMinTokens, *value);
  }
  return switches;
}

Switches Switches::fromEnvironment() {
  return read([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

std::map<std::string, std::string> Switches::effective() const {
  return {
      {kGroupedPrefill, groupedPrefill ? "1" : "0"},
      {kExpertMajorMinTokens, std::to_string(expertMajorMinTokens)},
  };
}

}  // namespace qe
