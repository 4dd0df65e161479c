// Owns the fp64 form of top-k and of the router.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "qk/router.h"
#include "qk/top_k.h"

namespace qk::reference {

std::int64_t topK(const double* scores, std::int64_t n, std::int64_t k, std::int32_t* out) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    if (std::isnan(scores[a]) || std::isnan(scores[b]))
      return !std::isnan(scores[a]) && std::isnan(scores[b]);
    return scores[a] > scores[b];
  });
  order.resize(static_cast<std::size_t>(std::min(n, k)));
  std::sort(order.begin(), order.end());
  std::copy(order.begin(), order.end(), out);
  return static_cast<std::int64_t>(order.size());
}

void route(const RouterShape& shape, double scale, const double* logits, const double* bias,
           const std::int32_t* hashExperts, std::int32_t* experts, double* weights) {
  std::vector<double> affinity;
  std::vector<double> selection;
  for (std::int64_t e = 0; e < shape.experts; ++e) {
    const double softplus = std::max(logits[e], 0.0) + std::log1p(std::exp(-std::fabs(logits[e])));
    affinity.push_back(std::sqrt(softplus));
    selection.push_back(affinity.back() + (bias != nullptr ? bias[e] : 0));
  }
  if (hashExperts != nullptr) {
    std::copy(hashExperts, hashExperts + shape.used, experts);
    std::sort(experts, experts + shape.used);
  } else {
    topK(selection.data(), shape.experts, shape.used, experts);
  }
  double total = 0;
  for (std::int64_t i = 0; i < shape.used; ++i) total += affinity[static_cast<std::size_t>(experts[i])];
  for (std::int64_t i = 0; i < shape.used; ++i) {
    const double a = affinity[static_cast<std::size_t>(experts[i])];
    weights[i] = (shape.normalise ? a / total : a) * scale;
  }
}

}  // namespace qk::reference
