// Owns the clocks and the order of the samples.
#include "measure.h"

#include <algorithm>
#include <ctime>

namespace suite {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

double seconds(Clock clock) {
  timespec now{};
  clock_gettime(clock == Clock::threadCpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<double> medianSeconds(const std::vector<Side>& sides, Clock clock, const Effort& effort) {
  std::vector<std::int64_t> calls;
  std::vector<std::vector<double>> samples(sides.size());
  const double begun = seconds(Clock::wall);
  for (const Side& side : sides) {
    side.run();
    // The second call finds its memory mapped and tells how many fill a sample.
    const double start = seconds(clock);
    side.run();
    const double once = std::max(1e-9, seconds(clock) - start);
    calls.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(effort.sampleSeconds / once), 1, 1000000));
  }
  for (int round = 0; round < effort.samples; ++round) {
    const double limit = effort.sideSeconds * static_cast<double>(sides.size());
    if (round >= 3 && seconds(Clock::wall) - begun > limit) break;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const double start = seconds(clock);
      for (std::int64_t call = 0; call < calls[i]; ++call) sides[i].run();
      samples[i].push_back((seconds(clock) - start) / static_cast<double>(calls[i]) / sides[i].work);
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& side : samples) medians.push_back(median(side));
  return medians;
}

}  // namespace suite
