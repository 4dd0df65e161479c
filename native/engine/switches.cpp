// Reads switches from the environment. Every name and allowed value is stated here once.
#include "switches.h"

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <variant>
#include <vector>

namespace qe {
namespace {

constexpr std::int64_t kMostTokens = 1 << 20;
constexpr std::int64_t kMostOwners = 64;
constexpr std::int64_t kMostMiB = std::int64_t{1} << 30;

struct Flag {
  bool Switches::*value;
};
struct Count {
  std::int64_t Switches::*value;
  std::int64_t least, most;
};
struct OptionalCount {
  std::optional<std::int64_t> Switches::*value;
  std::int64_t least, most;
};
struct Text {
  std::optional<std::string> Switches::*value;
};
struct Entry {
  const char* name;
  std::variant<Flag, Count, OptionalCount, Text> kind;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {"DFLASH_MOE_GROUPED_MMID_PREFILL", Flag{&Switches::groupedPrefill}},
      {"DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS", Count{&Switches::expertMajorMinTokens, 1, kMostTokens}},
      {"DFLASH_MOE_FUSED_COMBINE", Flag{&Switches::fusedCombine}},
      {"GGML_CUDA_MMQ_MOE_ADAPTIVE_X", Flag{&Switches::adaptiveTile}},
      {"GGML_CUDA_MMQ_MOE_PERSISTENT", Flag{&Switches::persistentQueue}},
      {"DFLASH_MOE_OWNERS", Count{&Switches::owners, 1, kMostOwners}},
      {"DFLASH_EXPERT_BUDGET_MB", OptionalCount{&Switches::expertBudgetMiB, 0, kMostMiB}},
      {"DFLASH_DS4_HOTNESS_CSV", Text{&Switches::hotnessCsv}},
      {"DFLASH_DS4_DIRECT_INDEXER_TOPK", Flag{&Switches::directTopK}},
      {"GGML_CUDA_MLA_STREAM_TOPK", Flag{&Switches::streamTopK}},
      {"GGML_CUDA_MLA_STREAM_F32_STAGE", Flag{&Switches::streamStage}},
      {"GGML_CUDA_MLA_STREAM_FAST_EXP", Flag{&Switches::streamFastExp}},
      {"DFLASH_DS4_LONG_CONTEXT_CHUNK", Count{&Switches::longContextChunk, 1, kMostTokens}},
  };
  return all;
}

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& allowed) {
  throw std::invalid_argument(name + "=\"" + value + "\" is not understood: " + allowed);
}

bool readFlag(const std::string& name, const std::string& value) {
  if (value == "0" || value == "1") return value == "1";
  refuse(name, value, "allowed are 0 and 1");
}

std::int64_t readCount(const std::string& name, const std::string& value, std::int64_t least, std::int64_t most) {
  std::int64_t count = 0;
  const char* end = value.data() + value.size();
  const auto [parsed, error] = std::from_chars(value.data(), end, count);
  if (error != std::errc() || parsed != end || count < least || count > most) {
    refuse(name, value,
           "allowed is a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return count;
}

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace

Switches Switches::read(const Lookup& lookup) {
  Switches switches;
  for (const Entry& entry : entries()) {
    const std::string name = entry.name;
    const auto value = lookup(name);
    if (!value) continue;
    std::visit(Overloaded{
                   [&](const Flag& flag) { switches.*flag.value = readFlag(name, *value); },
                   [&](const Count& count) {
                     switches.*count.value = readCount(name, *value, count.least, count.most);
                   },
                   [&](const OptionalCount& count) {
                     switches.*count.value = readCount(name, *value, count.least, count.most);
                   },
                   [&](const Text& text) {
                     if (value->empty()) throw std::invalid_argument(name + " is empty: set it, or leave it out");
                     switches.*text.value = *value;
                   },
               },
               entry.kind);
  }
  return switches;
}

void Switches::requireUse() const {
  const auto require = [](bool met, const char* name, const char* needed) {
    if (!met) throw std::invalid_argument(std::string(name) + " needs " + needed + ": by itself it does nothing");
  };
  require(!expertBudgetMiB || owners > 1, "DFLASH_EXPERT_BUDGET_MB", "DFLASH_MOE_OWNERS of 2 or more");
  require(!hotnessCsv || owners > 1, "DFLASH_DS4_HOTNESS_CSV", "DFLASH_MOE_OWNERS of 2 or more");
  require(!streamFastExp || (streamTopK && streamStage), "GGML_CUDA_MLA_STREAM_FAST_EXP=1",
          "GGML_CUDA_MLA_STREAM_TOPK=1 and GGML_CUDA_MLA_STREAM_F32_STAGE=1");
}

Switches Switches::fromEnvironment() {
  return read([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

std::map<std::string, std::string> Switches::effective() const {
  std::map<std::string, std::string> values;
  for (const Entry& entry : entries()) {
    values[entry.name] = std::visit(
        Overloaded{
            [&](const Flag& flag) { return std::string(this->*flag.value ? "1" : "0"); },
            [&](const Count& count) { return std::to_string(this->*count.value); },
            [&](const OptionalCount& count) {
              return this->*count.value ? std::to_string(*(this->*count.value)) : std::string();
            },
            [&](const Text& text) { return (this->*text.value).value_or(""); },
        },
        entry.kind);
  }
  return values;
}

}  // namespace qe
