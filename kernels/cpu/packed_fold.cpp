// Owns the rewriting of scale bytes for blocks that are summed as integers; the proof is in packed_fold.h.
#include "cpu/packed_fold.h"

#include <algorithm>
#include <array>

#include "qk/packed_weights.h"

namespace qk {
namespace {

struct Scale {
  int numerator;  // 0..15
  int exponent;   // 1..15
};

Scale split(std::byte b) {
  const int e = std::to_integer<int>(b);
  return e < 8 ? Scale{e, 1} : Scale{8 + (e & 7), e >> 3};
}

constexpr int noExponent = 16;

using Row = std::array<Scale, groupsPerBlock>;

int smallestExponent(const Row& row, int first, int count) {
  int smallest = noExponent;
  for (int g = first; g < first + count; ++g) {
    if (row[static_cast<std::size_t>(g)].numerator != 0) {
      smallest = std::min(smallest, row[static_cast<std::size_t>(g)].exponent);
    }
  }
  return smallest == noExponent ? 1 : smallest;
}

bool isExact(const Row& row, int maxLevel) {
  const int unit = smallestExponent(row, 0, groupsPerBlock);
  std::int64_t sum = 0;
  for (const Scale& s : row) {
    if (s.numerator != 0) sum += static_cast<std::int64_t>(s.numerator) << (s.exponent - unit);
  }
  return sum * 16 * maxLevel * 127 < 1 << 24;
}

bool fits(const Row& row, int runs, int limit) {
  const int length = static_cast<int>(groupsPerBlock) / runs;
  for (int first = 0; first < groupsPerBlock; first += length) {
    const int unit = smallestExponent(row, first, length);
    for (int g = first; g < first + length; ++g) {
      const Scale& s = row[static_cast<std::size_t>(g)];
      if (s.numerator != 0 && s.numerator << (s.exponent - unit) > limit) return false;
    }
  }
  return true;
}

}  // namespace

int foldScales(std::byte* scales, int limit, int maxLevel) {
  std::array<Row, tileRows> rows;
  int runs = 1;
  for (std::int64_t r = 0; r < tileRows; ++r) {
    Row& row = rows[static_cast<std::size_t>(r)];
    for (std::int64_t g = 0; g < groupsPerBlock; ++g) {
      row[static_cast<std::size_t>(g)] = split(scales[g * tileRows + r]);
    }
    if (!isExact(row, maxLevel)) return 8;
    while (runs < 8 && !fits(row, runs, limit)) runs *= 2;
    if (runs == 8) return 8;
  }
  const int length = static_cast<int>(groupsPerBlock) / runs;
  for (std::int64_t r = 0; r < tileRows; ++r) {
    const Row& row = rows[static_cast<std::size_t>(r)];
    for (int first = 0; first < groupsPerBlock; first += length) {
      const int unit = smallestExponent(row, first, length);
      for (int g = first; g < first + length; ++g) {
        const Scale& s = row[static_cast<std::size_t>(g)];
        const int n = s.numerator == 0 ? 0 : s.numerator << (s.exponent - unit);
        const int part = g == first ? unit & 3 : g == first + 1 ? unit >> 2 : 0;
        scales[g * tileRows + r] = static_cast<std::byte>(n | part << 6);
      }
    }
  }
  return runs;
}

}  // namespace qk
