// Owns the run of the benchmarks and the form of their lines.
#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <thread>

#include "bench.h"
#include "json_line.h"

namespace suite {
namespace {

void tellCeiling(qk::Isa isa, const char* name, const char* unit, const Ceiling& ceiling, int threads) {
  JsonLine("ceiling")
      .text("name", name)
      .text("isa", qk::name(isa))
      .text("unit", unit)
      .number("one", ceiling.one)
      .number("all", ceiling.all)
      .integer("threads", threads)
      .print();
}

void runAll(const Options& options, qk::Isa isa, qk::ThreadPool& one, qk::ThreadPool& many) {
  const Bench bench{isa,
                    one,
                    many,
                    int8Ceiling(isa, many),
                    floatCeiling(isa, many),
                    memoryCeiling(many, options.quick),
                    options.quick,
                    options.filter};
  tellCeiling(isa, "int8 dot", "GOPS", bench.int8, many.threads());
  tellCeiling(isa, "fp32 fma", "GFLOPS", bench.float32, many.threads());
  tellCeiling(isa, "memory read", "GB/s", bench.memory, many.threads());
  benchMatmul(bench);
  benchExperts(bench);
  benchAttention(bench);
  benchOperations(bench);
}

}  // namespace

void measure(const Bench& bench, const Subject& subject, const std::vector<Side>& sides) {
  if (std::find(std::begin(kOperations), std::end(kOperations), subject.op) == std::end(kOperations))
    throw std::logic_error("the operation " + subject.op + " is not in the list of the filter");
  if (!bench.wants(subject.op)) return;
  const Clock clock = subject.threads > 1 ? Clock::wall : Clock::threadCpu;
  const std::vector<double> times = medianSeconds(sides, clock, bench.effort());
  const Ceiling& ceiling = subject.bound == Bound::int8      ? bench.int8
                           : subject.bound == Bound::float32 ? bench.float32
                                                             : bench.memory;
  const double rate = subject.work / times[0] * 1e-9;
  JsonLine line("measure");
  line.text("op", subject.op).text("shape", subject.shape).text("isa", qk::name(bench.isa));
  line.integer("threads", subject.threads).number("us", times[0] * 1e6).number("rate", rate);
  line.text("unit", subject.bound == Bound::int8 ? "GOPS" : subject.bound == Bound::float32 ? "GFLOPS" : "GB/s");
  const double share = rate / ceiling.of(subject.threads);
  line.number("ofCeiling", subject.bound == Bound::cache ? std::numeric_limits<double>::quiet_NaN() : share);
  if (times.size() > 1) line.text("against", subject.against).number("speedup", times[1] / times[0]);
  line.print();
}

int benchCommand(const Options& options) {
  const int cpus = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  qk::ThreadPool one(1), many(options.threads > 0 ? options.threads : cpus);
  const std::vector<qk::Isa> isas = options.isas.empty() ? std::vector<qk::Isa>{qk::bestIsa()} : options.isas;
  const auto operations = std::count_if(std::begin(kOperations), std::end(kOperations), [&](std::string_view name) {
    return name.find(options.filter) != std::string_view::npos;
  });
  JsonLine header("header");
  header.integer("version", 1).integer("threads", many.threads()).flag("quick", options.quick);
  header.integer("operations", operations).text("supported", supportedNames()).print();
  if (operations == 0 || lacksIsa(options)) return exitUnsupported;
  for (const qk::Isa isa : isas) runAll(options, isa, one, many);
  JsonLine("end").print();
  return 0;
}

}  // namespace suite
