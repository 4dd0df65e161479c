// Owns selection by radix: four histograms of 8 bits find the k-th key, one pass emits in ascending index
// order.
#include "qk/top_k.h"

#include <bit>
#include <numeric>

namespace qk::cpu {

namespace {

// An unsigned order-preserving key: larger score, larger key; zeros equal; NaN 0, below -inf.
std::uint32_t keyOf(float score) {
  if (score != score) return 0;
  const auto word = std::bit_cast<std::uint32_t>(score + 0.0f);
  return (word & 0x80000000u) != 0 ? ~word : word | 0x80000000u;
}

}  // namespace

std::int64_t topK(const float* scores, std::int64_t n, std::int64_t k, std::uint32_t* scratch,
                  std::int32_t* out) {
  if (k <= 0) return 0;
  if (n <= k) {
    std::iota(out, out + n, 0);
    return n;
  }
  for (std::int64_t i = 0; i < n; ++i) scratch[i] = keyOf(scores[i]);
  std::uint32_t threshold = 0;  // the bits of the k-th key that are known
  std::int64_t wanted = k;      // how many of the keys that share them are in
  for (int shift = 24; shift >= 0; shift -= 8) {
    const std::uint64_t known = ~std::uint64_t{0} << (shift + 8);
    std::int64_t counts[256] = {};
    for (std::int64_t i = 0; i < n; ++i) {
      if (((scratch[i] ^ threshold) & known) == 0) ++counts[(scratch[i] >> shift) & 255u];
    }
    std::uint32_t digit = 255;
    while (counts[digit] < wanted) wanted -= counts[digit--];
    threshold |= digit << shift;
  }
  std::int64_t emitted = 0;
  for (std::int64_t i = 0; emitted < k; ++i) {
    const bool tie = scratch[i] == threshold && wanted > 0;
    if (tie) --wanted;
    if (tie || scratch[i] > threshold) out[emitted++] = static_cast<std::int32_t>(i);
  }
  return k;
}

}  // namespace qk::cpu
