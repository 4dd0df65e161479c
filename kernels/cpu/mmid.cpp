// Owns the experts of a layer: the checks, the choice of the way to the sum over slots, and what is counted.
#include "qk/mmid.h"

#include <algorithm>
#include <stdexcept>

#include "cpu/mmid_parts.h"
#include "qk/combine.h"

namespace qk {
namespace mmid {
namespace {

Shape oneShape(const MoeWeights& weights, const Inputs& x) {
  const Shape shape = checkedShape(weights, x);
  if (shape.experts != 1) throw std::invalid_argument("the shared expert is one expert");
  return shape;
}

Rows rowsOf(const Routes& routes) { return {routes.token.data(), routes.weight.data(), routes.bounds}; }

void countGrouped(Execution& ex, const MoeOptions& options, Kernel down) {
  ex.counters.add(Kernel::groupedGateUp);
  ex.counters.add(down);
  if (options.persistentQueue) ex.counters.add(Kernel::persistentQueue);
  if (options.adaptiveTile) ex.counters.add(Kernel::adaptiveTile);
}

}  // namespace

Shape checkedShape(const MoeWeights& weights, const Inputs& x) {
  const PackedMatrix gate = weights.gate->matrix();
  const PackedMatrix up = weights.up->matrix();
  const PackedMatrix down = weights.down->matrix();
  const Shape shape{weights.gate->count(), gate.cols, gate.rows, takesInt8(down.type)};
  if (up.rows != shape.inner || up.cols != shape.hidden || down.rows != shape.hidden ||
      down.cols != shape.inner || weights.up->count() != shape.experts ||
      weights.down->count() != shape.experts) {
    throw std::invalid_argument("gate, up and down of the experts do not have the same E, D and F");
  }
  if (x.index != nullptr)
    throw std::invalid_argument("the experts choose their rows themselves: index must be null");
  return shape;
}

Shape sharedShape(const MoeWeights& weights, const Inputs& x, const Shape& routed) {
  const Shape shape = oneShape(weights, x);
  if (shape.hidden != routed.hidden)
    throw std::invalid_argument("the shared expert and the routed ones differ in D");
  return shape;
}

void reserveGateUp(std::int64_t floats, MoeScratch& scratch) {
  scratch.gate.reserve(static_cast<std::size_t>(floats) * sizeof(float));
  scratch.up.reserve(static_cast<std::size_t>(floats) * sizeof(float));
}

float* reserveRows(AlignedBuffer& buffer, std::int64_t rows, std::int64_t width) {
  buffer.reserve(static_cast<std::size_t>(rows * width) * sizeof(float));
  return buffer.as<float>();
}

MoeTimes liveRows(Execution& ex, MoePlan plan, const MoeOptions& options, const MoeWeights& weights,
                  const Shape& shape, const Inputs& x, const Routes& routes, MoeScratch& scratch, float* y) {
  if (plan == MoePlan::serial) return serialExperts(ex, weights, shape, x, routes, scratch, y);
  const Rows rows = rowsOf(routes);
  countGrouped(ex, options, Kernel::groupedDown);
  MoeTimes times;
  Stopwatch watch;
  groupedGateUp(ex, options, weights, shape, x, rows, scratch, scratch.routed);
  times.gateUpNs = watch.lapNs();
  groupedDown(ex, options, weights, shape, rows, scratch.routed, scratch, y);
  times.downNs = watch.lapNs();
  return times;
}

}  // namespace mmid

using namespace mmid;

namespace {

Shape routedShape(const MoeWeights& weights, const Inputs& x, const Routes& routes) {
  const Shape shape = checkedShape(weights, x);
  if (routes.experts != shape.experts)
    throw std::invalid_argument("routes and weights differ in the number of experts");
  return shape;
}

// Routed rows never lie in memory. The shared expert reads x before the first sum is written, and is added last.
MoeTimes fusedMoe(Execution& ex, const MoeOptions& options, const MoeWeights& weights, const Shape& shape,
                  const MoeWeights* shared, const Inputs& x, const Routes& routes, MoeScratch& scratch,
                  float* out) {
  const Rows rows = rowsOf(routes);
  const std::vector<std::int64_t> everyToken{0, routes.tokens};
  const Rows sharedRows{nullptr, nullptr, everyToken};
  const Shape sharedAs = shared != nullptr ? sharedShape(*shared, x, shape) : Shape{};
  countGrouped(ex, options, Kernel::groupedDownCombine);
  if (shared != nullptr) ex.counters.add(Kernel::sharedExpert);
  MoeTimes times;
  Stopwatch watch;
  groupedGateUp(ex, options, weights, shape, x, rows, scratch, scratch.routed);
  times.gateUpNs = watch.lapNs();
  if (shared != nullptr) groupedGateUp(ex, {}, *shared, sharedAs, x, sharedRows, scratch, scratch.shared);
  times.sharedNs = watch.lapNs();
  groupedDownCombine(ex, options, weights, shape, rows, scratch.routed, routes.tokens, true, scratch, out);
  times.downNs = watch.lapNs();
  if (shared != nullptr) {
    groupedDownCombine(ex, {}, *shared, sharedAs, sharedRows, scratch.shared, routes.tokens, false, scratch,
                             out);
  }
  times.sharedNs += watch.lapNs();
  return times;
}

}  // namespace

std::int64_t MoeScratch::bytes() const {
  std::int64_t total = routed.quantised.bytes() + shared.quantised.bytes();
  for (const AlignedBuffer* buffer :
       {&routed.values, &shared.values, &rows, &sharedRows, &gathered, &gate, &up}) {
    total += static_cast<std::int64_t>(buffer->bytes());
  }
  return total + static_cast<std::int64_t>(items.capacity() * sizeof(Item));
}

MoeTimes moe(Execution& ex, MoePlan plan, const MoeOptions& options, const MoeWeights& weights,
             const MoeWeights* shared, const Inputs& x, const Routes& routes, MoeScratch& scratch, float* out) {
  const Shape shape = routedShape(weights, x, routes);
  if (plan == MoePlan::grouped && options.fusedCombine && routes.slotsAscend) {
    return fusedMoe(ex, options, weights, shape, shared, x, routes, scratch, out);
  }
  if (shared != nullptr) sharedShape(*shared, x, shape);
  float* const y = reserveRows(scratch.rows, routes.live(), shape.hidden);
  MoeTimes times = liveRows(ex, plan, options, weights, shape, x, routes, scratch, y);
  Stopwatch watch;
  float* last = nullptr;
  if (shared != nullptr) {
    last = reserveRows(scratch.sharedRows, routes.tokens, shape.hidden);
    sharedExpert(ex, *shared, x, routes.tokens, scratch, last);
    times.sharedNs = watch.lapNs();
  }
  combine(ex, routes, y, last, shape.hidden, out);
  times.combineNs = watch.lapNs();
  return times;
}

MoeTimes routedExperts(Execution& ex, MoePlan plan, const MoeWeights& weights, const Inputs& x,
                       const Routes& routes, MoeScratch& scratch, float* y, const MoeOptions& options) {
  const Shape shape = routedShape(weights, x, routes);
  const MoeTimes times = liveRows(ex, plan, options, weights, shape, x, routes, scratch, y);
  // Live rows were written in full; what masked routes leave at the end is zero, never what was in the
  // buffer.
  std::fill(y + routes.live() * shape.hidden, y + routes.tokens * routes.slots * shape.hidden, 0.0f);
  return times;
}

void sharedExpert(Execution& ex, const MoeWeights& weights, const Inputs& x, std::int64_t tokens,
                  MoeScratch& scratch, float* y) {
  const Shape shape = oneShape(weights, x);
  const std::vector<std::int64_t> everyToken{0, tokens};
  const Rows rows{nullptr, nullptr, everyToken};
  ex.counters.add(Kernel::sharedExpert);
  groupedGateUp(ex, {}, weights, shape, x, rows, scratch, scratch.shared);
  groupedDown(ex, {}, weights, shape, rows, scratch.shared, scratch, y);
}

}  // namespace qk
