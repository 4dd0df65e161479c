// Owns the speed of everything beside matmul and attention, at the shapes of `small` (D 2048, 4 streams).
#include <algorithm>
#include <cmath>

#include "../test/random_weights.h"
#include "bench.h"
#include "qk/activations.h"
#include "qk/combine.h"
#include "qk/compressor.h"
#include "qk/hyper.h"
#include "qk/indexer.h"
#include "qk/math.h"
#include "qk/rms_norm.h"
#include "qk/rope.h"
#include "qk/round_trip.h"
#include "qk/router.h"
#include "qk/routes.h"
#include "qk/swiglu.h"
#include "qk/top_k.h"

namespace suite {
namespace {

constexpr std::int64_t kHidden = 2048, kStreams = 4, kTokens = 64, kDim = 128, kRope = 64;

std::vector<float> normals(std::int64_t n, float sigma = 1) {
  static qk::test::Random random(1);
  return qk::test::randomFloats(random, static_cast<std::size_t>(n), sigma);
}

std::vector<double> wide(const std::vector<float>& values) { return {values.begin(), values.end()}; }

qk::RopeTable table() {
  qk::RopeTable made(std::vector<double>(kRope / 2, 0.1));
  made.extend(256);
  return made;
}

void hyper(const Bench& bench) {
  const std::int64_t n = kStreams, rows = n * (2 + n), nd = n * kHidden;
  const std::vector<float> fn = normals(rows * nd, 0.02f), scale = normals(3), base = normals(rows);
  const std::vector<double> wideFn = wide(fn), wideScale = wide(scale), wideBase = wide(base);
  const qk::HyperSite site{n, kHidden, fn.data(), scale.data(), base.data(), 20, 1e-6f, 1e-6f};
  const qk::reference::HyperSite exact{n, kHidden, wideFn.data(), wideScale.data(), wideBase.data(), 20, 1e-6, 1e-6};
  std::vector<float> h = normals(kTokens * nd), u(kTokens * kHidden), post(kTokens * n), mix(kTokens * n * n);
  std::vector<double> wideH = wide(h), wideU(kHidden), widePost(n), wideMix(n * n);
  const double share = 1.0 / kTokens;
  measure(bench, {"hyper pre", "64 tokens, 4 x 2048", Bound::float32, 2.0 * static_cast<double>((rows + 2) * nd * kTokens), 1, "reference"},
          {{[&] { qk::cpu::hyperPre(bench.isa, site, h.data(), kTokens, u.data(), post.data(), mix.data()); }},
           {[&] { qk::reference::hyperPre(exact, wideH.data(), wideU.data(), widePost.data(), wideMix.data()); }, share}});
  // Small weights, so that repeated calls in place neither grow nor vanish.
  const std::vector<float> smallPost(static_cast<std::size_t>(kTokens * n), 0.1f), evenMix(static_cast<std::size_t>(kTokens * n * n), 0.25f);
  const std::vector<double> wideSmall(static_cast<std::size_t>(n), 0.1), wideEven(static_cast<std::size_t>(n * n), 0.25);
  measure(bench, {"hyper post", "64 tokens, 4 x 2048", Bound::float32, 2.0 * static_cast<double>((n + 1) * nd * kTokens), 1, "reference"},
          {{[&] { qk::cpu::hyperPost(bench.isa, n, kHidden, u.data(), smallPost.data(), evenMix.data(), kTokens, h.data()); }},
           {[&] { qk::reference::hyperPost(n, kHidden, wideU.data(), wideSmall.data(), wideEven.data(), wideH.data()); }, share}});
}

void compressor(const Bench& bench, std::int64_t ratio) {
  const qk::CompressorShape shape{ratio, kDim};
  const std::int64_t tokens = 2 * ratio;
  const std::vector<float> k = normals(tokens * shape.width()), ape = normals(ratio * shape.width());
  std::vector<float> out(kDim);
  std::vector<double> wideK = wide(k), wideOut(kDim);
  qk::CompressorState state(shape);
  state.append(k.data(), k.data(), ape.data(), tokens);
  // exp counted as one operation beside the multiplication and the two additions of a slot.
  const double slots = static_cast<double>(shape.overlaps() ? 2 * ratio : ratio);
  measure(bench, {"compressor", "ratio " + std::to_string(ratio) + ", 128 wide", Bound::float32, 4.0 * slots * kDim, 1, "reference"},
          {{[&] { qk::cpu::compressorPool(bench.isa, state, 1, out.data()); }},
           {[&] { qk::reference::compressorPool(shape, wideK.data(), wideK.data(), 1, wideOut.data()); }}});
}

void indexer(const Bench& bench) {
  constexpr std::int64_t heads = 16, n = 2048, k = 256;
  qk::IndexerKeys keys(kDim, true);
  std::vector<double> wideKeys;
  for (std::int64_t j = 0; j < n; ++j) {
    std::vector<float> key = normals(kDim);
    qk::cpu::roundTripE2m1(bench.isa, key.data(), kDim);
    keys.append(key.data());
    wideKeys.insert(wideKeys.end(), key.begin(), key.end());
  }
  const qk::RopeTable rope = table();
  std::vector<float> q = normals(heads * kDim), scores(n);
  const std::vector<float> w = normals(heads);
  qk::IndexerQuery query;
  qk::cpu::indexerQuery(bench.isa, q.data(), w.data(), heads, kDim, kRope, rope.row(0), true, query);
  const std::vector<double> wideQ = wide(q), wideW = wide(w);
  std::vector<double> exact(n);
  measure(bench, {"indexer scores", "16 heads of 128, 2048 entries", Bound::int8, 2.0 * heads * kDim * n, 1, "reference"},
          {{[&] { qk::cpu::indexerScores(bench.isa, query, keys, n, scores.data()); }},
           {[&] { qk::reference::indexerScores(wideQ.data(), wideW.data(), heads, kDim, wideKeys.data(), n, exact.data()); }}});
  std::vector<std::int32_t> ids(k);
  qk::cpu::indexerScores(bench.isa, query, keys, n, scores.data());
  exact.assign(scores.begin(), scores.end());
  measure(bench, {"top-k", "256 of 2048", Bound::cache, 4.0 * n, 1, "reference"},
          {{[&] { qk::cpu::topK(bench.isa, scores.data(), n, k, ids.data()); }},
           {[&] { qk::reference::topK(exact.data(), n, k, ids.data()); }}});
}

void routing(const Bench& bench) {
  constexpr std::int64_t tokens = 2048, slots = 6, experts = 128;
  qk::Counters counters;
  qk::Execution ex{bench.many, bench.isa, counters};
  std::vector<std::int32_t> expert;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t s = 0; s < slots; ++s) expert.push_back(static_cast<std::int32_t>((t * 37 + s * 19) % experts));
  }
  const std::vector<float> weight(expert.size(), 0.25f);
  qk::Routes routes;
  // `combine` reads them too, also where the measurement of the sort is not wanted.
  qk::sortRoutes(expert.data(), weight.data(), tokens, slots, experts, routes);
  struct Route {
    std::int32_t expert;
    std::int64_t route;
  };
  std::vector<Route> plain(expert.size());
  measure(bench, {"route sort", "2048 tokens x 6 of 128", Bound::cache, 28.0 * static_cast<double>(expert.size()), 1, "stable sort"},
          {{[&] { qk::sortRoutes(expert.data(), weight.data(), tokens, slots, experts, routes); }},
           {[&] {
             for (std::size_t i = 0; i < expert.size(); ++i) plain[i] = {expert[i], static_cast<std::int64_t>(i)};
             std::stable_sort(plain.begin(), plain.end(), [](const Route& a, const Route& b) { return a.expert < b.expert; });
           }}});
  std::vector<float> y(static_cast<std::size_t>(tokens * slots * kHidden), 0.5f), out(static_cast<std::size_t>(tokens * kHidden)), plainOut(out.size());
  measure(bench, {"combine", "2048 tokens x 6, 2048 wide", Bound::memory, 4.0 * static_cast<double>(y.size() + out.size()), bench.many.threads(), "reference"},
          {{[&] { qk::combine(ex, routes, y.data(), nullptr, kHidden, out.data()); }},
           {[&] {
             for (std::int64_t t = 0; t < tokens; ++t) {
               for (std::int64_t i = 0; i < kHidden; ++i) {
                 float sum = 0;
                 for (std::int64_t s = 0; s < slots; ++s)
                   sum += y[static_cast<std::size_t>(routes.packedRow[static_cast<std::size_t>(t * slots + s)] * kHidden + i)];
                 plainOut[static_cast<std::size_t>(t * kHidden + i)] = sum;
               }
             }
           }}});
  const std::vector<float> x = normals(tokens * kHidden);
  qk::Activations quantised;
  measure(bench, {"quantise", "2048 tokens, 2048 wide", Bound::memory, 5.5 * static_cast<double>(x.size()), bench.many.threads(), ""},
          {{[&] { qk::quantize(ex, x.data(), tokens, kHidden, kHidden, quantised); }}});
  const qk::RouterShape shape{256, 6, true, 1.5f};
  const std::vector<float> logits = normals(256), bias = normals(256);
  const std::vector<double> wideLogits = wide(logits), wideBias = wide(bias);
  std::vector<float> scratch(512), weights(6);
  std::vector<double> wideWeights(6);
  std::vector<std::int32_t> chosen(6);
  measure(bench, {"router", "6 of 256, one token", Bound::cache, 4.0 * 2 * 256, 1, "reference"},
          {{[&] { qk::cpu::route(bench.isa, shape, logits.data(), bias.data(), nullptr, scratch.data(), chosen.data(), weights.data()); }},
           {[&] { qk::reference::route(shape, 1.5, wideLogits.data(), wideBias.data(), nullptr, chosen.data(), wideWeights.data()); }}});
}

