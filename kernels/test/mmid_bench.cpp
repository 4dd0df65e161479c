// Measures one layer's experts at the shapes of the presets by wall time, every way in turn, interleaved:
// `mmid_bench [threads [mini|small [tokens]]]`. One line a case: way, shape, median us, GOPS, x serial.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <chrono>
#include <string>
#include <vector>

#include "qk/mmid.h"
#include "random_weights.h"

namespace {

using namespace qk;

struct Shape {
  const char* name;
  std::int64_t experts, slots, hidden, inner;
};
constexpr Shape shapes[] = {{"mini", 64, 6, 1024, 512}, {"small", 128, 6, 2048, 1024}};

double wallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Way {
  const char* name;
  MoePlan plan;
  MoeOptions options;
};
constexpr Way ways[] = {
    {"serial", MoePlan::serial, {}},
    {"grouped", MoePlan::grouped, {}},
    {"grouped.unfused", MoePlan::grouped, {false, true, true}},
    {"grouped.forks", MoePlan::grouped, {true, false, true}},
    {"grouped.fixed", MoePlan::grouped, {true, true, false}},
};

PackedWeights experts(ThreadPool& pool, test::Random& random, Type type, std::int64_t count,
                      std::int64_t rows, std::int64_t cols) {
  test::Weights w = test::randomWeights(random, type, rows * count, cols);
  w.matrix.rows = rows;
  return PackedWeights(pool, ExpertMatrices{w.matrix, count});
}

struct Layer {
  PackedWeights gate, up, down, sharedGate, sharedUp, sharedDown;
};

Layer makeLayer(ThreadPool& pool, test::Random& random, const Shape& shape) {
  const auto make = [&](Type type, std::int64_t count, std::int64_t rows, std::int64_t cols) {
    return experts(pool, random, type, count, rows, cols);
  };
  return {make(Type::ROCmFP2, shape.experts, shape.inner, shape.hidden),
          make(Type::ROCmFP2, shape.experts, shape.inner, shape.hidden),
          make(Type::ROCmFP3, shape.experts, shape.hidden, shape.inner),
          make(Type::Q8_0, 1, shape.inner, shape.hidden),
          make(Type::Q8_0, 1, shape.inner, shape.hidden),
          make(Type::Q8_0, 1, shape.hidden, shape.inner)};
}

void measure(Execution& ex, const Shape& shape, const Layer& layer, std::int64_t tokens) {
  test::Random random(1);
  const MoeWeights weights{&layer.gate, &layer.up, &layer.down, 10.0f};
  const MoeWeights shared{&layer.sharedGate, &layer.sharedUp, &layer.sharedDown, 10.0f};
  std::vector<std::int32_t> expert;
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<std::int32_t> chosen;
    while (static_cast<std::int64_t>(chosen.size()) < shape.slots) {
      const auto e = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(shape.experts));
      if (std::find(chosen.begin(), chosen.end(), e) == chosen.end()) chosen.push_back(e);
    }
    std::sort(chosen.begin(), chosen.end());
    expert.insert(expert.end(), chosen.begin(), chosen.end());
  }
  const std::vector<float> weight(expert.size(), 0.25f);
  const auto x = test::randomFloats(random, static_cast<std::size_t>(tokens * shape.hidden), 0.01f);
  std::vector<float> out(x.size());
  Routes routes;
  MoeScratch scratch;
  Activations quantised;
  const double started = wallSeconds();
  sortRoutes(expert.data(), weight.data(), tokens, shape.slots, shape.experts, routes);
  std::printf("%-16s %-5s %5lld tokens %10.1f us\n", "route_sort", shape.name, static_cast<long long>(tokens),
              (wallSeconds() - started) * 1e6);
  quantize(ex, x.data(), tokens, shape.hidden, shape.hidden, quantised);
  const Inputs in = inputs(x.data(), shape.hidden, &quantised);
  std::vector<double> seconds[std::size(ways)], cpu[std::size(ways)];
  MoeTimes times[std::size(ways)];
  const int repeats = tokens <= 512 ? 7 : tokens <= 2048 ? 3 : 1;
  const std::size_t wayCount = tokens <= 512 ? std::size(ways) : 2;  // wide ones take long
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    for (std::size_t i = 0; i < wayCount; ++i) {
      const double start = wallSeconds();
      const double startCpu = cpuSeconds();
      times[i] = moe(ex, ways[i].plan, ways[i].options, weights, &shared, in, routes, scratch, out.data());
      if (repeat == 0) continue;
      seconds[i].push_back(wallSeconds() - start);
      cpu[i].push_back(cpuSeconds() - startCpu);
    }
  }
  const double operations = 6.0 * static_cast<double>((routes.live() + tokens) * shape.hidden * shape.inner);
  for (std::size_t i = 0; i < wayCount; ++i) {
    const double took = median(seconds[i]);
    std::printf("%-16s %-5s %5lld tokens %10.1f us %8.1f GOPS %6.3f x serial, by CPU time %8.1f GOPS %6.3f x   (last: "
                "gate/up %.0f, down %.0f, shared %.0f, combine %.0f us)\n",
                ways[i].name, shape.name, static_cast<long long>(tokens), took * 1e6, operations / took * 1e-9,
                median(seconds[0]) / took, operations / median(cpu[i]) * 1e-9, median(cpu[0]) / median(cpu[i]), static_cast<double>(times[i].gateUpNs) * 1e-3,
                static_cast<double>(times[i].downNs) * 1e-3, static_cast<double>(times[i].sharedNs) * 1e-3,
                static_cast<double>(times[i].combineNs) * 1e-3);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  ThreadPool pool(threads);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  for (const Shape& shape : shapes) {
    if (argc > 2 && std::string(argv[2]) != shape.name) continue;
    test::Random random(2);
    const Layer layer = makeLayer(pool, random, shape);
    for (const std::int64_t tokens : {32, 64, 128, 256, 401, 1024, 2048, 4096, 8192}) {
      if (argc > 3 ? std::atoll(argv[3]) == tokens : tokens <= 2048) measure(ex, shape, layer, tokens);
    }
  }
}
