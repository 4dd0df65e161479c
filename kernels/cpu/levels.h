// Owns the magnitudes of the formats whose codes are a sign, the upper bit, and the index of a magnitude. The reference
// (kernels/reference) has its own, so that a wrong one is found.
#pragma once

#include <array>
#include <cstddef>

namespace qk {

inline constexpr std::array<float, 4> magnitudesROCmFP3 = {0, 1, 2, 4};
inline constexpr std::array<float, 8> magnitudesROCmFP4 = {0, 1, 2, 3, 4, 6, 8, 10};
inline constexpr std::array<float, 8> magnitudesMXFP4 = {0, 1, 2, 3, 4, 6, 8, 12};

// What each code stands for, plus `zero`; the negative zero is plain zero. What no code reaches is 0.
template <class T>
struct LevelTable {
  T of[16];
};
template <class T, std::size_t n>
constexpr LevelTable<T> levelTable(const std::array<float, n>& magnitudes, float zero) {
  LevelTable<T> table{};
  for (std::size_t index = 0; index < n; ++index) {
    table.of[index] = static_cast<T>(zero + magnitudes[index]);
    table.of[n + index] = static_cast<T>(zero - magnitudes[index]);
  }
  return table;
}

}  // namespace qk
