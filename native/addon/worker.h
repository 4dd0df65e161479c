// Owns one thread that runs jobs in the order in which they were submitted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace addon {

class Worker {
 public:
  using Job = std::function<void()>;  // must not throw

  Worker();
  ~Worker() { close(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Ignored after close.
  void submit(Job job);
  // Raises `closing`, lets the jobs that are queued see it, and joins. Not from a job. Safe to call twice.
  void close();
  // Jobs look at this flag to end early.
  const std::atomic<bool>& closing() const { return closing_; }

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  std::atomic<bool> closing_{false};
  std::thread thread_;
};

}  // namespace addon
