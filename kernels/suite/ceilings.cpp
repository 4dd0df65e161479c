// Owns the loops. They are assembly where the instruction set matters, so that one file holds them all.
#include "ceilings.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "qk/aligned_buffer.h"

namespace suite {
namespace {

constexpr std::int64_t kRounds = 2'000'000;

// Operations done by `kRounds` rounds of the loop.
using Loop = double (*)();

double portableInt8() {
  std::array<std::int8_t, 64> a, b;
  a.fill(3);
  b.fill(-2);
  std::int32_t sum = 0;
  for (std::int64_t round = 0; round < kRounds / 8; ++round) {
    asm volatile("" : : "r"(a.data()), "r"(b.data()) : "memory");
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  }
  asm volatile("" : : "r"(sum));
  return static_cast<double>(kRounds / 8) * 128;
}

double portableFloat() {
  std::array<float, 64> a, acc{};
  a.fill(0.5f);
  for (std::int64_t round = 0; round < kRounds / 8; ++round) {
    asm volatile("" : : "r"(acc.data()) : "memory");
    for (std::size_t i = 0; i < a.size(); ++i) acc[i] = acc[i] * 0.5f + a[i];
  }
  asm volatile("" : : "r"(acc.data()) : "memory");
  return static_cast<double>(kRounds / 8) * 128;
}

// Twelve chains in registers, written out so that no compiler moves one to memory. Accumulators are registers 0 to 11,
// operands 14 and 15; all are zero, which takes as long as any other value.
#if defined(__x86_64__)
#define QK_TWELVE ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n"
#define QK_CEILING_LOOP(body)                                                                                    \
  std::int64_t rounds = kRounds;                                                                                 \
  asm volatile("vzeroall\n"                                                                                      \
               "1:\n" QK_TWELVE body ".endr\n"                                                                   \
               "dec %0\n"                                                                                        \
               "jnz 1b\n"                                                                                        \
               "vzeroupper\n"                                                                                    \
               : "+r"(rounds)                                                                                    \
               :                                                                                                 \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                 "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

double avx2Int8() {
  QK_CEILING_LOOP("vpmaddubsw %%ymm14, %%ymm15, %%ymm12\n vpaddw %%ymm12, %%ymm\\i, %%ymm\\i\n");
  return static_cast<double>(kRounds) * 12 * 64;
}

double avx2Float() {
  QK_CEILING_LOOP("vfmadd231ps %%ymm14, %%ymm15, %%ymm\\i\n");
  return static_cast<double>(kRounds) * 12 * 16;
}

double avx512Int8() {
  QK_CEILING_LOOP("vpdpbusd %%zmm14, %%zmm15, %%zmm\\i\n");
  return static_cast<double>(kRounds) * 12 * 128;
}

double avx512Float() {
  QK_CEILING_LOOP("vfmadd231ps %%zmm14, %%zmm15, %%zmm\\i\n");
  return static_cast<double>(kRounds) * 12 * 32;
}
#else
constexpr Loop avx2Int8 = nullptr, avx2Float = nullptr, avx512Int8 = nullptr, avx512Float = nullptr;
#endif

Loop pick(qk::Isa isa, Loop portable, Loop avx2, Loop avx512) {
  return isa == qk::Isa::avx512 ? avx512 : isa == qk::Isa::avx2 ? avx2 : portable;
}

// The best of five: a ceiling is what nothing disturbed.
template <class Fn>
double bestRate(Clock clock, Fn&& fn) {
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = seconds(clock);
    const double work = fn();
    best = std::max(best, work / (seconds(clock) - start));
  }
  return best * 1e-9;
}

Ceiling ceilingOf(Loop loop, qk::ThreadPool& pool) {
  Ceiling ceiling;
  ceiling.one = bestRate(Clock::threadCpu, loop);
  ceiling.all = bestRate(Clock::wall, [&] {
    std::vector<double> work(static_cast<std::size_t>(pool.threads()));
    pool.run(pool.threads(), [&](std::int64_t item, int) { work[static_cast<std::size_t>(item)] = loop(); });
    double total = 0;
    for (const double part : work) total += part;
    return total;
  });
  return ceiling;
}

std::uint64_t readAll(const std::byte* data, std::size_t bytes) {
  std::array<std::uint64_t, 8> sums{};
  for (std::size_t at = 0; at + 64 <= bytes; at += 64) {
    std::array<std::uint64_t, 8> line;
    std::memcpy(line.data(), data + at, 64);
    for (std::size_t i = 0; i < 8; ++i) sums[i] ^= line[i];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total ^= sum;
  return total;
}

}  // namespace

Ceiling int8Ceiling(qk::Isa isa, qk::ThreadPool& pool) {
  return ceilingOf(pick(isa, portableInt8, avx2Int8, avx512Int8), pool);
}

Ceiling floatCeiling(qk::Isa isa, qk::ThreadPool& pool) {
  return ceilingOf(pick(isa, portableFloat, avx2Float, avx512Float), pool);
}

Ceiling memoryCeiling(qk::ThreadPool& pool, bool quick) {
  const std::size_t bytes = std::size_t{quick ? 192u : 512u} << 20;
  qk::AlignedBuffer buffer(bytes);
  const std::size_t slices = 64, slice = bytes / slices;
  pool.run(static_cast<std::int64_t>(slices), [&](std::int64_t i, int) {
    std::memset(buffer.data() + static_cast<std::size_t>(i) * slice, static_cast<int>(i), slice);
  });
  std::array<std::uint64_t, 64> found{};
  const auto read = [&](std::int64_t i) {
    found[static_cast<std::size_t>(i)] ^= readAll(buffer.data() + static_cast<std::size_t>(i) * slice, slice);
  };
  Ceiling ceiling;
  ceiling.one = bestRate(Clock::threadCpu, [&] {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(slices); ++i) read(i);
    return static_cast<double>(bytes);
  });
  ceiling.all = bestRate(Clock::wall, [&] {
    pool.run(static_cast<std::int64_t>(slices), [&](std::int64_t i, int) { read(i); });
    return static_cast<double>(bytes);
  });
  asm volatile("" : : "r"(found.data()) : "memory");
  return ceiling;
}

}  // namespace suite