void elements(const Bench& bench) {
  const std::int64_t rows = 4096;
  const std::vector<float> x = normals(rows * kHidden), weight = normals(kHidden);
  std::vector<float> y(x.size());
  const std::vector<double> wideRow(x.begin(), x.begin() + kHidden), wideWeight = wide(weight);
  std::vector<double> wideOut(kHidden);
  const double bytes = 8.0 * static_cast<double>(x.size());
  measure(bench, {"rms norm", "4096 rows of 2048", Bound::memory, bytes, 1, "reference"},
          {{[&] { qk::cpu::rmsNorm(bench.isa, x.data(), rows, kHidden, weight.data(), 1e-6f, y.data()); }},
           {[&] { qk::reference::rmsNorm(wideRow.data(), 1, kHidden, wideWeight.data(), 1e-6, wideOut.data()); }, 1.0 / static_cast<double>(rows)}});
  measure(bench, {"swiglu", "4 M values", Bound::memory, 12.0 * static_cast<double>(x.size() / 2), 1, "reference"},
          {{[&] { qk::cpu::swiglu(bench.isa, x.data(), x.data() + x.size() / 2, static_cast<std::int64_t>(x.size() / 2), 10, 0.5f, y.data()); }},
           {[&] { qk::reference::swiglu(wideRow.data(), wideWeight.data(), kHidden, 10, 0.5, wideOut.data()); }, 2.0 / static_cast<double>(rows)}});
  measure(bench, {"exp", "2048 values", Bound::float32, 2.0 * 8 * kHidden, 1, "libm"},
          {{[&] { qk::cpu::exp(bench.isa, x.data(), kHidden, y.data()); }},
           {[&] {
             for (std::int64_t i = 0; i < kHidden; ++i) y[static_cast<std::size_t>(i)] = std::exp(x[static_cast<std::size_t>(i)]);
           }}});
  const qk::RopeTable rope = table();
  std::vector<float> heads = normals(32 * 256);
  std::vector<double> wideHeads = wide(heads);
  const std::vector<double> frequencies(kRope / 2, 0.1);
  measure(bench, {"rope", "32 heads, 64 dimensions, one token", Bound::cache, 8.0 * 32 * kRope, 1, "reference"},
          {{[&] { qk::cpu::rope(bench.isa, heads.data(), 32, 256, kRope, rope.row(3), qk::cpu::Rotation::forward); }},
           {[&] { qk::reference::rope(wideHeads.data(), 32, 256, frequencies, 3, false); }}});
  std::vector<float> keys = normals(192), same = keys;
  std::vector<double> wideKeys = wide(keys);
  measure(bench, {"round trip E4M3", "192 values", Bound::cache, 8.0 * 192, 1, "reference"},
          {{[&] { qk::cpu::roundTripE4m3(bench.isa, keys.data(), 192); }},
           {[&] { qk::reference::roundTripE4m3(wideKeys.data(), 192); }}});
}

}  // namespace

void benchOperations(const Bench& bench) {
  // Prepared only when wanted, because most of it is memory to fill.
  const auto any = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return bench.wants(name); });
  };
  if (any({"hyper pre", "hyper post"})) hyper(bench);
  if (any({"compressor"})) {
    compressor(bench, 4);
    compressor(bench, 128);
  }
  if (any({"indexer scores", "top-k"})) indexer(bench);
  if (any({"route sort", "combine", "quantise", "router"})) routing(bench);
  if (any({"rms norm", "swiglu", "exp", "rope", "round trip E4M3"})) elements(bench);
}

}  // namespace suite
