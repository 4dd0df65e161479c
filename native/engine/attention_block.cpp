// The attention sub-layer. Keys and entries of the whole chunk are written first; then the queries go
// through in slices, so that memory does not grow with the chunk. Every token is computed by itself: slices
// cannot show in the bits.
#include "attention_block.h"

#include <cmath>

#include "qk/attention.h"
#include "qk/rms_norm.h"
#include "qk/round_trip.h"
#include "qk/top_k.h"

namespace qe {
namespace {

// Queries in flight.
constexpr std::int64_t kSliceTokens = 256;
constexpr std::int64_t kTokensPerItem = 8;

}  // namespace

AttentionBlock::AttentionBlock(const qk::Dimensions& dimensions)
    : plainRope_(qk::ropeFrequencies(dimensions, 0)), compressRope_(qk::ropeFrequencies(dimensions, 4)) {}

std::int64_t AttentionBlock::bytes() const {
  std::int64_t total = 0;
  for (const Scratch<float>* scratch : {&queryRows_, &heads_, &compressorValues_, &compressorScores_,
                                        &newEntries_, &indexerQueries_, &indexerHeads_, &groupOutput_}) {
    total += scratch->bytes();
  }
  for (const Operand* operand : {&input_, &lowRank_, &grouped_, &output_}) total += operand->bytes();
  for (const ThreadScratch& scratch : threads_) total += scratch.attention.bytes();
  return total + selected_.bytes();
}

void AttentionBlock::run(const Run& run, const Layer& layer, LayerState& state, float* inOut) {
  const Stage outer = run.clock.enter(Stage::AttentionProj);
  const qk::Dimensions& dimensions = run.dimensions;
  const AttentionWeights& weights = layer.attention;
  qk::RopeTable& rope = layer.ratio == 0 ? plainRope_ : compressRope_;
  rope.extend(run.start + run.tokens);
  threads_.resize(static_cast<std::size_t>(run.execution.pool.threads()));

  input_.prepare(run.execution, inOut, run.tokens, dimensions.hidden, dimensions.hidden,
                 {&weights.queryA, &weights.kv, weights.compressor ? &weights.compressor->kv : &weights.kv,
                  weights.compressor ? &weights.compressor->gate : &weights.kv,
                  weights.indexer ? &weights.indexer->weights : &weights.kv,
                  weights.indexer ? &weights.indexer->compressor.kv : &weights.kv,
                  weights.indexer ? &weights.indexer->compressor.gate : &weights.kv});
  writeKeys(run, weights, rope, state.keys);
  if (weights.compressor) writeEntries(run, *weights.compressor, rope, *state.compressed);
  if (weights.indexer) writeIndexedEntries(run, weights.indexer->compressor, rope, *state.indexed);

  // qr = RMSNorm(W_qa u), for queries and for the indexer's queries
  const std::int64_t rank = dimensions.queryRank;
  float* lowRank = queryRows_.take(run.tokens * rank);
  qk::matmul(run.execution, weights.queryA.matrix(), input_.from(0), run.tokens, lowRank, rank);
  forTokens(run.execution.pool, run.tokens, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    float* rows = lowRank + begin * rank;
    qk::cpu::rmsNorm(run.execution.isa, rows, end - begin, rank, weights.queryNorm.data(),
                     static_cast<float>(dimensions.rmsEps), rows);
  });
  lowRank_.prepare(run.execution, lowRank, run.tokens, rank, rank,
                   {&weights.queryB, weights.indexer ? &weights.indexer->queryB : &weights.queryB});

  const std::int64_t width = dimensions.heads * dimensions.headDim;
  float* heads = heads_.take(std::min(run.tokens, kSliceTokens) * width);
  for (std::int64_t first = 0; first < run.tokens; first += kSliceTokens) {
    const std::int64_t count = std::min(kSliceTokens, run.tokens - first);
    if (weights.indexer) select(run, *weights.indexer, rope, *state.indexed, first, count);
    qk::matmul(run.execution, weights.queryB.matrix(), lowRank_.from(first), count, heads, width);
    attend(run, layer, rope, state, first, count, heads);
    // nothing reads the slice's input any more
    project(run, weights, heads, count, inOut + first * dimensions.hidden);
  }
  run.clock.enter(outer);
}

