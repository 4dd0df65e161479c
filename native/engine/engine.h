// Owns an open model: its weights, its threads, its prefix cache and the requests that run on it, one at a
// time.
//
// The bits of every logit depend on the file and on the tokens before it alone: not on chunk, threads,
// instruction set, plan, prefix reuse or earlier requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planted_fault.h"
#include "switches.h"
#include "timings.h"
#include "qk/isa.h"
#include "qk/placement.h"

namespace qe {

struct OpenOptions {
  int threads = 1;
  std::vector<int> cpus;              // one each; empty leaves the threads to the scheduler
  std::int64_t contextTokens = 4096;  // longest prompt plus generated tokens
  int cacheSlots = 4;                 // 0 turns the prefix cache off
  std::optional<qk::Isa> isa;         // nothing picks the best of this CPU
  Fault plantedFault = Fault::None;   // for grading prompts only: see planted_fault.h
};

struct Request {
  std::vector<std::int32_t> tokens;
  std::int64_t generatedTokens = 0;  // 0 evaluates only
  std::int64_t chunk = 512;
  bool reuseCache = true;  // false evaluates every token; what it leaves behind can still be reused later
  std::vector<std::int32_t> stopTokens = {};
};

enum class StopReason { Limit, Stop, Cancelled };

struct Result {
  std::int64_t cacheTokens = 0;      // taken from the prefix cache
  std::int64_t evaluatedTokens = 0;  // their sum is the prompt length, unless cancelled
  double promptMs = 0;
  double promptCpuMs = 0;  // CPU time of the whole process
  double predictedMs = 0;
  double predictedCpuMs = 0;
  std::vector<std::int32_t> tokens;  // generated; a stop token that ended the output is the last one
  std::vector<float> logits;         // rows (vocabulary): the last prompt position, then one a decode step
  std::int64_t nonFiniteLogits = 0;  // NaN and infinite ones among `logits`
  std::map<std::string, double> stages;  // wall ms of the prefill
  StopReason stopReason = StopReason::Limit;
};

class Engine {
 public:
  // Throws std::runtime_error (file), std::invalid_argument (options). Pins the calling thread when CPUs are
  // given: construct an engine on the thread that will call complete and logits.
  Engine(const std::filesystem::path& path, const OpenOptions& options, const Switches& switches);
  ~Engine();

  std::int64_t vocabulary() const;
  std::int64_t contextTokens() const;
  int threads() const;
  const std::string& isa() const;
  const Switches& switches() const;
  Fault plantedFault() const;
  // Which owner holds which expert of which layer.
  const qk::Placement& placement() const;

  // What is wrong with a request, before any work: throws std::invalid_argument naming the field. Any
  // thread.
  void check(const Request& request) const;

  // `onToken` sees each generated id as it comes, on the calling thread. When `cancelled` becomes true the
  // request ends within a layer of a chunk and returns what it has. `arrived` began when the request reached
  // the engine and nothing ran before it: the prefill's times begin there.
  Result complete(const Request& request, const std::function<void(std::int32_t)>& onToken,
                  const std::atomic<bool>& cancelled, const Stopwatch& arrived = {});

  // Logits of every position, rows (vocabulary), from nothing; leaves the prefix cache alone.
  std::vector<float> logits(const std::vector<std::int32_t>& tokens, std::int64_t chunk,
                            const std::atomic<bool>& cancelled);
  // The same from the fp64 oracle of kernels/reference, which holds all weights as doubles while it runs.
  std::vector<double> referenceLogits(const std::vector<std::int32_t>& tokens);

  // Times each kernel really ran since the engine opened, and with a planted fault, as "fault.struck", how often that
  // struck. Any thread.
  std::map<std::string, std::uint64_t> counters() const;
  // Bytes held besides the mapped file, by what they are for. Any thread.
  std::map<std::string, std::int64_t> memory() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace qe
