// Owns the command line of the suite.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qk/isa.h"

namespace suite {

struct Options {
  std::string command;             // "test" or "bench"
  std::string filter;              // part of "group/name"; empty takes all
  std::uint64_t seed = 0;          // of all inputs
  std::vector<qk::Isa> isas;       // asked for; empty means all
  int threads = 0;                 // 0: one for every CPU, at most 8 in tests
  bool thorough = false;           // test: all widths
  bool quick = false;              // bench: fewer repeats and shapes
};

// Throws std::invalid_argument that names what is wrong.
Options parseOptions(int argc, const char* const* argv);

inline constexpr qk::Isa allIsas[] = {qk::Isa::portable, qk::Isa::avx2, qk::Isa::avx512};
bool asksFor(const Options& options, qk::Isa isa);
// Names of the sets that this build and CPU can run, one blank between them.
std::string supportedNames();
// Whether a set that was asked for cannot be run; says so on stderr. Then nothing is run.
bool lacksIsa(const Options& options);

// 0 all passed, 1 a case failed, 77 nothing could run or an instruction set that was asked for is missing.
int testCommand(const Options& options);
int benchCommand(const Options& options);

inline constexpr int exitFailed = 1;
inline constexpr int exitUnsupported = 77;
inline constexpr int exitUsage = 64;

}  // namespace suite
