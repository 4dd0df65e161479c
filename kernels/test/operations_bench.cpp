// A small program, not a test: CPU time of each operation at the shapes of the `mini` preset, per token and
// for 2048 tokens of all its layers. Usage: operations_bench [portable|avx2|avx512]
#include <ctime>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "qk/attention.h"
#include "qk/compressor.h"
#include "qk/hyper.h"
#include "qk/indexer.h"
#include "qk/rms_norm.h"
#include "qk/rope.h"
#include "qk/round_trip.h"
#include "qk/router.h"
#include "qk/top_k.h"

namespace {

using Floats = std::vector<float>;

constexpr std::int64_t kHidden = 1024, kStreams = 4, kHeads = 16, kDim = 128, kRope = 64, kTokens = 64;

Floats normals(std::int64_t n, float sigma = 1) {
  static std::mt19937_64 engine(1);
  std::normal_distribution<float> normal(0, sigma);
  Floats values(static_cast<std::size_t>(n));
  for (float& value : values) value = normal(engine);
  return values;
}

double cpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// `perRun` tokens a run, `sites` times per token in the model; flops per token at one site.
template <typename Run>
void measure(const char* name, double perRun, double sites, double flops, Run run) {
  double best = 1e9;
  for (int repeat = 0; repeat < 6; ++repeat) {
    int runs = 0;
    const double start = cpuSeconds();
    double elapsed = 0;
    do {
      for (int i = 0; i < 50; ++i) run();  // reading the clock costs as much as a small operation
      runs += 50;
      elapsed = cpuSeconds() - start;
    } while (elapsed < 0.02);
    best = std::min(best, elapsed / runs);
  }
  const double us = 1e6 * best / perRun;
  std::printf("%-22s %9.3f us/token %8.1f GFLOP/s %8.1f ms/2048 tokens\n", name, us, flops / us * 1e-3,
              us * sites * 2048 * 1e-3);
}

void hyper(qk::Isa isa) {
  const Floats fn = normals(24 * kStreams * kHidden, 0.02f), scale = normals(3), base = normals(24);
  const qk::HyperSite site{kStreams, kHidden, fn.data(), scale.data(), base.data(), 20, 1e-6f, 1e-6f};
  Floats h = normals(kTokens * kStreams * kHidden), u(kTokens * kHidden), post(kTokens * 4),
         mix(kTokens * 16);
  measure("hyperPre", kTokens, 12, 2.0 * 24 * 4096,
          [&] { qk::cpu::hyperPre(isa, site, h.data(), kTokens, u.data(), post.data(), mix.data()); });
  measure("hyperPost", kTokens, 12, 2.0 * 5 * 4096, [&] {
    qk::cpu::hyperPost(isa, kStreams, kHidden, u.data(), post.data(), mix.data(), kTokens, h.data());
  });
}

void attention(qk::Isa isa) {
  constexpr std::int64_t n = 200;
  const Floats q = normals(kHeads * kDim), rows = normals((2 * n + 1) * kDim), sinks = normals(kHeads);
  std::vector<const float*> keys;
  const float* aligned =
      rows.data() + (64 - reinterpret_cast<std::uintptr_t>(rows.data()) % 64) % 64 / sizeof(float);
  for (std::int64_t j = 0; j < n; ++j) keys.push_back(aligned + (j * 7 % (2 * n)) * kDim);
  constexpr qk::AttentionPath path = qk::AttentionPath::streamed;
  Floats scratch(static_cast<std::size_t>(qk::cpu::attentionScratch(path, kHeads, kDim, n))), out(q.size());
  qk::AttentionOperands operands;
  operands.q = q.data();
  operands.keys = keys.data();
  operands.n = n;
  operands.heads = kHeads;
  operands.dim = kDim;
  operands.sinks = sinks.data();
  operands.scale = 0.088f;
  operands.out = out.data();
  measure("attention, 200 keys", 1, 6, 4.0 * n * kHeads * kDim,
          [&] { qk::cpu::attention(isa, path, operands, scratch.data()); });
}

void compressor(qk::Isa isa, std::int64_t ratio) {
  const qk::CompressorShape shape{ratio, kDim};
  const std::int64_t tokens = 2 * ratio;
  const Floats k = normals(tokens * shape.width()), ape = normals(ratio * shape.width()),
               norm = normals(kDim);
  qk::RopeTable table(std::vector<double>(kRope / 2, 0.1));
  table.extend(256);
  const qk::cpu::CompressorFinish finish{norm.data(), 1e-6f, kRope, qk::cpu::EntryKind::attention, true};
  qk::CompressorState state(shape);
  Floats out(kDim);
  measure(ratio == 4 ? "compressor 4" : "compressor 128", static_cast<double>(tokens), ratio == 4 ? 4 : 2, 0,
          [&] {
            state.append(k.data(), k.data(), ape.data(), tokens);
            qk::cpu::compressorEntry(isa, state, state.entries() - 2, finish, table.row(0), out.data());
            qk::cpu::compressorEntry(isa, state, state.entries() - 1, finish, table.row(0), out.data());
            state.drop();
          });
}

void indexer(qk::Isa isa) {
  constexpr std::int64_t heads = 8, n = 256;
  qk::IndexerKeys keys(128, true);
  for (std::int64_t j = 0; j < n; ++j) {
    Floats key = normals(128);
    qk::cpu::roundTripE2m1(isa, key.data(), 128);
    keys.append(key.data());
  }
  qk::RopeTable table(std::vector<double>(kRope / 2, 0.1));
  table.extend(1);
  const Floats projected = normals(heads * 128), w = normals(heads);
  Floats q, scores(n);
  qk::IndexerQuery query;
  std::vector<std::int32_t> rows(64);
  measure("indexerQuery", 1, 2, 0, [&] {
    q = projected;
    qk::cpu::indexerQuery(isa, q.data(), w.data(), heads, 128, kRope, table.row(0), true, query);
  });
  measure("indexerScores, 256", 1, 2, 2.0 * heads * 128 * n,
          [&] { qk::cpu::indexerScores(isa, query, keys, n, scores.data()); });
  measure("topK 64 of 256", 1, 2, 0,
          [&] { qk::cpu::topK(isa, scores.data(), n, 64, rows.data()); });
}

void small(qk::Isa isa) {
  Floats x = normals(kHeads * kDim), wide = normals(kHidden), weight = normals(kHidden), out(kHidden);
  qk::RopeTable table(std::vector<double>(kRope / 2, 0.1));
  table.extend(2);
  measure("rmsNorm 1024", 1, 13, 0,
          [&] { qk::cpu::rmsNorm(isa, wide.data(), 1, kHidden, weight.data(), 1e-6f, out.data()); });
  measure("rmsNorm 16 x 128", 1, 6, 0,
          [&] { qk::cpu::rmsNorm(isa, x.data(), kHeads, kDim, nullptr, 1e-6f, x.data()); });
  measure("rope 16 x 64", 1, 12, 0, [&] {
    qk::cpu::rope(isa, x.data(), kHeads, kDim, kRope, table.row(1), qk::cpu::Rotation::forward);
  });
  measure("roundTripE4m3 64", 1, 6, 0, [&] { qk::cpu::roundTripE4m3(isa, x.data(), 64); });
  const qk::RouterShape shape{64, 6, true, 1.5f};
  const Floats logits = normals(64), bias = normals(64);
  Floats scratch(128), weights(6);
  std::vector<std::int32_t> experts(6);
  measure("route 6 of 64", 1, 6, 0, [&] {
    qk::cpu::route(isa, shape, logits.data(), bias.data(), nullptr, scratch.data(), experts.data(),
                   weights.data());
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : std::string(qk::name(qk::bestIsa()));
  for (const qk::Isa isa : {qk::Isa::portable, qk::Isa::avx2, qk::Isa::avx512}) {
    if (qk::name(isa) != wanted || !qk::supported(isa)) continue;
    hyper(isa);
    attention(isa);
    compressor(isa, 4);
    compressor(isa, 128);
    indexer(isa);
    small(isa);
    return 0;
  }
  std::fprintf(stderr, "this CPU or build has no instruction set '%s'\n", wanted.c_str());
  return 1;
}
