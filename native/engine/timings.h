// Owns the stages that a prefill's wall time is attributed to. Each moment belongs to exactly one stage.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>

namespace qe {

enum class Stage : std::size_t {
  Router,
  MoeGateUp,
  MoeDown,
  MoeCombine,
  MoeShared,
  Attention,
  AttentionProj,
  Compressor,
  Indexer,
  Hyper,
  Head,
  Other,
};
constexpr std::size_t kStages = static_cast<std::size_t>(Stage::Other) + 1;

const char* stageName(Stage stage);

// Monotonic wall clock and CPU time of the whole process, in milliseconds.
double wallMs();
double processCpuMs();

// A stopwatch with one lap a stage: enter(s) ends the running stage and starts s.
class StageClock {
 public:
  StageClock() : since_(wallMs()) {}

  // Returns the stage that ran until now, so that a nested stage can give the clock back.
  Stage enter(Stage stage);
  // Moves milliseconds that a callee measured itself from one stage to another.
  void move(Stage from, Stage to, double ms);
  void stop() { enter(stage_); }
  // Wall milliseconds by stage name, stages that never ran included.
  std::map<std::string, double> ms() const;

 private:
  double since_;
  Stage stage_ = Stage::Other;
  std::array<double, kStages> ms_{};
};

// Wall and CPU time since it was made.
class Stopwatch {
 public:
  double ms() const { return wallMs() - wall_; }
  double cpuMs() const { return processCpuMs() - cpu_; }

 private:
  double wall_ = wallMs();
  double cpu_ = processCpuMs();
};

}  // namespace qe
