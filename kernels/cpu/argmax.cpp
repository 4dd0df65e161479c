// Owns greedy choice.
//
// Bytes: 4 V once a generated token, just written; V compares that also look for NaN. The output matrix of the same
// token is D times as long, so this is a plain loop. Not measured by itself; the stage `head` holds it.
#include "qk/argmax.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace qk::cpu {

std::int64_t argmax(const float* logits, std::int64_t n) {
  if (n < 1) throw std::invalid_argument("argmax of no logits");
  std::int64_t best = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::isnan(logits[i])) throw std::domain_error("logit " + std::to_string(i) + " is not a number");
    if (logits[i] > logits[best]) best = i;
  }
  return best;
}

}  // namespace qk::cpu
