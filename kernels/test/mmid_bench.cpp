// Measures one layer's experts at the shapes of the presets by CPU time of the process, both plans:
// `mmid_bench [threads [mini|small]]`. One line a case: op, shape, CPU us, GOPS (per second of CPU), x
// serial.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "qk/combine.h"
#include "qk/mmid.h"
#include "random_weights.h"

namespace {

using namespace qk;

struct Shape {
  const char* name;
  std::int64_t experts, slots, hidden, inner;
};
constexpr Shape shapes[] = {{"mini", 64, 6, 1024, 512}, {"small", 128, 6, 2048, 1024}};

double cpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least of three.
template <class Fn>
double bestSeconds(Fn&& fn) {
  double best = 1e9;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const double start = cpuSeconds();
    fn();
    best = std::min(best, cpuSeconds() - start);
  }
  return best;
}

void report(const char* op, const Shape& shape, std::int64_t tokens, double seconds, double operations,
            double serial) {
  std::printf("%-16s %-5s %4lld tokens %10.1f us %8.1f GOPS %6.2f x serial\n", op, shape.name,
              static_cast<long long>(tokens), seconds * 1e6, operations / seconds * 1e-9, serial / seconds);
}

PackedWeights experts(ThreadPool& pool, test::Random& random, Type type, std::int64_t count,
                      std::int64_t rows, std::int64_t cols) {
  test::Weights w = test::randomWeights(random, type, rows * count, cols);
  w.matrix.rows = rows;
  return PackedWeights(pool, ExpertMatrices{w.matrix, count});
}

void measure(Execution& ex, const Shape& shape, std::int64_t tokens) {
  test::Random random(1);
  const PackedWeights gate =
      experts(ex.pool, random, Type::ROCmFP2, shape.experts, shape.inner, shape.hidden);
  const PackedWeights up = experts(ex.pool, random, Type::ROCmFP2, shape.experts, shape.inner, shape.hidden);
  const PackedWeights down =
      experts(ex.pool, random, Type::ROCmFP3, shape.experts, shape.hidden, shape.inner);
  const MoeWeights weights{&gate, &up, &down, 10.0f};
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
  std::vector<float> y(expert.size() * static_cast<std::size_t>(shape.hidden));
  std::vector<float> out(x.size());
  Routes routes;
  MoeScratch scratch;
  Activations quantised;
  const double routeSort = bestSeconds(
      [&] { sortRoutes(expert.data(), weight.data(), tokens, shape.slots, shape.experts, routes); });
  const double quantising =
      bestSeconds([&] { quantize(ex, x.data(), tokens, shape.hidden, shape.hidden, quantised); });
  const Inputs in = inputs(x.data(), shape.hidden, &quantised);
  const auto plan = [&](MoePlan which) {
    return bestSeconds([&] { routedExperts(ex, which, weights, in, routes, scratch, y.data()); });
  };
  const double operations = 6.0 * static_cast<double>(routes.live() * shape.hidden * shape.inner);
  const double serial = plan(MoePlan::serial);
  const double grouped = plan(MoePlan::grouped);
  const double combining =
      bestSeconds([&] { combine(ex, routes, y.data(), nullptr, shape.hidden, out.data()); });
  report("experts.serial", shape, tokens, serial, operations, serial);
  report("experts.grouped", shape, tokens, grouped, operations, serial);
  report("route_sort", shape, tokens, routeSort, 0, serial);
  report("quantize", shape, tokens, quantising, 0, serial);
  report("combine", shape, tokens, combining, 0, serial);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  ThreadPool pool(threads);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  for (const Shape& shape : shapes) {
    if (argc > 2 && std::string(argv[2]) != shape.name) continue;
    for (const std::int64_t tokens : {401, 2048}) measure(ex, shape, tokens);
  }
}
