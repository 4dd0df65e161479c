// Owns the oracle's mixture of experts.
#include <limits>

#include "model_layer.h"
#include "qk/router.h"
#include "qk/swiglu.h"

namespace qk::reference {

namespace {

// y += W2 (silu(min(W1 u, L)) * clamp(W3 u, -L, L) * weight) with matrix number `e` of each.
void addExpert(const Dimensions& d, const Values& gate, const Values& up, const Values& down, std::int64_t e,
               std::int64_t width, double limit, double weight, const Values& u, Values& y) {
  const Values g = product(gate, e * width, width, u.data(), d.hidden);
  const Values v = product(up, e * width, width, u.data(), d.hidden);
  Values m(g.size());
  swiglu(g.data(), v.data(), width, limit, weight, m.data());
  const Values out = product(down, e * d.hidden, d.hidden, m.data(), width);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += out[i];
}

}  // namespace

std::vector<Values> expertLayer(const Dimensions& d, std::int64_t layer, const LayerWeights& w,
                                const std::vector<std::int32_t>& tokens, const std::vector<Values>& inputs) {
  const float clamp = d.swigluClamp.at(static_cast<std::size_t>(layer));
  const double limit = clamp > 0 ? static_cast<double>(clamp) : std::numeric_limits<double>::infinity();
  const RouterShape shape{d.experts, d.expertsUsed, d.expertNormalise, 0};
  std::vector<Values> outputs;
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    const Values& u = inputs[t];
    const Values logits = product(w.router, d.experts, u);
    std::vector<std::int32_t> experts(static_cast<std::size_t>(d.expertsUsed));
    Values weights(experts.size());
    const std::int32_t* hashed =
        w.hashTable.empty() ? nullptr
                            : w.hashTable.data() + static_cast<std::int64_t>(tokens[t]) * d.expertsUsed;
    const double* bias = w.routerBias.empty() ? nullptr : w.routerBias.data();
    route(shape, d.expertScale, logits.data(), bias, hashed, experts.data(), weights.data());
    Values y(u.size(), 0.0);
    for (std::size_t i = 0; i < experts.size(); ++i) {
      addExpert(d, w.gate, w.up, w.down, experts[i], d.expertHidden, limit, weights[i], u, y);
    }
    addExpert(d, w.sharedGate, w.sharedUp, w.sharedDown, 0, d.expertHidden * d.sharedExperts, limit, 1, u,
              y);
    outputs.push_back(std::move(y));
  }
  return outputs;
}

}  // namespace qk::reference
