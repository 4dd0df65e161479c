// Owns the random numbers of the model generator: a pure function of (seed, name, index), so that any thread on any
// machine can produce any part of a file. SplitMix64's sequence, addressed instead of stepped.
#pragma once

#include <cstdint>
#include <string_view>

namespace qe {

class CounterRandom {
 public:
  explicit CounterRandom(std::uint64_t key) : key_(key) {}
  // The stream of one named thing (a tensor) under a seed.
  CounterRandom(std::uint64_t seed, std::string_view name) : key_(mix(seed + kStep)) {
    for (const char letter : name) key_ = mix((key_ ^ static_cast<unsigned char>(letter)) + kStep);
  }

  std::uint64_t word(std::uint64_t index) const { return mix(key_ + (index + 1) * kStep); }
  // A stream of its own for item `index`, for draws of unknown number.
  CounterRandom child(std::uint64_t index) const { return CounterRandom(mix(word(index) ^ kStep)); }

  // Nearly normal (the sum of eight uniform 16-bit integers), mean 0, deviation 1, never beyond 4.9. Integer sums and one
  // exact product: no libm, hence the same bits everywhere.
  double normal(std::uint64_t index) const {
    constexpr std::uint64_t kHalves = 0x0000ffff0000ffffULL;
    const std::uint64_t a = word(2 * index);
    const std::uint64_t b = word(2 * index + 1);
    const std::uint64_t pairs = (a & kHalves) + ((a >> 16) & kHalves) + (b & kHalves) + ((b >> 16) & kHalves);
    const auto sum = static_cast<std::int64_t>((pairs & 0xffffffffULL) + (pairs >> 32));
    constexpr double kDeviation = 53509.82;  // sqrt(8 * (65536^2 - 1) / 12)
    return static_cast<double>(2 * sum - 8 * 65535) * (0.5 / kDeviation);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;

  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

  std::uint64_t key_;
};

}  // namespace qe
