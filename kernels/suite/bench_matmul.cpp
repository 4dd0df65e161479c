// Owns the speed of one expert's gate or up projection, K = 4096 and N = 2048, with weights that come from memory, and
// of the grouped plan against the serial one at the shapes of the presets.
#include <algorithm>
#include <cstring>

#include "../test/random_weights.h"
#include "bench.h"
#include "qk/matmul.h"
#include "qk/mmid.h"
#include "qk/reference_matmul.h"

namespace suite {
namespace {

using qk::Type;

// `count` matrices with the same contents at places of their own.
qk::PackedWeights copies(qk::ThreadPool& pool, qk::test::Random& random, Type type, std::int64_t count,
                         std::int64_t rows, std::int64_t cols) {
  const qk::test::Weights one = qk::test::randomWeights(random, type, rows, cols);
  std::vector<std::byte> all(one.bytes.size() * static_cast<std::size_t>(count));
  for (std::int64_t e = 0; e < count; ++e)
    std::memcpy(all.data() + static_cast<std::size_t>(e) * one.bytes.size(), one.bytes.data(), one.bytes.size());
  return qk::PackedWeights(pool, qk::ExpertMatrices{{type, rows, cols, all.data()}, count});
}

struct Product {
  std::int64_t rows, cols, tokens;
  std::vector<float> x, y;
  qk::Activations quantised;
};

void matmulOf(const Bench& bench, const std::string& op, Type type, std::int64_t rows, std::int64_t cols,
              std::int64_t tokens, qk::PackedWeights& packed, qk::ThreadPool& pool) {
  qk::test::Random random(2);
  qk::Counters counters;
  qk::Execution ex{pool, bench.isa, counters};
  Product p{rows, cols, tokens, qk::test::randomFloats(random, static_cast<std::size_t>(tokens * cols)),
            std::vector<float>(static_cast<std::size_t>(tokens * rows)), {}};
  qk::quantize(ex, p.x.data(), tokens, cols, cols, p.quantised);
  const qk::test::Weights plain = qk::test::randomWeights(random, type, 1, cols);
  const auto blocks = qk::reference::quantize(p.x.data(), cols);
  std::int64_t next = 0;
  volatile float sink = 0;
  const Side fast{[&] {
    qk::matmul(ex, packed.matrix(next), qk::inputs(p.x.data(), cols, &p.quantised), tokens, p.y.data(), rows);
    next = (next + 1) % packed.count();
  }};
  // One output of the plain loop; a call of the fast side makes rows * tokens of them.
  const Side reference{[&] {
    sink = qk::takesInt8(type) ? qk::reference::dotExactOrder(plain.matrix, 0, blocks)
                               : qk::reference::dotExactOrder(plain.matrix, 0, p.x.data());
  }, 1.0 / static_cast<double>(rows * tokens)};
  const std::string shape = std::string(qk::format(type).name) + " " + std::to_string(rows) + " x " +
                            std::to_string(cols) + ", " + std::to_string(tokens) + " rows";
  measure(bench,
          {op, shape, qk::takesInt8(type) ? Bound::int8 : Bound::float32, 2.0 * static_cast<double>(rows * cols * tokens),
           pool.threads(), "reference"},
          {fast, reference});
}

}  // namespace

void benchMatmul(const Bench& bench) {
  qk::test::Random random(1);
  for (const Type type : {Type::ROCmFP2, Type::ROCmFP3, Type::ROCmFP4, Type::ROCmFP4_FAST, Type::Q8_0, Type::Q4_0,
                          Type::Q2_K, Type::MXFP4, Type::F16, Type::F32}) {
    const std::int64_t rows = 2048, cols = 4096;
    if (bench.wants("mmid gate/up")) {
      const qk::Format& f = qk::format(type);
      const std::int64_t bytes = rows * cols / f.weights * f.bytes;
      // More than the caches hold, so that weights come from memory as those of experts do.
      const std::int64_t experts = std::clamp<std::int64_t>((std::int64_t{bench.quick ? 24 : 64} << 20) / bytes, 2, 24);
      qk::PackedWeights packed = copies(bench.many, random, type, experts, rows, cols);
      for (const std::int64_t tokens : {9, 48, 192}) {
        if (bench.quick && tokens == 192 && type != Type::ROCmFP2) continue;
        matmulOf(bench, "mmid gate/up", type, rows, cols, tokens, packed, bench.one);
      }
    }
  }
  if (!bench.wants("dense")) return;
  // Projections of `small`: all threads, one matrix.
  for (const auto& [type, rows, cols] : std::vector<std::tuple<Type, std::int64_t, std::int64_t>>{
           {Type::Q8_0, 1024, 2048}, {Type::Q8_0, 4096, 1024}, {Type::ROCmFP4_FAST, 4096, 1024}, {Type::F16, 512, 2048},
           {Type::F32, 128, 2048}}) {
    qk::PackedWeights packed = copies(bench.many, random, type, 1, rows, cols);
    for (const std::int64_t tokens : {1, 256}) matmulOf(bench, "dense", type, rows, cols, tokens, packed, bench.many);
  }
}

namespace {

struct Preset {
  const char* name;
  std::int64_t experts, slots, hidden, inner;
};

void expertsAt(const Bench& bench, const Preset& preset, const qk::MoeWeights& weights, std::int64_t tokens) {
  qk::test::Random random(1);
  std::vector<std::int32_t> expert;
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<std::int32_t> chosen;
    while (static_cast<std::int64_t>(chosen.size()) < preset.slots) {
      const auto e = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(preset.experts));
      if (std::find(chosen.begin(), chosen.end(), e) == chosen.end()) chosen.push_back(e);
    }
    std::sort(chosen.begin(), chosen.end());
    expert.insert(expert.end(), chosen.begin(), chosen.end());
  }
  const std::vector<float> weight(expert.size(), 0.25f);
  const auto x = qk::test::randomFloats(random, static_cast<std::size_t>(tokens * preset.hidden), 0.01f);
  std::vector<float> out(x.size());
  qk::Counters counters;
  qk::Execution ex{bench.many, bench.isa, counters};
  qk::MoeScratch groupedScratch, serialScratch;
  // What the engine does in a layer: sort, quantise, the experts and their sum.
  const auto plan = [&](qk::MoePlan which, qk::MoeScratch& scratch) {
    return Side{[&, which] {
      qk::Routes routes;
      qk::sortRoutes(expert.data(), weight.data(), tokens, preset.slots, preset.experts, routes);
      qk::Activations quantised;
      qk::quantize(ex, x.data(), tokens, preset.hidden, preset.hidden, quantised);
      qk::moe(ex, which, {}, weights, nullptr, qk::inputs(x.data(), preset.hidden, &quantised), routes, scratch, out.data());
    }};
  };
  const double work = 6.0 * static_cast<double>(tokens * preset.slots * preset.hidden * preset.inner);
  measure(bench,
          {"experts", std::string(preset.name) + ", " + std::to_string(tokens) + " tokens", Bound::int8, work,
           bench.many.threads(), "serial"},
          {plan(qk::MoePlan::grouped, groupedScratch), plan(qk::MoePlan::serial, serialScratch)});
}

}  // namespace

void benchExperts(const Bench& bench) {
  if (!bench.wants("experts")) return;
  for (const Preset& preset : {Preset{"mini", 64, 6, 1024, 512}, Preset{"small", 128, 6, 2048, 1024}}) {
    if (bench.quick && preset.hidden > 1024) continue;
    qk::test::Random random(1);
    const auto experts = [&](Type type, std::int64_t rows, std::int64_t cols) {
      return copies(bench.many, random, type, preset.experts, rows, cols);
    };
    const qk::PackedWeights gate = experts(Type::ROCmFP2, preset.inner, preset.hidden),
                            up = experts(Type::ROCmFP2, preset.inner, preset.hidden),
                            down = experts(Type::ROCmFP3, preset.hidden, preset.inner);
    const qk::MoeWeights weights{&gate, &up, &down, 10.0f};
    const std::vector<std::int64_t> widths = bench.quick ? std::vector<std::int64_t>{32, 401, 2048}
                                                         : std::vector<std::int64_t>{32, 128, 401, 512, 2048, 4096, 8192};
    for (const std::int64_t tokens : widths) expertsAt(bench, preset, weights, tokens);
  }
}

}  // namespace suite
