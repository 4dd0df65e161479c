// Owns the router's affinities; kernels/cpu/router.cpp has what they cost.
#include "cpu/simd/variants.h"
#include "cpu/simd/vector_math.h"

namespace qk::QK_ISA {

void affinity(const float* logits, std::int64_t n, float* a) {
  for (std::int64_t i = 0; i < n; i += 16)
    storeFirst(a + i, n - i, sqrt(softplus16(loadFirst(logits + i, n - i))));
}

}  // namespace qk::QK_ISA
