// Owns the fp64 form of attention, of the compressor's pooling and of the indexer.
#include "qk/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "qk/compressor.h"
#include "qk/indexer.h"

namespace qk::reference {

namespace {

double dot(const double* a, const double* b, std::int64_t n) {
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += a[i] * b[i];
  return total;
}

}  // namespace

void attention(const double* q, const double* const* keys, std::int64_t n, std::int64_t heads,
               std::int64_t dim, const double* sinks, double scale, double* out) {
  std::vector<double> s(static_cast<std::size_t>(n));
  std::vector<double> result(static_cast<std::size_t>(heads * dim), 0.0);
  for (std::int64_t h = 0; h < heads; ++h) {
    double top = sinks[h];
    for (std::size_t j = 0; j < s.size(); ++j) {
      s[j] = dot(q + h * dim, keys[j], dim) * scale;
      top = std::max(top, s[j]);
    }
    double total = std::exp(sinks[h] - top);
    for (const double score : s) total += std::exp(score - top);
    for (std::size_t j = 0; j < s.size(); ++j) {
      const double p = std::exp(s[j] - top) / total;
      for (std::int64_t d = 0; d < dim; ++d) result[static_cast<std::size_t>(h * dim + d)] += p * keys[j][d];
    }
  }
  std::copy(result.begin(), result.end(), out);
}

void compressorPool(const CompressorShape& shape, const double* k, const double* z, std::int64_t j,
                    double* out) {
  struct Slot {
    std::int64_t token;
    std::int64_t half;
  };
  std::vector<Slot> slots;
  if (shape.overlaps() && j > 0) {
    for (std::int64_t i = 0; i < shape.ratio; ++i) slots.push_back({(j - 1) * shape.ratio + i, 0});
  }
  for (std::int64_t i = 0; i < shape.ratio; ++i)
    slots.push_back({j * shape.ratio + i, shape.overlaps() ? 1 : 0});
  for (std::int64_t channel = 0; channel < shape.dim; ++channel) {
    const auto at = [&](const double* rows, const Slot& slot) {
      return rows[slot.token * shape.width() + slot.half * shape.dim + channel];
    };
    double top = -std::numeric_limits<double>::infinity();
    for (const Slot& slot : slots) top = std::max(top, at(z, slot));
    double total = 0;
    double sum = 0;
    for (const Slot& slot : slots) {
      total += std::exp(at(z, slot) - top);
      sum += std::exp(at(z, slot) - top) * at(k, slot);
    }
    out[channel] = sum / total;
  }
}

void indexerScores(const double* q, const double* weights, std::int64_t heads, std::int64_t dim,
                   const double* keys, std::int64_t n, double* scores) {
  for (std::int64_t j = 0; j < n; ++j) {
    scores[j] = 0;
    for (std::int64_t h = 0; h < heads; ++h) {
      scores[j] += std::max(dot(q + h * dim, keys + j * dim, dim), 0.0) * weights[h];
    }
  }
}

}  // namespace qk::reference
