#include "hyper_block.h"

#include "qk/rms_norm.h"

namespace qe {
namespace {

// The kernel is fastest for multiples of this.
constexpr std::int64_t kTokensPerItem = 16;

}  // namespace

float* HyperBlock::enter(const Run& run, const HyperWeights& weights, const std::vector<float>& norm,
                         const float* streams) {
  const Stage outer = run.clock.enter(Stage::Hyper);
  const std::int64_t n = run.dimensions.streams;
  const std::int64_t hidden = run.dimensions.hidden;
  const qk::HyperSite site = hyperSite(run.dimensions, weights);
  float* input = input_.take(run.tokens * hidden);
  float* post = post_.take(run.tokens * n);
  float* mix = mix_.take(run.tokens * n * n);
  forTokens(run.execution.pool, run.tokens, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    const qk::Isa isa = run.execution.isa;
    float* u = input + begin * hidden;
    qk::cpu::hyperPre(isa, site, streams + begin * n * hidden, end - begin, u, post + begin * n,
                      mix + begin * n * n);
    qk::cpu::rmsNorm(isa, u, end - begin, hidden, norm.data(), site.rmsEps, u);
  });
  run.clock.enter(outer);
  return input;
}

void HyperBlock::leave(const Run& run, const float* output, float* streams) {
  const Stage outer = run.clock.enter(Stage::Hyper);
  const std::int64_t n = run.dimensions.streams;
  const std::int64_t hidden = run.dimensions.hidden;
  const float* post = post_.take(run.tokens * n);
  const float* mix = mix_.take(run.tokens * n * n);
  forTokens(run.execution.pool, run.tokens, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    qk::cpu::hyperPost(run.execution.isa, n, hidden, output + begin * hidden, post + begin * n,
                       mix + begin * n * n, end - begin, streams + begin * n * hidden);
  });
  run.clock.enter(outer);
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
