// Owns what the benchmarks share: the machine with its ceilings, and the one line that tells a result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ceilings.h"
#include "options.h"
#include "qk/execution.h"

namespace suite {

// What bounds an operation, and in what its rate is told. `cache`: its data stay in a cache, whose rate is no ceiling here.
enum class Bound { int8, float32, memory, cache };

// What there is to measure: `--filter` takes the names that have its text.
inline constexpr std::string_view kOperations[] = {
    "mmid gate/up", "dense", "experts", "attention streamed", "attention staged", "attention fast exp", "hyper pre",
    "hyper post", "compressor", "indexer scores", "top-k", "route sort", "combine", "quantise", "router", "rms norm",
    "swiglu", "exp", "rope", "round trip E4M3"};

struct Bench {
  qk::Isa isa;
  qk::ThreadPool& one;
  qk::ThreadPool& many;
  Ceiling int8, float32, memory;
  bool quick;
  std::string filter;

  Effort effort() const { return quick ? Effort{5, 0.004, 2} : Effort{9, 0.02, 10}; }
  bool wants(const std::string& op) const { return op.find(filter) != std::string::npos; }
};

// One operation at one shape; `work` is operations (2 a multiplication and addition) or bytes of one call.
struct Subject {
  std::string op, shape;
  Bound bound;
  double work;
  int threads;          // 1: CPU time of the thread; more: wall time
  std::string against;  // what the last side is: "serial", "reference", "mask"
};

// Measures sides[0] against sides[1] (or alone) and prints the line.
void measure(const Bench& bench, const Subject& subject, const std::vector<Side>& sides);

void benchMatmul(const Bench& bench);
void benchExperts(const Bench& bench);
void benchAttention(const Bench& bench);
void benchOperations(const Bench& bench);

}  // namespace suite
