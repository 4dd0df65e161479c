#include "forward.h"

#include <algorithm>

#include "qk/embed.h"

namespace qe {
namespace {

constexpr std::int64_t kTokensPerItem = 32;
constexpr std::int64_t kFewestSliceTokens = 256;

constexpr std::int64_t kShortContext = 4096;

// The most tokens that go through the layers together. Experts want many rows, and their weights are read once a
// slice; the workspace of a slice is bounded by a sixteenth of the file. Counted for the default plan, so that all
// plans run on the same slices.
std::int64_t mostTokens(const Model& model) {
  const qk::Dimensions& d = model.dimensions();
  const std::int64_t streams = d.streams * d.hidden * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t perToken = streams + HyperBlock::bytesPerToken(d) + AttentionBlock::bytesPerToken(d) +
                                ExpertBlock::bytesPerToken(model, Switches{});
  const std::int64_t fitting = model.fileBytes() / 16 / perToken;
  return std::max(kFewestSliceTokens, fitting / kFewestSliceTokens * kFewestSliceTokens);
}

}  // namespace

Forward::Forward(const Model& model, const Switches& switches, qk::Execution execution, qk::Owners* owners,
                 PlantedFault& planted)
    : model_(model),
      switches_(switches),
      execution_(execution),
      mostTokens_(mostTokens(model)),
      attention_(model.dimensions(), switches, planted),
      experts_(model, switches, owners, planted) {}

std::int64_t Forward::bytes() const {
  return streams_.bytes() + hyper_.bytes() + attention_.bytes() + experts_.bytes() + headInput_.bytes();
}

void Forward::run(State& state, const std::int32_t* tokens, std::int64_t count, LogitRows wanted,
                  float* logits, StageClock& clock, const std::atomic<bool>& cancelled) {
  const std::int64_t start = state.length();
  const qk::MoePlan plan = switches_.grouped(count) ? qk::MoePlan::grouped : qk::MoePlan::serial;
  const std::int64_t most = sliceTokens(start, count);
  for (std::int64_t done = 0; done < count; done += most) {
    const std::int64_t slice = std::min(most, count - done);
    const LogitRows rows = wanted == LogitRows::Last && done + slice < count ? LogitRows::None : wanted;
    state.reserve(slice);
    try {
      evaluate(state, Run{model_.dimensions(), execution_, clock, start + done, slice}, plan, tokens + done, rows,
               logits, cancelled);
    } catch (...) {
      state.truncate(start + done);
      throw;
    }
    if (rows == LogitRows::All) logits += slice * model_.dimensions().vocabulary;
    state.append(tokens + done, slice);
  }
}

std::int64_t Forward::sliceTokens(std::int64_t start, std::int64_t count) const {
  const bool longContext = start + count > kShortContext;
  const std::int64_t most = longContext ? std::min(mostTokens_, switches_.longContextChunk) : mostTokens_;
  const std::int64_t slices = (count + most - 1) / most;
  return (count + slices - 1) / slices;  // of about one size
}

void Forward::evaluate(State& state, const Run& run, qk::MoePlan plan, const std::int32_t* tokens,
                       LogitRows wanted, float* logits, const std::atomic<bool>& cancelled) {
  run.clock.enter(Stage::Other);
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t width = dimensions.streams * dimensions.hidden;
  float* streams = streams_.take(run.tokens * width);
  forTokens(execution_.pool, run.tokens, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = begin; t < end; ++t) {
      qk::cpu::embed(model_.embedding(), tokens[t], dimensions.streams, streams + t * width);
    }
  });
  float* rows = nullptr;
  for (std::size_t i = 0; i < model_.layers().size(); ++i) {
    if (cancelled) throw Cancelled();
    const Layer& layer = model_.layers()[i];
    rows = i == 0 ? hyper_.enter(run, layer.attention.hyper, layer.attention.norm, streams)
                  : hyper_.cross(run, rows, layer.attention.hyper, layer.attention.norm, streams);
    attention_.run(run, layer, state.layer(static_cast<std::int64_t>(i)), rows);
    rows = hyper_.cross(run, rows, layer.experts.hyper, layer.experts.norm, streams);
    experts_.run(run, layer.experts, tokens, plan, rows);
  }
  hyper_.leave(run, rows, streams);
  run.clock.enter(Stage::Head);
  if (wanted == LogitRows::All) writeLogits(run, streams, run.tokens, logits);
  if (wanted == LogitRows::Last) writeLogits(run, streams + (run.tokens - 1) * width, 1, logits);
  run.clock.enter(Stage::Other);
}

void Forward::writeLogits(const Run& run, const float* streams, std::int64_t rows, float* logits) {
  const qk::Dimensions& dimensions = run.dimensions;
  const float* merged = hyper_.head(run, model_.headHyper(), model_.outputNorm(), streams, rows);
  headInput_.prepare(execution_, merged, rows, dimensions.hidden, dimensions.hidden, {&model_.output()});
  qk::matmul(execution_, model_.output().matrix(), headInput_.from(0), rows, logits, dimensions.vocabulary);
}

}  // namespace qe