void AttentionBlock::writeKeys(const Run& run, const AttentionWeights& weights, const qk::RopeTable& rope,
                               Rows& keys) {
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t dim = dimensions.headDim;
  qk::matmul(run.execution, weights.kv.matrix(), input_.from(0), run.tokens, keys.row(run.start), dim);
  forTokens(run.execution.pool, run.tokens, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    const qk::Isa isa = run.execution.isa;
    for (std::int64_t t = begin; t < end; ++t) {
      float* key = keys.row(run.start + t);
      qk::cpu::rmsNorm(isa, key, 1, dim, weights.kvNorm.data(), static_cast<float>(dimensions.rmsEps), key);
      qk::cpu::rope(isa, key, 1, dim, dimensions.ropeDims, rope.row(run.start + t),
                    qk::cpu::Rotation::forward);
      if (dimensions.keyRoundTrip) qk::cpu::roundTripE4m3(isa, key, dim - dimensions.ropeDims);
    }
  });
}

std::int64_t AttentionBlock::appendRows(const Run& run, const CompressorWeights& weights,
                                        qk::CompressorState& rows) {
  const std::int64_t width = rows.shape().width();
  const std::int64_t before = rows.entries();
  float* values = compressorValues_.take(run.tokens * width);
  float* scores = compressorScores_.take(run.tokens * width);
  qk::matmul(run.execution, weights.kv.matrix(), input_.from(0), run.tokens, values, width);
  qk::matmul(run.execution, weights.gate.matrix(), input_.from(0), run.tokens, scores, width);
  rows.append(values, scores, weights.ape.data(), run.tokens);
  return before;
}

void AttentionBlock::writeEntries(const Run& run, const CompressorWeights& weights,
                                  const qk::RopeTable& rope, CompressedKeys& compressed) {
  const Stage outer = run.clock.enter(Stage::Compressor);
  const std::int64_t before = appendRows(run, weights, compressed.rows);
  const qk::cpu::CompressorFinish finish{weights.norm.data(), static_cast<float>(run.dimensions.rmsEps),
                                         run.dimensions.ropeDims, qk::cpu::EntryKind::attention,
                                         run.dimensions.keyRoundTrip};
  run.execution.pool.run(compressed.rows.entries() - before, [&](std::int64_t item, int) {
    const std::int64_t j = before + item;
    qk::cpu::compressorEntry(run.execution.isa, compressed.rows, j, finish,
                             rope.row(j * compressed.rows.shape().ratio), compressed.entries.row(j));
  });
  run.clock.enter(outer);
}

void AttentionBlock::writeIndexedEntries(const Run& run, const CompressorWeights& weights,
                                         const qk::RopeTable& rope, IndexedKeys& indexed) {
  const Stage outer = run.clock.enter(Stage::Compressor);
  const std::int64_t before = appendRows(run, weights, indexed.rows);
  const std::int64_t added = indexed.rows.entries() - before;
  const std::int64_t dim = run.dimensions.indexerDim;
  float* entries = newEntries_.take(added * dim);
  const qk::cpu::CompressorFinish finish{weights.norm.data(), static_cast<float>(run.dimensions.rmsEps),
                                         run.dimensions.ropeDims, qk::cpu::EntryKind::indexer,
                                         run.dimensions.indexerRoundTrip};
  run.execution.pool.run(added, [&](std::int64_t item, int) {
    const std::int64_t j = before + item;
    qk::cpu::compressorEntry(run.execution.isa, indexed.rows, j, finish,
                             rope.row(j * indexed.rows.shape().ratio), entries + item * dim);
  });
  for (std::int64_t item = 0; item < added; ++item) indexed.entries.append(entries + item * dim);
  run.clock.enter(outer);
}

void AttentionBlock::select(const Run& run, const IndexerWeights& weights, const qk::RopeTable& rope,
                            const IndexedKeys& indexed, std::int64_t first, std::int64_t count) {
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t ratio = indexed.rows.shape().ratio;
  const std::int64_t best = dimensions.indexerTopK;
  selection_.counts.assign(static_cast<std::size_t>(count), 0);
  selection_.indices = nullptr;
  const auto visible = [&](std::int64_t t) { return qk::visibleEntries(run.start + first + t, ratio); };
  for (std::int64_t t = 0; t < count; ++t)
    selection_.counts[static_cast<std::size_t>(t)] = std::min(best, visible(t));
  // With no more entries than places, all of them are taken and nothing needs a score.
  if (visible(count - 1) <= best) return;

  const Stage outer = run.clock.enter(Stage::Indexer);
  const std::int64_t heads = dimensions.indexerHeads;
  const std::int64_t width = heads * dimensions.indexerDim;
  float* queries = indexerQueries_.take(count * width);
  float* headWeights = indexerHeads_.take(count * heads);
  std::int32_t* selected = selected_.take(count * best);
  qk::matmul(run.execution, weights.queryB.matrix(), lowRank_.from(first), count, queries, width);
  qk::matmul(run.execution, weights.weights.matrix(), input_.from(first), count, headWeights, heads);
  forTokens(
      run.execution.pool, count, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int thread) {
        ThreadScratch& scratch = threads_[static_cast<std::size_t>(thread)];
        for (std::int64_t t = begin; t < end; ++t) {
          const std::int64_t n = visible(t);
          scratch.scores.resize(static_cast<std::size_t>(n));
          scratch.ranks.resize(static_cast<std::size_t>(n));
          qk::cpu::indexerQuery(run.execution.isa, queries + t * width, headWeights + t * heads, heads,
                                dimensions.indexerDim, dimensions.ropeDims, rope.row(run.start + first + t),
                                dimensions.indexerRoundTrip, scratch.query);
          qk::cpu::indexerScores(run.execution.isa, scratch.query, indexed.entries, n,
                                 scratch.scores.data());
          qk::cpu::topK(scratch.scores.data(), n, best, scratch.ranks.data(), selected + t * best);
        }
      });
  selection_.indices = selected;
  selection_.stride = best;
  run.clock.enter(outer);
}

