// Measures the matmul tile by CPU time of one thread: `matmul_bench [rows cols [isa]]`. Weights of many
// matrices follow on each other, so that they come from memory as those of experts do. One line a case: type,
// rows per expert, us, GOPS.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

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
    for (const Type type : {Type::ROCmFP2, Type::ROCmFP3, Type::Q4_0, Type::Q8_0, Type::F16, Type::F32}) {
      const test::Weights w = test::randomWeights(random, type, rows * experts, cols);
      Matrix first = w.matrix;
      first.rows = rows;
      const PackedWeights packed(pool, ExpertMatrices{first, experts});
      for (const std::int64_t tokens : {1, 4, 9, 16, 38, 48, 192}) {
        if (isa == Isa::portable && tokens > 9) continue;
        const auto x = test::randomFloats(random, static_cast<std::size_t>(tokens * cols));
        Activations quantised;
        quantize(ex, x.data(), tokens, cols, cols, quantised);
        std::vector<float> y(static_cast<std::size_t>(tokens * rows));
        double best = 1e9;
        const std::int64_t used = isa == Isa::portable ? 1 : tokens > 50 ? 16 : experts;
        for (int repeat = 0; repeat < (isa == Isa::portable ? 1 : 3); ++repeat) {
          const double start = cpuSeconds();
          for (std::int64_t e = 0; e < used; ++e) {
            matmul(ex, packed.matrix(e), inputs(x.data(), cols, &quantised), tokens, y.data(), rows);
          }
          best = std::min(best, (cpuSeconds() - start) / static_cast<double>(used));
        }
        std::printf("%-8s %-8s %4lldx%lld %4lld rows %10.1f us %8.1f GOPS\n", std::string(name(isa)).c_str(),
                    std::string(format(type).name).c_str(), static_cast<long long>(rows),
                    static_cast<long long>(cols), static_cast<long long>(tokens), best * 1e6,
                    2e-9 * static_cast<double>(rows * cols * tokens) / best);
      }
    }
  }
}
