// Clocks and the names of the stages as they appear in answers.
#include "timings.h"

#include <ctime>

namespace qe {
namespace {

double readClockMs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

}  // namespace

const char* stageName(Stage stage) {
  switch (stage) {
    case Stage::Router: return "router";
    case Stage::MoeGateUp: return "moe_gate_up";
    case Stage::MoeDown: return "moe_down";
    case Stage::MoeCombine: return "moe_combine";
    case Stage::MoeShared: return "moe_shared";
    case Stage::Attention: return "attention";
    case Stage::AttentionProj: return "attention_proj";
    case Stage::Compressor: return "compressor";
    case Stage::Indexer: return "indexer";
    case Stage::Hyper: return "hyper";
    case Stage::Head: return "head";
    case Stage::Other: return "other";
  }
  return "other";
}

double wallMs() { return readClockMs(CLOCK_MONOTONIC); }

double processCpuMs() { return readClockMs(CLOCK_PROCESS_CPUTIME_ID); }

Stage StageClock::enter(Stage stage) {
  const double now = wallMs();
  ms_[static_cast<std::size_t>(stage_)] += now - since_;
  since_ = now;
  const Stage previous = stage_;
  stage_ = stage;
  return previous;
}

void StageClock::move(Stage from, Stage to, double ms) {
  ms_[static_cast<std::size_t>(from)] -= ms;
  ms_[static_cast<std::size_t>(to)] += ms;
}

std::map<std::string, double> StageClock::ms() const {
  std::map<std::string, double> named;
  for (std::size_t i = 0; i < kStages; ++i) named[stageName(static_cast<Stage>(i))] = ms_[i];
  return named;
}

}  // namespace qe
