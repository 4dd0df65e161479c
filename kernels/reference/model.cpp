// Owns the oracle's forward pass: embedding in every stream, layers between hyper-connections, head.
#include <stdexcept>

#include "model_layer.h"
#include "qk/hyper.h"
#include "qk/rms_norm.h"

namespace qk::reference {

Values product(const Values& matrix, std::int64_t first, std::int64_t rows, const double* x,
               std::int64_t cols) {
  Values out;
  for (std::int64_t r = first; r < first + rows; ++r) {
    double total = 0;
    for (std::int64_t c = 0; c < cols; ++c) total += matrix[static_cast<std::size_t>(r * cols + c)] * x[c];
    out.push_back(total);
  }
  return out;
}

Values product(const Values& matrix, std::int64_t rows, const Values& x) {
  return product(matrix, 0, rows, x.data(), static_cast<std::int64_t>(x.size()));
}

Values normed(const Values& x, const double* weight, double eps) {
  Values y(x.size());
  rmsNorm(x.data(), 1, static_cast<std::int64_t>(x.size()), weight, eps, y.data());
  return y;
}

namespace {

HyperSite siteOf(const Dimensions& d, const HyperWeights& w) {
  return {d.streams,     d.hidden,         w.fn.data(), w.scale.data(),
          w.base.data(), d.sinkhornRounds, d.hyperEps,  d.rmsEps};
}

// Wraps `sublayer` (normed inputs of all tokens -> outputs) into the streams of one site.
template <typename Sublayer>
void throughStreams(const Dimensions& d, const HyperWeights& weights, const Values& norm,
                    std::vector<Values>& streams, Sublayer sublayer) {
  const HyperSite site = siteOf(d, weights);
  std::vector<Values> inputs;
  std::vector<Values> posts;
  std::vector<Values> mixes;
  for (const Values& h : streams) {
    Values u(static_cast<std::size_t>(d.hidden));
    posts.emplace_back(static_cast<std::size_t>(d.streams));
    mixes.emplace_back(static_cast<std::size_t>(d.streams * d.streams));
    hyperPre(site, h.data(), u.data(), posts.back().data(), mixes.back().data());
    inputs.push_back(normed(u, norm.data(), d.rmsEps));
  }
  const std::vector<Values> outputs = sublayer(inputs);
  for (std::size_t t = 0; t < streams.size(); ++t) {
    hyperPost(d.streams, d.hidden, outputs[t].data(), posts[t].data(), mixes[t].data(), streams[t].data());
  }
}

}  // namespace

Model::Model(Dimensions dimensions, Weights weights)
    : dimensions_(std::move(dimensions)), weights_(std::move(weights)) {
  if (weights_.layers.size() != static_cast<std::size_t>(dimensions_.layers)) {
    throw std::invalid_argument("the weights have " + std::to_string(weights_.layers.size()) +
                                " layers, not " + std::to_string(dimensions_.layers));
  }
}

Values Model::forward(const std::vector<std::int32_t>& tokens) const {
  const Dimensions& d = dimensions_;
  std::vector<Values> streams;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= d.vocabulary) {
      throw std::out_of_range("token " + std::to_string(token) + " is outside the vocabulary of " +
                              std::to_string(d.vocabulary));
    }
    const auto row = weights_.embedding.begin() + token * d.hidden;
    Values h;
    for (std::int64_t i = 0; i < d.streams; ++i) h.insert(h.end(), row, row + d.hidden);
    streams.push_back(std::move(h));
  }
  for (std::int64_t layer = 0; layer < d.layers; ++layer) {
    const LayerWeights& w = weights_.layers[static_cast<std::size_t>(layer)];
    const std::int32_t ratio = d.ratios.at(static_cast<std::size_t>(layer));
    throughStreams(d, w.hyperAttention, w.attentionNorm, streams,
                   [&](const std::vector<Values>& inputs) { return attentionLayer(d, ratio, w, inputs); });
    throughStreams(d, w.hyperFfn, w.ffnNorm, streams, [&](const std::vector<Values>& inputs) {
      return expertLayer(d, layer, w, tokens, inputs);
    });
  }
  const HyperSite head = siteOf(d, weights_.head);
  Values logits;
  for (const Values& h : streams) {
    Values z(static_cast<std::size_t>(d.hidden));
    hyperHead(head, h.data(), z.data());
    const Values row =
        product(weights_.output, d.vocabulary, normed(z, weights_.outputNorm.data(), d.rmsEps));
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

}  // namespace qk::reference
