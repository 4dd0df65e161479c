// Owns the threads: one epoch counter wakes them, one cursor hands out items, one count of the busy ends a
// run.
#include "qk/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace qk {
namespace {

// About 20 us: longer than the gap between two steps of a layer, shorter than a scheduler's slice.
constexpr int spins = 600;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins, then sleeps, until `value` differs from `seen`.
template <class T>
void awaitChange(const std::atomic<T>& value, T seen) {
  for (int i = 0; i < spins; ++i) {
    if (value.load(std::memory_order_acquire) != seen) return;
    relax();
  }
  value.wait(seen, std::memory_order_acquire);
}

void checkCpus(int threads, std::span<const int> cpus) {
  if (cpus.empty()) return;
  if (static_cast<int>(cpus.size()) != threads) {
    throw std::invalid_argument("pinning needs one CPU a thread: " + std::to_string(cpus.size()) +
                                " CPUs for " + std::to_string(threads) + " threads");
  }
#ifdef __linux__
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    throw std::system_error(errno, std::generic_category(), "reading the CPUs of this process");
  }
#endif
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const std::string cpu = "CPU " + std::to_string(cpus[i]);
    if (std::find(cpus.begin(), cpus.begin() + i, cpus[i]) != cpus.begin() + i) {
      throw std::invalid_argument(cpu + " is named twice");
    }
#ifdef __linux__
    if (cpus[i] < 0 || cpus[i] >= CPU_SETSIZE || !CPU_ISSET(cpus[i], &allowed)) {
      throw std::invalid_argument(cpu + " is not among the CPUs that this process may use");
    }
#else
    throw std::invalid_argument(cpu + ": pinning threads is not supported on this system");
#endif
  }
}

void pinThisThread(int cpu) {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  const int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), "pinning a thread to CPU " + std::to_string(cpu));
  }
#else
  (void)cpu;
#endif
}

}  // namespace

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::vector<int> cpus;

  std::atomic<std::uint32_t> epoch{0};
  std::atomic<int> working{0};
  std::atomic<std::int64_t> cursor{0};
  std::atomic<bool> running{false};
  // Written before the epoch is raised, read after.
  bool stop = false;
  std::int64_t items = 0;
  void* body = nullptr;
  Call call = nullptr;

  std::mutex failureGuard;
  std::exception_ptr failure;

  void fail(std::exception_ptr reason) {
    const std::lock_guard<std::mutex> lock(failureGuard);
    if (!failure) failure = std::move(reason);
  }

  // Takes items until none is left; its own one when every thread has one.
  void take(int thread) {
    try {
      if (items == eachThread) return call(body, thread, thread);
      for (;;) {
        const std::int64_t item = cursor.fetch_add(1, std::memory_order_relaxed);
        if (item >= items) return;
        call(body, item, thread);
      }
    } catch (...) {
      cursor.store(items, std::memory_order_relaxed);
      fail(std::current_exception());
    }
  }

  void finish() {
    if (working.fetch_sub(1, std::memory_order_acq_rel) == 1) working.notify_one();
  }

  void work(int thread) {
    try {
      if (!cpus.empty()) pinThisThread(cpus[static_cast<std::size_t>(thread)]);
    } catch (...) {
      fail(std::current_exception());
    }
    finish();
    for (std::uint32_t seen = 0;; ++seen) {
      awaitChange(epoch, seen);
      if (stop) return;
      take(thread);
      finish();
    }
  }

  void awaitWorkers() {
    for (int left = working.load(std::memory_order_acquire); left != 0;
         left = working.load(std::memory_order_acquire)) {
      awaitChange(working, left);
    }
  }

  void rethrow() {
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }

  void join() {
    stop = true;
    epoch.fetch_add(1, std::memory_order_release);
    epoch.notify_all();
    for (std::thread& worker : workers) worker.join();
  }
};

ThreadPool::ThreadPool(int threads, std::span<const int> cpus)
    : threads_(threads), state_(std::make_unique<State>()) {
  if (threads < 1) throw std::invalid_argument("a thread pool needs at least one thread");
  checkCpus(threads, cpus);
  state_->cpus.assign(cpus.begin(), cpus.end());
  try {
    for (int thread = 1; thread < threads; ++thread) {
      state_->working.fetch_add(1, std::memory_order_relaxed);
      state_->workers.emplace_back([state = state_.get(), thread] { state->work(thread); });
    }
    state_->awaitWorkers();
    state_->rethrow();
  } catch (...) {
    state_->join();
    throw;
  }
}

ThreadPool::~ThreadPool() { state_->join(); }

void ThreadPool::pinCaller() {
  if (!state_->cpus.empty()) pinThisThread(state_->cpus.front());
}

void ThreadPool::runErased(std::int64_t items, void* body, Call call) {
  if (state_->running.exchange(true, std::memory_order_acquire)) {
    throw std::logic_error(
        "ThreadPool::run was called while it runs: inside of an item, or by a second thread");
  }
  State& state = *state_;
  state.cursor.store(0, std::memory_order_relaxed);
  state.items = items;
  state.body = body;
  state.call = call;
  const bool alone = threads_ == 1 || items == 0 || items == 1;
  if (!alone) {
    state.working.store(threads_ - 1, std::memory_order_relaxed);
    state.epoch.fetch_add(1, std::memory_order_release);
    state.epoch.notify_all();
  }
  state.take(0);
  if (!alone) state.awaitWorkers();
  std::exception_ptr failure = std::exchange(state.failure, nullptr);
  state.running.store(false, std::memory_order_release);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace qk
