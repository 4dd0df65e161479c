// Measures the matmul tile by CPU time of one thread: `matmul_bench [rows cols [isa [type]]]`. Weights
// of many matrices follow on each other, so that they come from memory as those of experts do. One line a case: type
// ("wide": its scales too far apart to be folded), rows per expert, us, GOPS.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "qk/matmul.h"
#include "random_weights.h"

namespace {

double cpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace qk;
  const std::int64_t rows = argc > 2 ? std::atoll(argv[1]) : 512;
  const std::int64_t cols = argc > 2 ? std::atoll(argv[2]) : 1024;
  const std::int64_t experts = std::clamp<std::int64_t>((std::int64_t{1} << 26) / (rows * cols), 8, 64);
  ThreadPool pool(1);
  Counters counters;
  test::Random random(1);
  for (const Isa isa : test::supportedIsas()) {
    if (argc > 3 && name(isa) != argv[3]) continue;
    Execution ex{pool, isa, counters};
    struct Case {
      Type type;
      test::ScaleSpread spread;
    };
    std::vector<Case> cases;
    for (const Type type : test::int8Types) cases.push_back({type, test::ScaleSpread::narrow});
    for (const Type type : test::floatTypes) cases.push_back({type, test::ScaleSpread::narrow});
    cases.push_back({Type::ROCmFP2, test::ScaleSpread::wide});
    cases.push_back({Type::ROCmFP3, test::ScaleSpread::wide});
    for (const auto& [type, spread] : cases) {
      if (argc > 4 && format(type).name != argv[4]) continue;
      test::Weights w = test::randomWeights(random, type, rows, cols, spread);
      const std::vector<std::byte> one = w.bytes;
      for (std::int64_t e = 1; e < experts; ++e) w.bytes.insert(w.bytes.end(), one.begin(), one.end());
      w.matrix.data = w.bytes.data();
      Matrix first = w.matrix;
      first.rows = rows;
      const PackedWeights packed(pool, ExpertMatrices{first, experts});
      for (const std::int64_t tokens : {1, 4, 9, 16, 38, 48, 192}) {
        if (isa == Isa::portable && tokens > 9) continue;
        const auto x = test::randomFloats(random, static_cast<std::size_t>(tokens * cols));
        Activations quantised;
        quantize(ex, x.data(), tokens, cols, cols, quantised);
        std::vector<float> y(static_cast<std::size_t>(tokens * rows));
        // The best call of several passes over the experts: what a quiet moment of the machine gives.
        double best = 1e9;
        const std::int64_t calls =
            isa == Isa::portable ? 2 : std::max<std::int64_t>(8, 3 * experts * 16 / (tokens + 16));
        for (std::int64_t call = 0; call < calls; ++call) {
          const double start = cpuSeconds();
          matmul(ex, packed.matrix(call % experts), inputs(x.data(), cols, &quantised), tokens, y.data(), rows);
          best = std::min(best, cpuSeconds() - start);
        }
        std::printf("%-8s %-12s %s %4lldx%lld %4lld rows %10.1f us %8.1f GOPS\n", std::string(name(isa)).c_str(),
                    std::string(format(type).name).c_str(), spread == test::ScaleSpread::wide ? "wide" : "    ",
                    static_cast<long long>(rows), static_cast<long long>(cols), static_cast<long long>(tokens),
                    best * 1e6,
                    2e-9 * static_cast<double>(rows * cols * tokens) / best);
      }
    }
  }
}
