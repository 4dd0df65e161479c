// Owns what the tests of the experts share: random layers and routings, the plain loops that they are held to,
// and poison for everything that a call may not read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "qk/mmid.h"
#include "qk/reference_matmul.h"
#include "qk/swiglu.h"
#include "random_weights.h"

namespace qk::test {

inline constexpr float poison = std::numeric_limits<float>::quiet_NaN();
inline constexpr float clampLimit = 2.0f;  // low, so that it acts

struct Types {
  Type gate, up, down;
};

struct Layer {
  std::int64_t experts, hidden, inner;
  Weights gate, up, down;

  Layer(Random& random, Types types, std::int64_t e, std::int64_t d, std::int64_t f)
      : experts(e),
        hidden(d),
        inner(f),
        gate(randomWeights(random, types.gate, e * f, d)),
        up(randomWeights(random, types.up, e * f, d)),
        down(randomWeights(random, types.down, e * d, f)) {}

  static ExpertMatrices split(const Weights& w, std::int64_t experts) {
    Matrix first = w.matrix;
    first.rows /= experts;
    return {first, experts};
  }
};

struct Routing {
  std::int64_t tokens, slots;
  std::vector<std::int32_t> expert;
  std::vector<float> weight;
};

inline Routing randomRouting(Random& random, std::int64_t tokens, std::int64_t slots, std::int64_t experts) {
  Routing routing{tokens, slots, {}, {}};
  std::uniform_real_distribution<float> weight(0.05f, 0.6f);
  for (std::int64_t i = 0; i < tokens * slots; ++i) {
    routing.expert.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(experts)));
    routing.weight.push_back(weight(random));
  }
  return routing;
}

inline std::vector<float> plainRow(const Matrix& w, const std::vector<float>& x) {
  std::vector<float> y;
  const auto blocks = reference::quantize(x.data(), w.cols);
  for (std::int64_t r = 0; r < w.rows; ++r) {
    y.push_back(takesInt8(w.type) ? reference::dotExactOrder(w, r, blocks)
                                  : reference::dotExactOrder(w, r, x.data()));
  }
  return y;
}

// One token after the other, one slot after the other, nothing packed and nothing shared. `shared` is one expert
// that every token takes, last; null is none.
inline std::vector<float> plainExperts(const Layer& layer, const Layer* shared, const Routing& routing,
                                       const std::vector<float>& x) {
  std::vector<float> out;
  const auto add = [](const Layer& from, std::int64_t e, float weight, const std::vector<float>& token,
                      std::vector<float>& sum) {
    std::vector<float> gate = plainRow(Layer::split(from.gate, from.experts).expert(e), token);
    const std::vector<float> up = plainRow(Layer::split(from.up, from.experts).expert(e), token);
    cpu::swiglu(Isa::portable, gate.data(), up.data(), from.inner, clampLimit, weight, gate.data());
    const std::vector<float> y = plainRow(Layer::split(from.down, from.experts).expert(e), gate);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += y[i];
  };
  for (std::int64_t t = 0; t < routing.tokens; ++t) {
    const std::vector<float> token(x.begin() + t * layer.hidden, x.begin() + (t + 1) * layer.hidden);
    std::vector<float> sum(static_cast<std::size_t>(layer.hidden), 0.0f);
    for (std::int64_t s = 0; s < routing.slots; ++s) {
      const auto route = static_cast<std::size_t>(t * routing.slots + s);
      if (routing.expert[route] < 0 || routing.weight[route] == 0.0f) continue;
      add(layer, routing.expert[route], routing.weight[route], token, sum);
    }
    if (shared != nullptr) add(*shared, 0, 1.0f, token, sum);
    out.insert(out.end(), sum.begin(), sum.end());
  }
  return out;
}

struct Packed {
  PackedWeights gate, up, down;
  MoeWeights weights() const { return {&gate, &up, &down, clampLimit}; }
};

inline Packed pack(ThreadPool& pool, const Layer& layer) {
  return {PackedWeights(pool, Layer::split(layer.gate, layer.experts)),
          PackedWeights(pool, Layer::split(layer.up, layer.experts)),
          PackedWeights(pool, Layer::split(layer.down, layer.experts))};
}

inline constexpr Types fieldTypes{Type::ROCmFP2, Type::ROCmFP2, Type::ROCmFP3};

// Ascending by expert in every token, as routers emit them; masked ones stay where they are.
inline Routing sortedSlots(Routing routing) {
  for (std::int64_t t = 0; t < routing.tokens; ++t) {
    const auto first = routing.expert.begin() + t * routing.slots;
    std::sort(first, first + routing.slots);
  }
  return routing;
}

// One way to the same bits.
struct Way {
  MoePlan plan = MoePlan::serial;
  MoeOptions options;

  std::string name() const {
    if (plan == MoePlan::serial) return "serial";
    return std::string("grouped") + (options.fusedCombine ? " fused" : "") +
           (options.persistentQueue ? " persistent" : "") + (options.adaptiveTile ? " adaptive" : "");
  }
};

inline std::vector<Way> allWays() {
  std::vector<Way> ways{{}};
  for (const bool fused : {false, true}) {
    for (const bool persistent : {false, true}) {
      for (const bool adaptive : {false, true}) {
        ways.push_back({MoePlan::grouped, {fused, persistent, adaptive}});
      }
    }
  }
  return ways;
}

// Everything that a former call left becomes NaN.
inline void poisonAll(MoeScratch& scratch) {
  for (AlignedBuffer* buffer : {&scratch.routed.values, &scratch.shared.values, &scratch.rows,
                                &scratch.sharedRows, &scratch.gathered, &scratch.gate, &scratch.up}) {
    if (buffer->bytes() > 0) std::memset(buffer->data(), 0xff, buffer->bytes());
  }
  for (Activations* hidden : {&scratch.routed.quantised, &scratch.shared.quantised}) {
    if (hidden->bytes() > 0) {
      std::memset(reinterpret_cast<std::byte*>(hidden->row(0)), 0xff, static_cast<std::size_t>(hidden->bytes()));
    }
  }
}

// The whole layer by one way, into poisoned memory; `shared` may be null.
inline std::vector<float> runMoe(Execution& ex, const Way& way, const Packed& packed, const Packed* shared,
                                 const Routing& routing, const std::vector<float>& x, MoeScratch& scratch) {
  const std::int64_t hidden = packed.gate.matrix().cols;
  Routes routes;
  sortRoutes(routing.expert.data(), routing.weight.data(), routing.tokens, routing.slots, packed.gate.count(),
             routes);
  Activations quantised;
  quantize(ex, x.data(), routing.tokens, hidden, hidden, quantised);
  // Once to grow the scratch, so that all of it can be poisoned before the run that counts.
  std::vector<float> out(x.size(), poison);
  const MoeWeights sharedWeights = shared != nullptr ? shared->weights() : MoeWeights{};
  const auto run = [&] {
    moe(ex, way.plan, way.options, packed.weights(), shared != nullptr ? &sharedWeights : nullptr,
        inputs(x.data(), hidden, &quantised), routes, scratch, out.data());
  };
  run();
  poisonAll(scratch);
  std::fill(out.begin(), out.end(), poison);
  run();
  return out;
}

}  // namespace qk::test
