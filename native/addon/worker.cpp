#include "worker.h"

namespace addon {

Worker::Worker() : thread_([this] { run(); }) {}

void Worker::submit(Job job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closing_) return;
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void Worker::close() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Worker::run() {
  while (true) {
    Job job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [this] { return closing_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace addon
