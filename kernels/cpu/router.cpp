// Owns the selection of experts and their weights.
//
// A token reads E logits and biases from the L1 cache: 8 E bytes. Work: E square roots of softplus, vectorised, about
// 40 operations each; then one comparison for nearly every expert with the worst one chosen so far, and k ln(E / k)
// insertions of up to k steps. Floor: the comparisons, one a cycle. The E x D products that give the logits are a
// matmul of its own and cost a hundred times this. Reached (AVX2, Zen 1, 2.0 GHz): 0.44 us a token for 6 of 64.
#include "qk/router.h"

#include <limits>
#include <stdexcept>
#include <string>

#include "cpu/simd/variants.h"

namespace qk::cpu {

namespace {

// The k best of `scores` in order of rank: a later index never passes an equal one.
void selectBest(const float* scores, std::int64_t n, std::int64_t k, std::int32_t* best) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (count == k && !(scores[i] > scores[best[k - 1]])) continue;
    std::int64_t at = count < k ? count++ : k - 1;
    for (; at > 0 && scores[i] > scores[best[at - 1]]; --at) best[at] = best[at - 1];
    best[at] = static_cast<std::int32_t>(i);
  }
}

void sortAscending(std::int32_t* ids, std::int64_t n) {
  for (std::int64_t i = 1; i < n; ++i) {
    const std::int32_t id = ids[i];
    std::int64_t at = i;
    for (; at > 0 && ids[at - 1] > id; --at) ids[at] = ids[at - 1];
    ids[at] = id;
  }
}

}  // namespace

void route(Isa isa, const RouterShape& shape, const float* logits, const float* bias,
           const std::int32_t* hashExperts, float* scratch, std::int32_t* experts, float* weights) {
  float* affinities = scratch;
  QK_PICK(isa, affinity)(logits, shape.experts, affinities);
  if (hashExperts != nullptr) {
    for (std::int64_t i = 0; i < shape.used; ++i) {
      if (hashExperts[i] < 0 || hashExperts[i] >= shape.experts) {
        throw std::out_of_range("the hash table names expert " + std::to_string(hashExperts[i]) + " of " +
                                std::to_string(shape.experts));
      }
      experts[i] = hashExperts[i];
    }
  } else {
    // A NaN ranks below everything; when all are NaN the first k are taken and their weights are NaN.
    float* scores = scratch + shape.experts;
    for (std::int64_t e = 0; e < shape.experts; ++e) {
      const float score = affinities[e] + (bias != nullptr ? bias[e] : 0.0f);
      scores[e] = score == score ? score : -std::numeric_limits<float>::infinity();
    }
    selectBest(scores, shape.experts, shape.used, experts);
  }
  sortAscending(experts, shape.used);
  float total = 0.0f;
  for (std::int64_t i = 0; i < shape.used; ++i) total += affinities[experts[i]];
  for (std::int64_t i = 0; i < shape.used; ++i) {
    const float a = affinities[experts[i]];
    weights[i] = (shape.normalise ? a / total : a) * shape.scale;
  }
}

}  // namespace qk::cpu
