// Owns the two plans of the experts. Both call the same tile kernels on the same rows, so that they differ in
// launches, memory traffic and balance, and in no bit.
#include "qk/mmid.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "cpu/tile_matmul.h"
#include "qk/swiglu.h"

namespace qk {
namespace {

constexpr std::int64_t blockRows =
    activationBlock;  // weight rows an item: requantising owns whole blocks of F
constexpr std::int64_t blockTiles = blockRows / tileRows;
constexpr std::int64_t rowsPerItem = 256;  // routes
constexpr std::int64_t rowsPerPass = 64;   // routes whose gate and up blocks are held at once

struct Shape {
  std::int64_t experts, hidden, inner;  // E, D, F
  bool downTakesInt8;
};

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

// Which rows an expert takes: packed row r reads token[r] (r itself when null) and multiplies by weight[r] (1
// when null).
struct Rows {
  const std::int32_t* token = nullptr;
  const float* weight = nullptr;
};

class Stopwatch {
 public:
  std::int64_t lapNs() {
    const auto now = std::chrono::steady_clock::now();
    const auto lap = std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_);
    last_ = now;
    return lap.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void addItems(std::int64_t expert, std::int64_t firstRow, std::int64_t lastRow, std::int64_t weightRows,
              std::vector<MoeScratch::Item>& items) {
  const std::int64_t blocks = (weightRows + blockRows - 1) / blockRows;
  for (std::int64_t row = firstRow; row < lastRow; row += rowsPerItem) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      items.push_back({expert, row, std::min(rowsPerItem, lastRow - row), block});
    }
  }
}

// gate and up of one block of F for some rows, SwiGLU and route weight, and the block's form for down.
void gateUpItem(const Execution& ex, const MoeWeights& weights, const Shape& shape, const Inputs& x,
                const Rows& rows, const MoeScratch::Item& item, int thread, MoeScratch& scratch) {
  Inputs routed = x;
  routed.index = rows.token;
  const TileMatmul gate(ex.isa, weights.gate->matrix(item.expert), routed);
  const TileMatmul up(ex.isa, weights.up->matrix(item.expert), routed);
  const auto requantise = QK_PICK(ex.isa, quantizeRow);
  const std::int64_t firstTile = item.block * blockTiles;
  const std::int64_t width = std::min(blockRows, shape.inner - item.block * blockRows);
  const std::int64_t lastTile = firstTile + (width + tileRows - 1) / tileRows;
  float* const g = scratch.gate.as<float>() + thread * rowsPerPass * blockRows;
  float* const u = scratch.up.as<float>() + thread * rowsPerPass * blockRows;
  const std::int64_t end = item.firstRow + item.rows;
  for (std::int64_t first = item.firstRow; first < end; first += rowsPerPass) {
    const std::int64_t count = std::min(rowsPerPass, end - first);
    gate.run(firstTile, lastTile, first, count, g, blockRows);
    up.run(firstTile, lastTile, first, count, u, blockRows);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = first + i;
      const float weight = rows.weight != nullptr ? rows.weight[row] : 1.0f;
      float* const m = shape.downTakesInt8
                           ? g + i * blockRows
                           : scratch.hiddenValues.as<float>() + row * shape.inner + item.block * blockRows;
      cpu::swiglu(ex.isa, g + i * blockRows, u + i * blockRows, width, weights.clamp, weight, m);
      if (shape.downTakesInt8) requantise(m, width, scratch.hidden.row(row) + item.block);
    }
  }
}

Inputs hiddenInputs(const Shape& shape, MoeScratch& scratch) {
  return shape.downTakesInt8 ? inputs(nullptr, shape.inner, &scratch.hidden)
                             : inputs(scratch.hiddenValues.as<float>(), shape.inner, nullptr);
}

void reserveHidden(const Shape& shape, std::int64_t rows, MoeScratch& scratch) {
  if (shape.downTakesInt8) {
    scratch.hidden.resize(rows, shape.inner);
  } else {
    scratch.hiddenValues.reserve(static_cast<std::size_t>(rows * shape.inner) * sizeof(float));
  }
}

