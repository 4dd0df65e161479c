// Owns the loops. Each instruction set has its own function with a target attribute, so that one file holds them all.
#include "ceilings.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "qk/aligned_buffer.h"

#if defined(QK_HAS_AVX2) || defined(QK_HAS_AVX512)
#include <immintrin.h>
#endif

namespace suite {
namespace {

constexpr std::int64_t kRounds = 2'000'000;

// Keeps a value in a register without letting the compiler know what it is.
template <class Vector>
inline void opaque(Vector& value) {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+w"(value));
#endif
}

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

#ifdef QK_HAS_AVX2
__attribute__((target("avx2,fma"))) double avx2Int8() {
  __m256i acc[8], a = _mm256_set1_epi8(1), b = _mm256_set1_epi8(1);
  for (__m256i& v : acc) v = _mm256_setzero_si256();
  opaque(a);
  opaque(b);
  for (std::int64_t round = 0; round < kRounds; ++round) {
    for (__m256i& v : acc) {
      v = _mm256_add_epi16(v, _mm256_maddubs_epi16(a, b));
      opaque(v);
    }
    opaque(a);
  }
  for (__m256i& v : acc) opaque(v);
  return static_cast<double>(kRounds) * 8 * 64;
}

__attribute__((target("avx2,fma"))) double avx2Float() {
  __m256 acc[10], a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
  for (__m256& v : acc) v = _mm256_setzero_ps();
  opaque(a);
  opaque(b);
  for (std::int64_t round = 0; round < kRounds; ++round) {
    for (__m256& v : acc) {
      v = _mm256_fmadd_ps(a, b, v);
      opaque(v);
    }
  }
  return static_cast<double>(kRounds) * 10 * 16;
}
#endif

#ifdef QK_HAS_AVX512
__attribute__((target("avx512f,avx512bw,avx512vnni"))) double avx512Int8() {
  __m512i acc[16], a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(1);
  for (__m512i& v : acc) v = _mm512_setzero_si512();
  asm volatile("" : "+v"(a));
  asm volatile("" : "+v"(b));
  for (std::int64_t round = 0; round < kRounds; ++round) {
    for (__m512i& v : acc) {
      v = _mm512_dpbusd_epi32(v, a, b);
      asm volatile("" : "+v"(v));
    }
  }
  return static_cast<double>(kRounds) * 16 * 128;
}

__attribute__((target("avx512f"))) double avx512Float() {
  __m512 acc[16], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
  for (__m512& v : acc) v = _mm512_setzero_ps();
  asm volatile("" : "+v"(a));
  asm volatile("" : "+v"(b));
  for (std::int64_t round = 0; round < kRounds; ++round) {
    for (__m512& v : acc) {
      v = _mm512_fmadd_ps(a, b, v);
      asm volatile("" : "+v"(v));
    }
  }
  return static_cast<double>(kRounds) * 16 * 32;
}
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
#ifdef QK_HAS_AVX2
  const Loop avx2 = avx2Int8;
#else
  const Loop avx2 = nullptr;
#endif
#ifdef QK_HAS_AVX512
  const Loop avx512 = avx512Int8;
#else
  const Loop avx512 = nullptr;
#endif
  return ceilingOf(pick(isa, portableInt8, avx2, avx512), pool);
}

Ceiling floatCeiling(qk::Isa isa, qk::ThreadPool& pool) {
#ifdef QK_HAS_AVX2
  const Loop avx2 = avx2Float;
#else
  const Loop avx2 = nullptr;
#endif
#ifdef QK_HAS_AVX512
  const Loop avx512 = avx512Float;
#else
  const Loop avx512 = nullptr;
#endif
  return ceilingOf(pick(isa, portableFloat, avx2, avx512), pool);
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
  ceiling.one = bestRate(Clock::wall, [&] {
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
