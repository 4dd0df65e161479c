// Owns the run of the cases: seeds, instruction sets, one line a case and set, the exit code.
#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "case.h"
#include "json_line.h"
#include "options.h"

namespace suite {
namespace {

// FNV-1a of the case's name, mixed with the run's seed, so that a case has the same inputs under any filter.
std::uint64_t seedOf(std::uint64_t seed, const std::string& id) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  hash ^= hash >> 31;
  hash *= 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

JsonLine caseLine(const Case& one, qk::Isa isa, std::string_view outcome) {
  JsonLine line("case");
  line.text("group", one.group).text("name", one.name).text("isa", qk::name(isa));
  line.text("class", one.kind == CaseClass::exact ? "exact" : "bounded").text("outcome", outcome);
  return line;
}

struct Tally {
  std::int64_t passed = 0, failed = 0, unsupported = 0;
};

void report(const Case& one, qk::Isa isa, const Check& check, double milliseconds, Tally& tally) {
  // A case that compares nothing proves nothing.
  const bool vacuous = check.compared() == 0;
  const bool passed = check.passed() && !vacuous;
  (passed ? tally.passed : tally.failed) += 1;
  JsonLine line = caseLine(one, isa, passed ? "passed" : "failed");
  line.integer("compared", check.compared());
  if (check.bounded()) {
    line.number("nmse", check.nmse()).number("maxAbs", check.maxAbs());
    line.number("cosineDistance", check.cosineDistance());
  }
  if (!passed) line.text("failure", vacuous ? "the case compared nothing" : check.failure());
  line.number("ms", milliseconds).print();
}

void runCase(const Case& one, const Options& options, qk::ThreadPool& single, qk::ThreadPool& many, Tally& tally) {
  Run run;
  std::string broken;
  try {
    Setup setup{Random(seedOf(options.seed, one.group + "/" + one.name)), many, options.thorough};
    run = one.prepare(setup);
  } catch (const std::exception& error) {
    broken = std::string("the inputs could not be made: ") + error.what();
  }
  FirstSeen first;
  for (const qk::Isa isa : allIsas) {
    if (!asksFor(options, isa)) continue;
    if (!qk::supported(isa)) {
      ++tally.unsupported;
      caseLine(one, isa, "unsupported").print();
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    Check check(isa, first);
    try {
      if (broken.empty()) run({isa, single, many}, check);
      else check.that(false, broken);
    } catch (const std::exception& error) {
      check.that(false, std::string("thrown: ") + error.what());
    }
    report(one, isa, check, millisecondsSince(start), tally);
  }
}

}  // namespace

int testCommand(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const int cpus = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int threads = options.threads > 0 ? options.threads : std::clamp(cpus, 2, 8);
  const Cases cases = allCases(options.thorough);
  std::vector<const Case*> chosen;
  for (const Case& one : cases) {
    if ((one.group + "/" + one.name).find(options.filter) != std::string::npos) chosen.push_back(&one);
  }
  JsonLine header("header");
  header.integer("version", 1).text("seed", std::to_string(options.seed)).integer("threads", threads);
  header.flag("thorough", options.thorough).integer("cases", static_cast<std::int64_t>(chosen.size()));
  std::string names;
  for (const qk::Isa isa : allIsas) {
    if (asksFor(options, isa)) names += std::string(names.empty() ? "" : " ") + std::string(qk::name(isa));
  }
  header.text("isas", names).text("supported", supportedNames()).print();
  if (chosen.empty() || lacksIsa(options)) return exitUnsupported;
  qk::ThreadPool single(1), many(threads);
  Tally tally;
  for (const Case* one : chosen) runCase(*one, options, single, many, tally);
  JsonLine("summary")
      .integer("passed", tally.passed)
      .integer("failed", tally.failed)
      .integer("unsupported", tally.unsupported)
      .number("ms", millisecondsSince(start))
      .print();
  if (tally.failed > 0) return exitFailed;
  return tally.passed == 0 ? exitUnsupported : 0;
}

}  // namespace suite