void reserveGateUp(std::int64_t floats, MoeScratch& scratch) {
  scratch.gate.reserve(static_cast<std::size_t>(floats) * sizeof(float));
  scratch.up.reserve(static_cast<std::size_t>(floats) * sizeof(float));
}

// Two queues over the ranges bounds[e] .. bounds[e + 1] of every expert.
MoeTimes groupedExperts(Execution& ex, const MoeWeights& weights, const Shape& shape, const Inputs& x,
                        const Rows& rows, const std::vector<std::int64_t>& bounds, MoeScratch& scratch,
                        float* y) {
  MoeTimes times;
  Stopwatch watch;
  reserveHidden(shape, bounds.back(), scratch);
  reserveGateUp(ex.pool.threads() * rowsPerPass * blockRows, scratch);
  std::vector<MoeScratch::Item>& items = scratch.items;
  const auto collect = [&](std::int64_t weightRows) {
    items.clear();
    for (std::int64_t e = 0; e < shape.experts; ++e) addItems(e, bounds[e], bounds[e + 1], weightRows, items);
    return static_cast<std::int64_t>(items.size());
  };
  ex.pool.run(collect(shape.inner), [&](std::int64_t i, int thread) {
    gateUpItem(ex, weights, shape, x, rows, items[static_cast<std::size_t>(i)], thread, scratch);
  });
  times.gateUpNs = watch.lapNs();
  const Inputs hidden = hiddenInputs(shape, scratch);
  ex.pool.run(collect(shape.hidden), [&](std::int64_t i, int) {
    const MoeScratch::Item& item = items[static_cast<std::size_t>(i)];
    const PackedMatrix down = weights.down->matrix(item.expert);
    const std::int64_t firstTile = item.block * blockTiles;
    TileMatmul(ex.isa, down, hidden)
        .run(firstTile, std::min(down.tileCount(), firstTile + blockTiles), item.firstRow, item.rows,
             y + item.firstRow * shape.hidden + item.block * blockRows, shape.hidden);
  });
  times.downNs = watch.lapNs();
  return times;
}

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

// The launch sequence of one expert: gather, gate, up, SwiGLU, quantise, down.
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
  if (shape.downTakesInt8) quantize(ex, gate, count, shape.inner, shape.inner, scratch.hidden);
  times.gateUpNs += watch.lapNs();
  const Inputs hidden = inputs(gate, shape.inner, shape.downTakesInt8 ? &scratch.hidden : nullptr);
  matmul(ex, weights.down->matrix(expert), hidden, count, y + first * shape.hidden, shape.hidden);
  times.downNs += watch.lapNs();
}

}  // namespace

MoeTimes routedExperts(Execution& ex, MoePlan plan, const MoeWeights& weights, const Inputs& x,
                       const Routes& routes, MoeScratch& scratch, float* y) {
  const Shape shape = checkedShape(weights, x);
  if (routes.experts != shape.experts)
    throw std::invalid_argument("routes and weights differ in the number of experts");
  MoeTimes times;
  if (plan == MoePlan::grouped) {
    ex.counters.add(Kernel::groupedGateUp);
    ex.counters.add(Kernel::groupedDown);
    times = groupedExperts(ex, weights, shape, x, {routes.token.data(), routes.weight.data()}, routes.bounds,
                           scratch, y);
  } else {
    for (std::int64_t e = 0; e < shape.experts; ++e) {
      if (routes.rowsOf(e) > 0) serialExpert(ex, weights, shape, x, routes, e, scratch, y, times);
    }
  }
  // Live rows were written in full; what masked routes leave at the end is zero, never what was in the
  // buffer.
  std::fill(y + routes.live() * shape.hidden, y + routes.tokens * routes.slots * shape.hidden, 0.0f);
  return times;
}

void sharedExpert(Execution& ex, const MoeWeights& weights, const Inputs& x, std::int64_t tokens,
                  MoeScratch& scratch, float* y) {
  const Shape shape = checkedShape(weights, x);
  if (shape.experts != 1) throw std::invalid_argument("the shared expert is one expert");
  ex.counters.add(Kernel::sharedExpert);
  groupedExperts(ex, weights, shape, x, {}, {0, tokens}, scratch, y);
}

}  // namespace qk
