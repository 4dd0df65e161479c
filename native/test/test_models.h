// Owns the model files of the engine's tests: made on first use in a folder of this process, removed at its
// end.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/model_file.h"

namespace test {

class Models {
 public:
  static Models& get() {
    static Models models;
    return models;
  }
  ~Models() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Models(const Models&) = delete;
  Models& operator=(const Models&) = delete;

  // The `unit` preset.
  std::filesystem::path unit(const std::string& experts) { return make(experts, false, true); }
  // Unstructured F32 weights and odd metadata.
  std::filesystem::path stress(bool roundTrips) { return make("f32", true, roundTrips); }

 private:
  Models() { std::filesystem::create_directories(folder_); }

  std::filesystem::path make(const std::string& experts, bool stress, bool roundTrips) {
    qe::CreateOptions options;
    options.experts = experts;
    options.seed = 11;
    options.stress = stress;
    options.roundTrips = roundTrips;
    options.out = folder_ / (experts + (stress ? "-stress" : "") + (roundTrips ? "" : "-exact") + ".gguf");
    if (!std::filesystem::exists(options.out)) qe::createModel(options);
    return options.out;
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("qualify-engine-test-" + std::to_string(getpid()));
};

// Token ids without a pattern, the same in every run.
inline std::vector<std::int32_t> prompt(std::size_t tokens, std::uint64_t seed = 1) {
  std::vector<std::int32_t> ids(tokens);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL;
  for (std::int32_t& id : ids) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    id = static_cast<std::int32_t>(state >> 40) % 512;
  }
  return ids;
}

struct Setup {
  int threads = 2;
  qk::Isa isa = qk::bestIsa();
  bool grouped = true;
  int cacheSlots = 4;
  std::int64_t contextTokens = 2304;
  qe::Switches switches = {};
  qe::Fault plantedFault = qe::Fault::None;
};

inline qe::Engine open(const std::filesystem::path& path, const Setup& setup = {}) {
  qe::OpenOptions options;
  options.threads = setup.threads;
  options.isa = setup.isa;
  options.cacheSlots = setup.cacheSlots;
  options.contextTokens = setup.contextTokens;
  options.plantedFault = setup.plantedFault;
  qe::Switches switches = setup.switches;
  switches.groupedPrefill = switches.groupedPrefill && setup.grouped;
  return qe::Engine(path, options, switches);
}

inline const std::atomic<bool> never{false};

}  // namespace test
