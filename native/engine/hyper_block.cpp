#include "hyper_block.h"

#include "qk/rms_norm.h"

namespace qe {
namespace {

// The kernel is fastest for multiples of this.
constexpr std::int64_t kTokensPerItem = 16;

// pre of tokens [begin, end) and the norm of what it gives.
template <typename Vectors>
void enterTokens(const Run& run, const qk::HyperSite& site, const std::vector<float>& norm, const float* streams,
                 const Vectors& to, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = site.streams;
  const qk::Isa isa = run.execution.isa;
  float* u = to.input + begin * site.hidden;
  qk::cpu::hyperPre(isa, site, streams + begin * n * site.hidden, end - begin, u, to.post + begin * n,
                    to.mix + begin * n * n);
  qk::cpu::rmsNorm(isa, u, end - begin, site.hidden, norm.data(), site.rmsEps, u);
}

template <typename Vectors>
void leaveTokens(const Run& run, const float* output, const Vectors& from, float* streams, std::int64_t begin,
                 std::int64_t end) {
  const std::int64_t n = run.dimensions.streams;
  const std::int64_t hidden = run.dimensions.hidden;
  qk::cpu::hyperPost(run.execution.isa, n, hidden, output + begin * hidden, from.post + begin * n,
                     from.mix + begin * n * n, end - begin, streams + begin * n * hidden);
}

}  // namespace

HyperBlock::Vectors HyperBlock::take(const Run& run) {
  const std::int64_t n = run.dimensions.streams;
  return {input_.take(run.tokens * run.dimensions.hidden), post_.take(run.tokens * n), mix_.take(run.tokens * n * n)};
}

float* HyperBlock::enter(const Run& run, const HyperWeights& weights, const std::vector<float>& norm,
                         const float* streams) {
  const Stage outer = run.clock.enter(Stage::Hyper);
  const qk::HyperSite site = hyperSite(run.dimensions, weights);
  const Vectors vectors = take(run);
  forTokens(run.execution.pool, run.tokens, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    enterTokens(run, site, norm, streams, vectors, begin, end);
  });
  run.clock.enter(outer);
  return vectors.input;
}

void HyperBlock::leave(const Run& run, const float* output, float* streams) {
  const Stage outer = run.clock.enter(Stage::Hyper);
  const Vectors vectors = take(run);
  forTokens(run.execution.pool, run.tokens, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    leaveTokens(run, output, vectors, streams, begin, end);
  });
  run.clock.enter(outer);
}

float* HyperBlock::cross(const Run& run, const float* output, const HyperWeights& next,
                         const std::vector<float>& nextNorm, float* streams) {
  const Stage outer = run.clock.enter(Stage::Hyper);
  const qk::HyperSite site = hyperSite(run.dimensions, next);
  const Vectors vectors = take(run);
  forTokens(run.execution.pool, run.tokens, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    // `output` may be where the next input goes, and post and mix are replaced: a token's are read before.
    leaveTokens(run, output, vectors, streams, begin, end);
    enterTokens(run, site, nextNorm, streams, vectors, begin, end);
  });
  run.clock.enter(outer);
  return vectors.input;
}

const float* HyperBlock::head(const Run& run, const HyperWeights& weights, const std::vector<float>& norm,
                              const float* streams, std::int64_t tokens) {
  const std::int64_t hidden = run.dimensions.hidden;
  const std::int64_t width = run.dimensions.streams * hidden;
  const qk::HyperSite site = hyperSite(run.dimensions, weights);
  float* merged = input_.take(tokens * hidden);
  forTokens(run.execution.pool, tokens, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    const qk::Isa isa = run.execution.isa;
    float* z = merged + begin * hidden;
    qk::cpu::hyperHead(isa, site, streams + begin * width, end - begin, z);
    qk::cpu::rmsNorm(isa, z, end - begin, hidden, norm.data(), site.rmsEps, z);
  });
  return merged;
}

}  // namespace qe
