// Owns the threads of the engine: a fixed count, parked when idle. The caller is one of them (thread 0).
// Nothing here decides about bits: an item computes the same values whichever thread takes it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace qk {

class ThreadPool {
 public:
  // `threads` >= 1, the caller included, so threads - 1 are created. `cpus` is empty (no pinning) or names
  // one distinct CPU a thread; cpus[0] is the caller's and takes effect in pinCaller(). Throws
  // std::invalid_argument that names the CPU which this process may not use, std::system_error when a thread
  // cannot be created or pinned.
  explicit ThreadPool(int threads, std::span<const int> cpus = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Pins the calling thread to cpus[0]; without cpus it does nothing.
  void pinCaller();

  // Calls fn(item, thread) once for every item in [0, items), thread in [0, threads()), and returns when all
  // are done. Items are handed out in ascending order from one cursor. The first exception is rethrown here;
  // items not yet started are then dropped. One caller at a time; run inside of an item throws
  // std::logic_error.
  template <class Fn>
  void run(std::int64_t items, Fn&& fn) {
    using Body = std::remove_reference_t<Fn>;
    runErased(items, const_cast<void*>(static_cast<const void*>(&fn)),
              [](void* body, std::int64_t item, int thread) { (*static_cast<Body*>(body))(item, thread); });
  }

  // Calls fn(thread) once on every thread, and returns when all are done; else as run.
  template <class Fn>
  void runEach(Fn&& fn) {
    using Body = std::remove_reference_t<Fn>;
    runErased(
        eachThread, const_cast<void*>(static_cast<const void*>(&fn)),
        [](void* body, std::int64_t, int thread) { (*static_cast<Body*>(body))(thread); });
  }

 private:
  static constexpr std::int64_t eachThread = -1;
  using Call = void (*)(void* body, std::int64_t item, int thread);
  struct State;

  // items may be eachThread.
  void runErased(std::int64_t items, void* body, Call call);

  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace qk