void AttentionBlock::attend(const Run& run, const Layer& layer, const qk::RopeTable& rope,
                            const LayerState& state, std::int64_t first, std::int64_t count, float* heads) {
  const Stage outer = run.clock.enter(Stage::Attention);
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t dim = dimensions.headDim;
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim)));
  forTokens(
      run.execution.pool, count, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int thread) {
        const qk::Isa isa = run.execution.isa;
        ThreadScratch& scratch = threads_[static_cast<std::size_t>(thread)];
        for (std::int64_t t = begin; t < end; ++t) {
          const std::int64_t position = run.start + first + t;
          float* query = heads + t * dimensions.heads * dim;
          qk::cpu::rmsNorm(isa, query, dimensions.heads, dim, nullptr, static_cast<float>(dimensions.rmsEps),
                           query);
          qk::cpu::rope(isa, query, dimensions.heads, dim, dimensions.ropeDims, rope.row(position),
                        qk::cpu::Rotation::forward);

          // window, oldest first; then compressed entries, ascending
          scratch.keys.clear();
          for (std::int64_t p = std::max<std::int64_t>(0, position - dimensions.window + 1); p <= position;
               ++p) {
            scratch.keys.push_back(state.keys.row(p));
          }
          if (layer.ratio != 0) {
            const Rows& entries = state.compressed->entries;
            const bool chosen = layer.attention.indexer.has_value();
            const std::int64_t n = chosen ? selection_.counts[static_cast<std::size_t>(t)]
                                          : qk::visibleEntries(position, layer.ratio);
            const std::int32_t* indices = chosen && selection_.indices != nullptr
                                              ? selection_.indices + t * selection_.stride
                                              : nullptr;
            for (std::int64_t j = 0; j < n; ++j)
              scratch.keys.push_back(entries.row(indices == nullptr ? j : indices[j]));
          }
          const auto keyCount = static_cast<std::int64_t>(scratch.keys.size());
          float* work = scratch.attention.take(qk::cpu::attentionScratch(dimensions.heads, dim, keyCount));
          qk::cpu::attention(isa, query, scratch.keys.data(), keyCount, dimensions.heads, dim,
                             layer.attention.sinks.data(), scale, work, query);
          qk::cpu::rope(isa, query, dimensions.heads, dim, dimensions.ropeDims, rope.row(position),
                        qk::cpu::Rotation::inverse);
        }
      });
  run.clock.enter(outer);
}

void AttentionBlock::project(const Run& run, const AttentionWeights& weights, const float* heads,
                             std::int64_t count, float* output) {
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t width = dimensions.heads * dimensions.headDim;
  const std::int64_t groupWidth = width / dimensions.outputGroups;
  const std::int64_t rank = dimensions.outputRank;
  const std::int64_t ranks = rank * dimensions.outputGroups;
  float* low = groupOutput_.take(count * ranks);
  for (std::int64_t g = 0; g < dimensions.outputGroups; ++g) {
    grouped_.prepare(run.execution, heads + g * groupWidth, count, groupWidth, width, {&weights.outputA});
    qk::matmul(run.execution, weights.outputA.matrix(g), grouped_.from(0), count, low + g * rank, ranks);
  }
  output_.prepare(run.execution, low, count, ranks, ranks, {&weights.outputB});
  qk::matmul(run.execution, weights.outputB.matrix(), output_.from(0), count, output, dimensions.hidden);
}

}  // namespace qe
