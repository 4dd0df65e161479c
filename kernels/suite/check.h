// Owns the comparison of one case: exact results by their bits, bounded ones by normalised error, largest error and
// cosine. The first failure is kept in words; the worst figures are kept whether it passes or not.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "destination.h"
#include "qk/isa.h"

namespace suite {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

// What a bounded result may be away from fp64: mean((a-b)^2) / mean(b^2), max |a-b|, 1 - cos(a, b).
struct Limits {
  double nmse;
  double maxAbs;
  double cosineDistance = 1e-9;
};

// What the first instruction set gave, by name: every other one must give the same bits.
struct FirstSeen {
  qk::Isa isa = qk::Isa::portable;
  std::map<std::string, Floats, std::less<>> values;
};

class Check {
 public:
  Check(qk::Isa isa, FirstSeen& first) : isa_(isa), first_(first) {}

  void bits(const std::string& what, std::span<const float> got, std::span<const float> expected);
  // Also that nothing was written beside the destination.
  void bits(const std::string& what, const Destination& got, std::span<const float> expected);
  // Within the limits of fp64, and the same bits as on the instruction set before.
  void near(const std::string& what, const Destination& got, const Doubles& expected, const Limits& limits);
  void sameEverywhere(const std::string& what, std::span<const float> got);
  void equal(const std::string& what, std::span<const std::int32_t> got, std::span<const std::int32_t> expected);
  void that(bool holds, const std::string& what);

  bool passed() const { return failure_.empty(); }
  const std::string& failure() const { return failure_; }
  std::int64_t compared() const { return compared_; }
  bool bounded() const { return bounded_; }
  double nmse() const { return nmse_; }
  double maxAbs() const { return maxAbs_; }
  double cosineDistance() const { return cosineDistance_; }

 private:
  void fail(const std::string& text);

  qk::Isa isa_;
  FirstSeen& first_;
  std::string failure_;
  std::int64_t compared_ = 0;
  bool bounded_ = false;
  double nmse_ = 0, maxAbs_ = 0, cosineDistance_ = 0;
};

}  // namespace suite
