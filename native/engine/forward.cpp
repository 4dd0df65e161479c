#include "forward.h"

#include "qk/embed.h"

namespace qe {
namespace {

constexpr std::int64_t kTokensPerItem = 32;

}  // namespace

Forward::Forward(const Model& model, const Switches& switches, qk::Execution execution)
    : model_(model), switches_(switches), execution_(execution), attention_(model.dimensions()) {}

std::int64_t Forward::bytes() const {
  return streams_.bytes() + hyper_.bytes() + attention_.bytes() + experts_.bytes();
}

void Forward::run(State& state, const std::int32_t* tokens, std::int64_t count, LogitRows wanted,
                  float* logits, StageClock& clock, const std::atomic<bool>& cancelled) {
  const std::int64_t start = state.length();
  try {
    evaluate(state, Run{model_.dimensions(), execution_, clock, start, count}, tokens, wanted, logits,
             cancelled);
    state.append(tokens, count);
  } catch (...) {
    state.truncate(start);
    throw;
  }
}

void Forward::evaluate(State& state, const Run& run, const std::int32_t* tokens, LogitRows wanted,
                       float* logits, const std::atomic<bool>& cancelled) {
  run.clock.enter(Stage::Other);
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t width = dimensions.streams * dimensions.hidden;
  float* streams = streams_.take(run.tokens * width);
  forTokens(execution_.pool, run.tokens, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = begin; t < end; ++t) {
      qk::cpu::embed(model_.embedding(), tokens[t], dimensions.streams, streams + t * width);
    }
  });
  const qk::MoePlan plan = switches_.grouped(run.tokens) ? qk::MoePlan::grouped : qk::MoePlan::serial;
  for (std::size_t i = 0; i < model_.layers().size(); ++i) {
    if (cancelled) throw Cancelled();
    const Layer& layer = model_.layers()[i];
    float* rows = hyper_.enter(run, layer.attention.hyper, layer.attention.norm, streams);
    attention_.run(run, layer, state.layer(static_cast<std::int64_t>(i)), rows);
    hyper_.leave(run, rows, streams);
    rows = hyper_.enter(run, layer.experts.hyper, layer.experts.norm, streams);
    experts_.run(run, layer.experts, tokens, plan, rows);
    hyper_.leave(run, rows, streams);
  }
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
