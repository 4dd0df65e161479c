#include "forward.h"

#include <algorithm>

#include "qk/embed.h"

namespace qe {
namespace {

constexpr std::int64_t kTokensPerItem = 32;
constexpr std::int64_t kFewestSliceTokens = 256;

// Tokens that go through the layers together: a whole chunk, unless its workspace would be out of proportion to
// the model. A twelfth of the file keeps the process below 1.5 times the file; only small models have to slice.
std::int64_t sliceTokens(const Model& model) {
  const qk::Dimensions& d = model.dimensions();
  const std::int64_t floatsPerToken =
      d.hidden * (d.streams + d.expertsUsed + 3) + (d.expertsUsed + d.sharedExperts) * d.expertHidden * 2 +
      d.heads * d.headDim * 2;
  const std::int64_t fitting = model.fileBytes() / 12 / (floatsPerToken * static_cast<std::int64_t>(sizeof(float)));
  return std::max(kFewestSliceTokens, fitting / kFewestSliceTokens * kFewestSliceTokens);
}

}  // namespace

Forward::Forward(const Model& model, const Switches& switches, qk::Execution execution)
    : model_(model),
      switches_(switches),
      execution_(execution),
      sliceTokens_(sliceTokens(model)),
      attention_(model.dimensions()) {}

std::int64_t Forward::bytes() const {
  return streams_.bytes() + hyper_.bytes() + attention_.bytes() + experts_.bytes() + headInput_.bytes();
}

void Forward::run(State& state, const std::int32_t* tokens, std::int64_t count, LogitRows wanted,
                  float* logits, StageClock& clock, const std::atomic<bool>& cancelled) {
  const std::int64_t start = state.length();
  const qk::MoePlan plan = switches_.grouped(count) ? qk::MoePlan::grouped : qk::MoePlan::serial;
  state.reserve(count);
  try {
    for (std::int64_t done = 0; done < count; done += sliceTokens_) {
      const std::int64_t slice = std::min(sliceTokens_, count - done);
      const LogitRows rows = wanted == LogitRows::Last && done + slice < count ? LogitRows::None : wanted;
      evaluate(state, Run{model_.dimensions(), execution_, clock, start + done, slice}, plan, tokens + done, rows,
               logits, cancelled);
      if (rows == LogitRows::All) logits += slice * model_.dimensions().vocabulary;
      state.append(tokens + done, slice);
    }
  } catch (...) {
    state.truncate(start);
    throw;
  }
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
