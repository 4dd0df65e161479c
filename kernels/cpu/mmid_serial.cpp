// Owns the serial plan: the launch sequence of one expert, expert after expert. It is the baseline that the
// grouped plan is compared with, so each step is as good as such code reasonably is.
//
// Six forks and joins an active expert, 768 a layer of 128. Beyond the bytes of mmid_grouped.cpp, a route's inputs are
// copied, its gate and up are written and read as floats (16 KB in `small`), and its row of the down projection is
// written, and read by `combine`. Flops and weights are the same. Reached: see mmid_grouped.cpp.
#include <cstring>
#include <stdexcept>

#include "cpu/mmid_parts.h"
#include "qk/swiglu.h"

namespace qk::mmid {
namespace {

// Copies an expert's inputs side by side: int8 when gate or up take it, else fp32.
Inputs gatherInputs(Execution& ex, const MoeWeights& weights, const Shape& shape, const Inputs& x,
                    const std::int32_t* token, std::int64_t count, MoeScratch& scratch) {
  const bool wantsInt8 = takesInt8(weights.gate->matrix().type) || takesInt8(weights.up->matrix().type);
  const bool wantsFloat = !takesInt8(weights.gate->matrix().type) || !takesInt8(weights.up->matrix().type);
  const std::int64_t blocks = (shape.hidden + activationBlock - 1) / activationBlock;
  const std::size_t blockBytes = static_cast<std::size_t>(blocks) * sizeof(ActivationBlock);
  const std::size_t valueBytes = static_cast<std::size_t>(shape.hidden) * sizeof(float);
  if ((wantsInt8 && x.blocks == nullptr) || (wantsFloat && x.values == nullptr)) {
    throw std::invalid_argument("the experts' weights take a form of the activations that was not given");
  }
  scratch.gathered.reserve(static_cast<std::size_t>(count) * (blockBytes + valueBytes));
  auto* const q = scratch.gathered.as<ActivationBlock>();
  auto* const values = reinterpret_cast<float*>(q + count * blocks);
  ex.pool.run(count, [&](std::int64_t r, int) {
    if (wantsInt8) std::memcpy(q + r * blocks, x.blocks + token[r] * x.blockStride, blockBytes);
    if (wantsFloat) std::memcpy(values + r * shape.hidden, x.values + token[r] * x.valueStride, valueBytes);
  });
  return {values, shape.hidden, q, blocks, nullptr};
}

// gather, gate, up, SwiGLU, quantise, down.
void serialExpert(Execution& ex, const MoeWeights& weights, const Shape& shape, const Inputs& x,
                  const Routes& routes, std::int64_t expert, MoeScratch& scratch, float* y, MoeTimes& times) {
  const std::int64_t first = routes.bounds[static_cast<std::size_t>(expert)];
  const std::int64_t count = routes.rowsOf(expert);
  ex.counters.add(Kernel::serialExpert);
  Stopwatch watch;
  const Inputs gathered = gatherInputs(ex, weights, shape, x, routes.token.data() + first, count, scratch);
  reserveGateUp(count * shape.inner, scratch);
  float* const gate = scratch.gate.as<float>();
  float* const up = scratch.up.as<float>();
  matmul(ex, weights.gate->matrix(expert), gathered, count, gate, shape.inner);
  matmul(ex, weights.up->matrix(expert), gathered, count, up, shape.inner);
  ex.pool.run(count, [&](std::int64_t r, int) {
    const std::int64_t at = r * shape.inner;
    cpu::swiglu(ex.isa, gate + at, up + at, shape.inner, weights.clamp,
                routes.weight[static_cast<std::size_t>(first + r)], gate + at);
  });
  Activations& quantised = scratch.routed.quantised;
  if (shape.downTakesInt8) quantize(ex, gate, count, shape.inner, shape.inner, quantised);
  times.gateUpNs += watch.lapNs();
  const Inputs hidden = inputs(gate, shape.inner, shape.downTakesInt8 ? &quantised : nullptr);
  matmul(ex, weights.down->matrix(expert), hidden, count, y + first * shape.hidden, shape.hidden);
  times.downNs += watch.lapNs();
}

}  // namespace

MoeTimes serialExperts(Execution& ex, const MoeWeights& weights, const Shape& shape, const Inputs& x,
                       const Routes& routes, MoeScratch& scratch, float* y) {
  MoeTimes times;
  for (std::int64_t e = 0; e < shape.experts; ++e) {
    if (routes.rowsOf(e) > 0) serialExpert(ex, weights, shape, x, routes, e, scratch, y, times);
  }
  return times;
}

}  // namespace qk::mmid
