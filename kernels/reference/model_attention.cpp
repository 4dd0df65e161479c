// Owns the oracle's attention: projections, window and compressed keys, indexer, grouped output.
#include <algorithm>
#include <cmath>

#include "model_layer.h"
#include "qk/attention.h"
#include "qk/compressor.h"
#include "qk/indexer.h"
#include "qk/rms_norm.h"
#include "qk/rope.h"
#include "qk/round_trip.h"
#include "qk/top_k.h"

namespace qk::reference {

namespace {

class Attention {
 public:
  Attention(const Dimensions& d, std::int32_t ratio, const LayerWeights& w,
            const std::vector<Values>& inputs)
      : d_(d), ratio_(ratio), w_(w), inputs_(inputs), frequencies_(ropeFrequencies(d, ratio)) {}

  std::vector<Values> run() {
    for (std::int64_t t = 0; t < tokens(); ++t) project(t);
    if (ratio_ != 0) entries_ = compress(w_.compressor, d_.headDim, false);
    if (ratio_ == 4) indexerKeys_ = compress(w_.indexerCompressor, d_.indexerDim, true);
    std::vector<Values> outputs;
    for (std::int64_t t = 0; t < tokens(); ++t) outputs.push_back(attend(t));
    return outputs;
  }

 private:
  std::int64_t tokens() const { return static_cast<std::int64_t>(inputs_.size()); }
  const Values& input(std::int64_t t) const { return inputs_[static_cast<std::size_t>(t)]; }

  void project(std::int64_t t) {
    const Values qr = normed(product(w_.queryA, d_.queryRank, input(t)), w_.queryANorm.data(), d_.rmsEps);
    Values q = product(w_.queryB, d_.heads * d_.headDim, qr);
    rmsNorm(q.data(), d_.heads, d_.headDim, nullptr, d_.rmsEps, q.data());
    rope(q.data(), d_.heads, d_.headDim, frequencies_, t, false);
    Values kv = normed(product(w_.kv, d_.headDim, input(t)), w_.kvNorm.data(), d_.rmsEps);
    finishKey(kv, t);
    lowRank_.push_back(qr);
    queries_.push_back(std::move(q));
    keys_.push_back(std::move(kv));
  }

  void finishKey(Values& key, std::int64_t position) const {
    rope(key.data(), 1, d_.headDim, frequencies_, position, false);
    if (d_.keyRoundTrip) roundTripE4m3(key.data(), d_.headDim - d_.ropeDims);
  }

  void finishIndexer(double* x, std::int64_t position) const {
    rope(x, 1, d_.indexerDim, frequencies_, position, false);
    hadamard(x, d_.indexerDim);
    if (d_.indexerRoundTrip) roundTripE2m1(x, d_.indexerDim);
  }

  // One entry for every complete block of `ratio` tokens.
  std::vector<Values> compress(const CompressorWeights& w, std::int64_t dim, bool indexer) const {
    const CompressorShape shape{ratio_, dim};
    Values k;
    Values z;
    for (std::int64_t t = 0; t < tokens(); ++t) {
      const Values kt = product(w.kv, shape.width(), input(t));
      Values zt = product(w.gate, shape.width(), input(t));
      const double* ape = w.ape.data() + t % ratio_ * shape.width();
      for (std::size_t i = 0; i < zt.size(); ++i) zt[i] += ape[i];
      k.insert(k.end(), kt.begin(), kt.end());
      z.insert(z.end(), zt.begin(), zt.end());
    }
    std::vector<Values> entries;
    for (std::int64_t j = 0; j < tokens() / ratio_; ++j) {
      Values pooled(static_cast<std::size_t>(dim));
      compressorPool(shape, k.data(), z.data(), j, pooled.data());
      entries.push_back(normed(pooled, w.norm.data(), d_.rmsEps));
      if (indexer) {
        finishIndexer(entries.back().data(), j * ratio_);
      } else {
        finishKey(entries.back(), j * ratio_);
      }
    }
    return entries;
  }

  // The compressed entries that token t attends to, ascending.
  std::vector<std::int32_t> selected(std::int64_t t) const {
    const std::int64_t visible = visibleEntries(t, ratio_);
    Values scores(static_cast<std::size_t>(visible), 0.0);
    std::int64_t wanted = visible;
    if (ratio_ == 4) {
      scores = indexerScoresOf(t, visible);
      wanted = std::min(d_.indexerTopK, visible);
    }
    std::vector<std::int32_t> rows(static_cast<std::size_t>(wanted));
    topK(scores.data(), visible, wanted, rows.data());
    return rows;
  }

  Values indexerScoresOf(std::int64_t t, std::int64_t visible) const {
    Values q =
        product(w_.indexerQueryB, d_.indexerHeads * d_.indexerDim, lowRank_[static_cast<std::size_t>(t)]);
    for (std::int64_t h = 0; h < d_.indexerHeads; ++h) finishIndexer(q.data() + h * d_.indexerDim, t);
    Values weights = product(w_.indexerWeights, d_.indexerHeads, input(t));
    for (double& weight : weights) weight /= std::sqrt(static_cast<double>(d_.indexerDim * d_.indexerHeads));
    Values scores(static_cast<std::size_t>(visible));
    for (std::int64_t j = 0; j < visible; ++j) {
      indexerScores(q.data(), weights.data(), d_.indexerHeads, d_.indexerDim,
                    indexerKeys_[static_cast<std::size_t>(j)].data(), 1,
                    &scores[static_cast<std::size_t>(j)]);
    }
    return scores;
  }

  Values attend(std::int64_t t) const {
    std::vector<const double*> rows;
    for (std::int64_t p = std::max<std::int64_t>(0, t - d_.window + 1); p <= t; ++p) {
      rows.push_back(keys_[static_cast<std::size_t>(p)].data());
    }
    if (ratio_ != 0) {
      for (const std::int32_t j : selected(t)) rows.push_back(entries_[static_cast<std::size_t>(j)].data());
    }
    Values o(static_cast<std::size_t>(d_.heads * d_.headDim));
    attention(queries_[static_cast<std::size_t>(t)].data(), rows.data(),
              static_cast<std::int64_t>(rows.size()), d_.heads, d_.headDim, w_.sinks.data(),
              1 / std::sqrt(static_cast<double>(d_.headDim)), o.data());
    rope(o.data(), d_.heads, d_.headDim, frequencies_, t, true);
    Values low;
    const std::int64_t groupWidth = d_.heads * d_.headDim / d_.outputGroups;
    for (std::int64_t g = 0; g < d_.outputGroups; ++g) {
      const Values part =
          product(w_.outputA, g * d_.outputRank, d_.outputRank, o.data() + g * groupWidth, groupWidth);
      low.insert(low.end(), part.begin(), part.end());
    }
    return product(w_.outputB, d_.hidden, low);
  }

  const Dimensions& d_;
  const std::int32_t ratio_;
  const LayerWeights& w_;
  const std::vector<Values>& inputs_;
  const std::vector<double> frequencies_;
  std::vector<Values> lowRank_, queries_, keys_, entries_, indexerKeys_;
};

}  // namespace

std::vector<Values> attentionLayer(const Dimensions& d, std::int32_t ratio, const LayerWeights& w,
                                   const std::vector<Values>& inputs) {
  return Attention(d, ratio, w, inputs).run();
}

}  // namespace qk::reference
