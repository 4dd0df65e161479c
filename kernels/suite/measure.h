// Owns how time is taken: medians of interleaved repeats, CPU time of the thread or wall time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace suite {

// One thread: its CPU time, which other programs disturb least. Several: wall time.
enum class Clock { threadCpu, wall };

double seconds(Clock clock);

struct Effort {
  int samples = 9;             // of every side
  double sampleSeconds = 0.02;  // calls are repeated up to this within a sample
  double sideSeconds = 8;       // no further samples after this, once there are three
};

// One of the ways that are compared; `work` of a call relative to the first side's call.
struct Side {
  std::function<void()> run;
  double work = 1;
};

// Median seconds of the first side's work on every side. Samples alternate: side 0, 1, .., 0, 1, .., after one call of
// each that is not counted.
std::vector<double> medianSeconds(const std::vector<Side>& sides, Clock clock, const Effort& effort);

// What the machine can do at most, measured in this run: rates of one thread, and of all threads.
struct Ceiling {
  double one = 0, all = 0;
  double of(int threads) const { return threads > 1 ? all : one; }
};

}  // namespace suite
