// Owns selection by radix, one bit of an order-preserving key at a time: every pass over the scores counts
// those above a threshold and halves what the k-th key can be; it ends early when exactly k lie above. One
// more pass emits in ascending index order.
//
// Bytes: 4 n a pass, from the first-level cache up to n = 8192; about log2(n) + 4 passes of n / 16 compares.
// A histogram by digits would be one increment a score, each waiting for the last one of the same digit:
// scores share sign and exponent, so that is most of them.
#include "qk/top_k.h"

#include <bit>
#include <numeric>

#include "cpu/simd/variants.h"

namespace qk::cpu {

namespace {

// An unsigned order-preserving key: larger score, larger key; zeros equal.
std::uint32_t keyOf(float score) {
  const auto word = std::bit_cast<std::uint32_t>(score + 0.0f);
  return (word & 0x80000000u) != 0 ? ~word : word | 0x80000000u;
}

// A score that is above exactly the scores whose key is at most `key`.
float scoreOf(std::uint32_t key) {
  if (key == 0x7fffffffu) --key;  // -0, the key of no score; as a float it would equal +0
  return std::bit_cast<float>((key & 0x80000000u) != 0 ? key ^ 0x80000000u : ~key);
}

// Emits in ascending order the scores above `threshold` and the first of those that tie with it.
template <class Ties>
void emit(const float* scores, std::int64_t k, float threshold, std::int64_t ties, const Ties& tie,
          std::int32_t* out) {
  std::int64_t emitted = 0;
  for (std::int64_t i = 0; emitted < k; ++i) {
    bool in = scores[i] > threshold;
    if (ties > 0 && tie(scores[i])) {
      in = true;
      --ties;
    }
    out[emitted] = static_cast<std::int32_t>(i);
    emitted += in ? 1 : 0;
  }
}

}  // namespace

std::int64_t topK(Isa isa, const float* scores, std::int64_t n, std::int64_t k, std::int32_t* out) {
  if (k <= 0) return 0;
  if (n <= k) {
    std::iota(out, out + n, 0);
    return n;
  }
  const ScoreRange range = QK_PICK(isa, scoreRange)(scores, n);
  if (range.numbers <= k) {  // NaN ranks last
    std::int64_t ties = k - range.numbers;
    std::int64_t emitted = 0;
    for (std::int64_t i = 0; emitted < k; ++i) {
      const bool number = scores[i] == scores[i];
      if (number || ties-- > 0) out[emitted++] = static_cast<std::int32_t>(i);
    }
    return k;
  }
  const auto count = QK_PICK(isa, countAbove);
  // The k-th key lies in low .. high-1: at least k keys are >= low, `above` < k are >= high.
  std::uint32_t low = keyOf(range.lowest);
  std::uint32_t high = keyOf(range.highest) + 1;
  std::int64_t above = 0;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    const std::int64_t found = count(scores, n, scoreOf(middle - 1));
    if (found == k) {
      emit(scores, k, scoreOf(middle - 1), 0, [](float) { return false; }, out);
      return k;
    }
    if (found > k) {
      low = middle;
    } else {
      high = middle;
      above = found;
    }
  }
  const float kth = scoreOf(low);
  emit(scores, k, kth, k - above, [kth](float score) { return score == kth; }, out);
  return k;
}

}  // namespace qk::cpu
