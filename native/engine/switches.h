// Owns the switches of the embedded engine: which plan of the same graph runs. They are read once, when an
// engine opens. Names are the field's; what each does on a CPU stands here, and in docs/engine.md.
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
  // DFLASH_MOE_FUSED_COMBINE: 1 adds a route's output to its token inside of the down projection (grouped only); 0
  // writes the outputs of all routes and sums them afterwards.
  bool fusedCombine = true;
  // GGML_CUDA_MMQ_MOE_ADAPTIVE_X: 1 chooses token tiles from the rows of each expert; 0 fills fixed tiles.
  bool adaptiveTile = true;
  // GGML_CUDA_MMQ_MOE_PERSISTENT: 1 runs one queue over the items of all experts; 0 forks and joins for each expert.
  bool persistentQueue = true;
  // DFLASH_MOE_OWNERS: groups of threads that the experts of a layer are divided over; 1 is no division.
  std::int64_t owners = 1;
  // DFLASH_EXPERT_BUDGET_MB: bytes of experts of the first owner, in MiB; nothing places by critical path.
  std::optional<std::int64_t> expertBudgetMiB;
  // DFLASH_DS4_HOTNESS_CSV: file with `layer,expert,count` lines; the first owner takes the hottest that fit.
  std::optional<std::string> hotnessCsv;
  // DFLASH_DS4_DIRECT_INDEXER_TOPK: 1 hands the indexer's rows to attention; 0 makes a mask of all visible entries.
  bool directTopK = true;
  // GGML_CUDA_MLA_STREAM_TOPK: 1 attends to selected rows where they lie; 0 copies them side by side first, or, when the
  // hand-off is a mask, attends to every visible row under it.
  bool streamTopK = true;
  // GGML_CUDA_MLA_STREAM_F32_STAGE: 1 stages each block of streamed rows in fp32; needs streaming.
  bool streamStage = true;
  // GGML_CUDA_MLA_STREAM_FAST_EXP: 1 takes the fast exponential: another rounding, so of the bounded class, and off by
  // default; needs streaming and staging.
  bool streamFastExp = false;
  // DFLASH_DS4_LONG_CONTEXT_CHUNK: most tokens that go through the layers together once the context is beyond 4096.
  std::int64_t longContextChunk = 4096;

  // Value of a variable, nothing when it is not set.
  using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

  // Throws std::invalid_argument naming the variable, its value and what is allowed; of a text, only empty is not.
  static Switches read(const Lookup& lookup);
  static Switches fromEnvironment();

  // Throws std::invalid_argument for a switch that does nothing beside the others, naming what it needs.
  void requireUse() const;

  // Effective value of every switch, by its name in the environment; what is not set and has no value is "".
  std::map<std::string, std::string> effective() const;

  bool grouped(std::int64_t tokens) const { return groupedPrefill && tokens >= expertMajorMinTokens; }
};

}  // namespace qe
