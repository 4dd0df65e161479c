// Owns the speed of attention at position 8191: the selected rows streamed, against every visible row under a mask and
// against the plain fp64 loop.
#include <cstring>
#include <memory>

#include "../test/random_weights.h"
#include "bench.h"
#include "qk/aligned_buffer.h"
#include "qk/attention.h"

namespace suite {
namespace {

struct Shape {
  const char* name;
  std::int64_t heads, dim, window, selected;
};

constexpr std::int64_t kEntries = 2048;  // 8192 tokens at ratio 4

// One token's operands over some rows; everything that they point to.
struct Operands {
  Operands(const Shape& shape, const float* q, const float* sinks)
      : out(static_cast<std::size_t>(shape.heads * shape.dim)) {
    operands.q = q;
    operands.heads = shape.heads;
    operands.dim = shape.dim;
    operands.sinks = sinks;
    operands.scale = 0.088f;
    operands.out = out.data();
  }
  void finish(qk::AttentionPath path) {
    operands.keys = keys.data();
    operands.n = static_cast<std::int64_t>(keys.size());
    operands.kept = kept.empty() ? nullptr : kept.data();
    scratch.resize(static_cast<std::size_t>(qk::cpu::attentionScratch(path, operands.heads, operands.dim, operands.n)));
  }
  qk::AttentionOperands operands;
  std::vector<const float*> keys;
  std::vector<std::uint8_t> kept;
  std::vector<float> scratch, out;
};

void attentionAt(const Bench& bench, const Shape& shape) {
  qk::test::Random random(1);
  const auto floats = [&](std::int64_t n) { return qk::test::randomFloats(random, static_cast<std::size_t>(n)); };
  const std::vector<float> q = floats(shape.heads * shape.dim), sinks = floats(shape.heads),
                           values = floats((shape.window + kEntries) * shape.dim);
  qk::AlignedBuffer rows(values.size() * sizeof(float));
  std::memcpy(rows.data(), values.data(), rows.bytes() < values.size() * 4 ? rows.bytes() : values.size() * 4);
  Operands streamed(shape, q.data(), sinks.data()), masked(shape, q.data(), sinks.data());
  std::vector<double> wideQ(q.begin(), q.end()), wideSinks(sinks.begin(), sinks.end()), wideRows(values.begin(), values.end()),
      wideOut(q.size());
  std::vector<const double*> wideKeys;
  const std::int64_t stride = kEntries / shape.selected;
  for (std::int64_t j = 0; j < shape.window + kEntries; ++j) {
    const float* row = rows.as<float>() + j * shape.dim;
    const bool kept = j < shape.window || (j - shape.window) % stride == 0;
    masked.keys.push_back(row);
    masked.kept.push_back(kept ? 1 : 0);
    if (!kept) continue;
    streamed.keys.push_back(row);
    wideKeys.push_back(wideRows.data() + j * shape.dim);
  }
  streamed.finish(qk::AttentionPath::streamed);
  masked.finish(qk::AttentionPath::masked);
  const std::int64_t n = streamed.operands.n;
  const Side fast{[&] { qk::cpu::attention(bench.isa, qk::AttentionPath::streamed, streamed.operands, streamed.scratch.data()); }};
  const std::string text = std::string(shape.name) + ", " + std::to_string(n) + " of " +
                           std::to_string(shape.window + kEntries) + " rows";
  const double work = 4.0 * static_cast<double>(n * shape.heads * shape.dim);
  measure(bench, {"attention streamed", text, Bound::float32, work, 1, "mask path"},
          {fast, {[&] { qk::cpu::attention(bench.isa, qk::AttentionPath::masked, masked.operands, masked.scratch.data()); }}});
  measure(bench, {"attention streamed", text, Bound::float32, work, 1, "reference"},
          {fast, {[&] {
             qk::reference::attention(wideQ.data(), wideKeys.data(), n, shape.heads, shape.dim, wideSinks.data(), 0.088,
                                      wideOut.data());
           }}});
  qk::AlignedBuffer tile(static_cast<std::size_t>(qk::cpu::attentionTileFloats(shape.dim, shape.window)) * sizeof(float));
  const auto staged = [&](qk::AttentionPath path) {
    auto made = std::make_shared<Operands>(streamed);
    made->finish(path);
    made->operands.tile = qk::cpu::stageRows(bench.isa, rows.as<float>(), shape.window, shape.dim, tile.as<float>());
    made->operands.tiled = shape.window;
    made->operands.out = made->out.data();
    return Side{[=, &bench] { qk::cpu::attention(bench.isa, path, made->operands, made->scratch.data()); }};
  };
  measure(bench, {"attention staged", text, Bound::float32, work, 1, "streamed"}, {staged(qk::AttentionPath::staged), fast});
  measure(bench, {"attention fast exp", text, Bound::float32, work, 1, "staged"},
          {staged(qk::AttentionPath::fastExp), staged(qk::AttentionPath::staged)});
}

}  // namespace

void benchAttention(const Bench& bench) {
  const bool wanted = bench.wants("attention streamed") || bench.wants("attention staged") || bench.wants("attention fast exp");
  if (!wanted) return;
  attentionAt(bench, {"mini", 16, 128, 128, 64});
  attentionAt(bench, {"small", 16, 256, 128, 128});
}

}  // namespace suite
