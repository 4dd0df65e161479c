// Holds the pool to its contract: every item once, failures reach the caller, idle threads use no CPU,
// pinning names what it lacks.
#include <doctest/doctest.h>

#include <atomic>
#include <ctime>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

#include "qk/thread_pool.h"

using qk::ThreadPool;

TEST_CASE("every item runs once, on a thread of the pool, at every count of threads and items") {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (const int items : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(items));
      std::atomic<int> strangers{0};
      pool.run(items, [&](std::int64_t item, int thread) {
        ++runs[static_cast<std::size_t>(item)];
        if (thread < 0 || thread >= threads) ++strangers;
      });
      for (const auto& r : runs) CHECK(r == 1);
      CHECK(strangers == 0);
    }
  }
}

TEST_CASE("thousands of short runs, some after a sleep, lose no item") {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum{0};
  for (int i = 0; i < 3000; ++i) {
    if (i % 1000 == 500) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    pool.run(4, [&](std::int64_t item, int) { sum += item; });
  }
  CHECK(sum == 3000 * 6);
}

TEST_CASE("two items wait for each other only if two threads really work at once") {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  std::atomic<int> threadsSeen[2] = {};
  pool.run(2, [&](std::int64_t, int thread) {
    ++threadsSeen[thread];
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  CHECK(threadsSeen[0] == 1);
  CHECK(threadsSeen[1] == 1);
}

TEST_CASE("an exception of an item reaches the caller, and the pool works on") {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    CHECK_THROWS_WITH_AS(pool.run(100,
                                  [](std::int64_t item, int) {
                                    if (item == 5) throw std::runtime_error("item five");
                                  }),
                         "item five", std::runtime_error);
    std::atomic<int> ran{0};
    pool.run(10, [&](std::int64_t, int) { ++ran; });
    CHECK(ran == 10);
  }
}

TEST_CASE("a run inside of an item is refused") {
  ThreadPool pool(2);
  CHECK_THROWS_AS(pool.run(2, [&](std::int64_t, int) { pool.run(1, [](std::int64_t, int) {}); }),
                  std::logic_error);
  int ran = 0;
  pool.run(1, [&](std::int64_t, int) { ++ran; });
  CHECK(ran == 1);
}

TEST_CASE("an idle pool uses no CPU") {
  ThreadPool pool(3);
  pool.run(3, [](std::int64_t, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto cpuNs = [] {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
  };
  const auto before = cpuNs();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  // Two spinning threads would use 400 ms.
  CHECK(cpuNs() - before < 20'000'000);
}

TEST_CASE("counts and CPUs that make no sense are refused by name") {
  CHECK_THROWS_AS(ThreadPool(0), std::invalid_argument);
  const int missing[] = {0, 100000};
  CHECK_THROWS_WITH_AS(ThreadPool(2, missing), doctest::Contains("CPU 100000 is not among"),
                       std::invalid_argument);
  const int twice[] = {0, 0};
  CHECK_THROWS_WITH_AS(ThreadPool(2, twice), doctest::Contains("named twice"), std::invalid_argument);
  const int tooMany[] = {0, 1};
  CHECK_THROWS_WITH_AS(ThreadPool(1, tooMany), doctest::Contains("one CPU a thread"), std::invalid_argument);
}

#ifdef __linux__
TEST_CASE("pinned threads stay on their CPUs; the caller only when it asks") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu) {
    if (CPU_ISSET(cpu, &before)) cpus.push_back(cpu);
  }
  const int threads = static_cast<int>(cpus.size());
  {
    ThreadPool pool(threads, cpus);
    cpu_set_t now;
    REQUIRE(sched_getaffinity(0, sizeof now, &now) == 0);
    CHECK(CPU_EQUAL(&now, &before));
    pool.pinCaller();
    std::atomic<int> wrong{0};
    pool.run(200, [&](std::int64_t, int thread) {
      cpu_set_t mine;
      sched_getaffinity(0, sizeof mine, &mine);
      if (CPU_COUNT(&mine) != 1 || !CPU_ISSET(cpus[static_cast<std::size_t>(thread)], &mine)) ++wrong;
    });
    CHECK(wrong == 0);
  }
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}
#endif
