// Owns the counters of what really ran since the engine opened: the witnesses that a switch took effect.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace qe {

// Written by the compute thread, read by any thread.
class Counters {
 public:
  void add(const std::string& name, std::uint64_t times = 1) {
    const std::lock_guard<std::mutex> lock(mutex_);
    values_[name] += times;
  }

  std::map<std::string, std::uint64_t> read() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return values_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> values_;
};

}  // namespace qe
