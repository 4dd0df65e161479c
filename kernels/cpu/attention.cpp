// Owns the choice of instruction set for attention.h.
#include "qk/attention.h"

#include <stdexcept>

#include "cpu/simd/variants.h"

namespace qk::cpu {

std::int64_t attentionScratch(std::int64_t heads, std::int64_t dim, std::int64_t n) {
  return (heads + 15) / 16 * 16 * dim + n * 16 + 16;  // the last 16 for alignment
}

void attention(Isa isa, const float* q, const float* const* keys, std::int64_t n, std::int64_t heads, std::int64_t dim,
               const float* sinks, float scale, float* scratch, float* out) {
  if (n < 1) throw std::invalid_argument("attention over no keys: a token sees at least itself");
  QK_PICK(isa, attention)(q, keys, n, heads, dim, sinks, scale, scratch, out);
}

}  // namespace qk::cpu
