// Owns what a case is: inputs and expected results made once from its own seed, then a run on every instruction set.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../test/random_weights.h"
#include "check.h"
#include "qk/thread_pool.h"

namespace suite {

// The class of a kernel: `exact` results equal a reference in the specified order to the bit; `bounded` ones are held
// to limits against fp64.
enum class CaseClass { exact, bounded };

// The random source of one case; the same numbers whichever other cases run.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  qk::test::Random& engine() { return engine_; }
  float normal() { return normal_(engine_); }
  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }
  // In [0, n).
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }
  Floats normals(std::int64_t n, float sigma = 1);

 private:
  qk::test::Random engine_;
  std::normal_distribution<float> normal_{0, 1};
};

// Where a case prepares: its random source, and threads for slow references.
struct Setup {
  Random random;
  qk::ThreadPool& pool;
  bool thorough;
};

// Where a case runs: one thread and several, because the count must not show in any bit.
struct Machine {
  qk::Isa isa;
  qk::ThreadPool& one;
  qk::ThreadPool& many;
};

using Run = std::function<void(const Machine&, Check&)>;

struct Case {
  std::string group;
  std::string name;
  CaseClass kind;
  std::function<Run(Setup&)> prepare;
};
using Cases = std::vector<Case>;

// Each adds the cases of one folder of operations; `thorough` adds more widths and sizes.
void addMatmulCases(Cases& cases, bool thorough);
void addFieldCases(Cases& cases);
void addExpertCases(Cases& cases, bool thorough);
void addOwnerCases(Cases& cases);
void addRouteCases(Cases& cases, bool thorough);
void addAttentionCases(Cases& cases, bool thorough);
void addIndexerCases(Cases& cases, bool thorough);
void addHyperCases(Cases& cases, bool thorough);
void addElementCases(Cases& cases, bool thorough);
Cases allCases(bool thorough);

Doubles doubles(std::span<const float> values);

}  // namespace suite
