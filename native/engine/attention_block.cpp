// The attention sub-layer. Keys and entries of all tokens are written first; then the queries go through in
// bands, so that memory does not grow with the tokens. Every token is computed by itself: bands cannot show in
// the bits.
#include "attention_block.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "qk/rms_norm.h"
#include "qk/round_trip.h"
#include "qk/top_k.h"

namespace qe {
namespace {

// Queries in flight.
constexpr std::int64_t kBandTokens = 256;
constexpr std::int64_t kTokensPerItem = 8;
constexpr std::int64_t kEntriesPerItem = 16;  // a group of IndexerKeys

qk::AttentionPath pathOf(const Switches& switches) {
  if (!switches.streamTopK) {
    return switches.directTopK ? qk::AttentionPath::gathered : qk::AttentionPath::masked;
  }
  if (!switches.streamStage) return qk::AttentionPath::streamed;
  return switches.streamFastExp ? qk::AttentionPath::fastExp : qk::AttentionPath::staged;
}

// What is more special is counted as what it is built on, too: a staged call streams.
void count(qk::Counters& counters, qk::AttentionPath path) {
  if (path == qk::AttentionPath::masked) return counters.add(qk::Kernel::attentionMasked);
  if (path == qk::AttentionPath::gathered) return counters.add(qk::Kernel::attentionGathered);
  counters.add(qk::Kernel::attentionStreamed);
  if (path == qk::AttentionPath::streamed) return;
  counters.add(qk::Kernel::attentionStaged);
  if (path == qk::AttentionPath::fastExp) counters.add(qk::Kernel::attentionFastExp);
}

}  // namespace

AttentionBlock::AttentionBlock(const qk::Dimensions& dimensions, const Switches& switches, PlantedFault& planted)
    : directTopK_(switches.directTopK),
      path_(pathOf(switches)),
      planted_(planted),
      window_(windowWith(planted, dimensions.window)),
      topK_(topKWith(planted, dimensions.indexerTopK)),
      halfContext_(planted.is(Fault::HalfContext)),
      plainRope_(qk::ropeFrequencies(dimensions, 0)),
      compressRope_(qk::ropeFrequencies(dimensions, 4)) {}

std::int64_t AttentionBlock::bytesPerToken(const qk::Dimensions& dimensions) {
  return Operand::rowBytes(dimensions.hidden) + Operand::rowBytes(dimensions.queryRank) +
         dimensions.queryRank * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t AttentionBlock::bytes() const {
  std::int64_t total = 0;
  for (const Scratch<float>* scratch : {&queryRows_, &heads_, &indexerQueries_, &indexerHeads_, &groupOutput_}) {
    total += scratch->bytes();
  }
  for (const Operand* operand : {&input_, &lowRank_, &grouped_, &output_}) total += operand->bytes();
  for (const ThreadScratch& scratch : threads_) total += scratch.attention.bytes() + scratch.tile.bytes();
  return total + selected_.bytes() + masks_.bytes();
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
  float* heads = heads_.take(std::min(run.tokens, kBandTokens) * width);
  for (std::int64_t first = 0; first < run.tokens; first += kBandTokens) {
    const std::int64_t count = std::min(kBandTokens, run.tokens - first);
    if (weights.indexer) select(run, *weights.indexer, rope, *state.indexed, first, count);
    qk::matmul(run.execution, weights.queryB.matrix(), lowRank_.from(first), count, heads, width);
    attend(run, layer, rope, state, first, count, heads);
    // nothing reads the band's input any more
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
  rows.extend(run.tokens);
  qk::matmul(run.execution, weights.kv.matrix(), input_.from(0), run.tokens, rows.k(run.start), width);
  qk::matmul(run.execution, weights.gate.matrix(), input_.from(0), run.tokens, rows.z(run.start), width);
  forTokens(run.execution.pool, run.tokens, kBandTokens, [&](std::int64_t begin, std::int64_t end, int) {
    rows.addBias(weights.ape.data(), run.start + begin, end - begin);
  });
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
  const std::int64_t after = indexed.rows.entries();
  const qk::cpu::CompressorFinish finish{weights.norm.data(), static_cast<float>(run.dimensions.rmsEps),
                                         run.dimensions.ropeDims, qk::cpu::EntryKind::indexer,
                                         run.dimensions.indexerRoundTrip};
  indexed.entries.extend(after - before);
  // Items are groups of entries as they lie, so that no two threads write to one cache line.
  const std::int64_t firstGroup = before / kEntriesPerItem;
  const std::int64_t groups = (after + kEntriesPerItem - 1) / kEntriesPerItem - firstGroup;
  run.execution.pool.run(groups, [&](std::int64_t item, int thread) {
    const std::int64_t group = (firstGroup + item) * kEntriesPerItem;
    std::vector<float>& entry = threads_[static_cast<std::size_t>(thread)].scores;
    entry.resize(static_cast<std::size_t>(run.dimensions.indexerDim));
    for (std::int64_t j = std::max(before, group); j < std::min(after, group + kEntriesPerItem); ++j) {
      qk::cpu::compressorEntry(run.execution.isa, indexed.rows, j, finish,
                               rope.row(j * indexed.rows.shape().ratio), entry.data());
      indexed.entries.write(j, entry.data());
    }
  });
  run.clock.enter(outer);
}

void AttentionBlock::select(const Run& run, const IndexerWeights& weights, const qk::RopeTable& rope,
                            const IndexedKeys& indexed, std::int64_t first, std::int64_t count) {
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t ratio = indexed.rows.shape().ratio;
  const std::int64_t best = topK_;
  const auto visible = [&](std::int64_t t) { return qk::visibleEntries(run.start + first + t, ratio); };
  selection_.counts.resize(static_cast<std::size_t>(count));
  selection_.rows = nullptr;
  selection_.mask = nullptr;
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
          if (n <= best) {
            std::iota(selected + t * best, selected + t * best + n, 0);
            continue;
          }
          scratch.scores.resize(static_cast<std::size_t>(n));
          qk::cpu::indexerQuery(run.execution.isa, queries + t * width, headWeights + t * heads, heads,
                                dimensions.indexerDim, dimensions.ropeDims, rope.row(run.start + first + t),
                                dimensions.indexerRoundTrip, scratch.query);
          qk::cpu::indexerScores(run.execution.isa, scratch.query, indexed.entries, n,
                                 scratch.scores.data());
          qk::cpu::topK(run.execution.isa, scratch.scores.data(), n, best, selected + t * best);
        }
      });
  if (planted_.is(Fault::DroppedTopKEntry)) {
    for (std::int64_t t = 0; t < count; ++t) planted_.struck += visible(t) > best ? 1 : 0;
  }
  selection_.rows = selected;
  selection_.rowStride = best;
  if (!directTopK_) maskSelected(run, count, visible(count - 1));
  run.clock.enter(outer);
}

void AttentionBlock::maskSelected(const Run& run, std::int64_t count, std::int64_t visible) {
  std::uint8_t* masks = masks_.take(count * visible);
  forTokens(run.execution.pool, count, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int) {
    std::fill(masks + begin * visible, masks + end * visible, std::uint8_t{0});
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int32_t* rows = selection_.rows + t * selection_.rowStride;
      const std::int64_t n = selection_.counts[static_cast<std::size_t>(t)];
      for (std::int64_t i = 0; i < n; ++i) masks[t * visible + rows[i]] = 1;
    }
  });
  selection_.mask = masks;
  selection_.maskStride = visible;
}

void AttentionBlock::attend(const Run& run, const Layer& layer, const qk::RopeTable& rope,
                            const LayerState& state, std::int64_t first, std::int64_t count, float* heads) {
  const Stage outer = run.clock.enter(Stage::Attention);
  const qk::Dimensions& dimensions = run.dimensions;
  const std::int64_t dim = dimensions.headDim;
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim)));
  qe::count(run.execution.counters, path_);
  if (layer.attention.indexer && selection_.mask != nullptr && path_ != qk::AttentionPath::masked) {
    run.execution.counters.add(qk::Kernel::attentionMaskScan);
  }
  if (!planted_.is(Fault::None)) countStrikes(run, layer, first, count);
  const bool staged = path_ == qk::AttentionPath::staged || path_ == qk::AttentionPath::fastExp;
  forTokens(
      run.execution.pool, count, kTokensPerItem, [&](std::int64_t begin, std::int64_t end, int thread) {
        const qk::Isa isa = run.execution.isa;
        ThreadScratch& scratch = threads_[static_cast<std::size_t>(thread)];
        const auto windowBegin = [&](std::int64_t t) {
          return std::max<std::int64_t>(0, run.start + first + t - window_ + 1);
        };
        // The windows of neighbours are almost one: it is staged once for all of them.
        qk::AttentionTile tile;
        if (staged) {
          const std::int64_t rows = run.start + first + end - windowBegin(begin);
          tile = qk::cpu::stageRows(isa, state.keys.row(windowBegin(begin)), rows, dim,
                                    scratch.tile.take(qk::cpu::attentionTileFloats(dim, rows)));
        }
        for (std::int64_t t = begin; t < end; ++t) {
          const std::int64_t position = run.start + first + t;
          float* query = heads + t * dimensions.heads * dim;
          qk::cpu::rmsNorm(isa, query, dimensions.heads, dim, nullptr, static_cast<float>(dimensions.rmsEps),
                           query);
          qk::cpu::rope(isa, query, dimensions.heads, dim, dimensions.ropeDims, rope.row(position),
                        qk::cpu::Rotation::forward);
          gatherKeys(layer, state, position, t, scratch);
          if (halfContext_ && layer.ratio != 0) {
            const std::int64_t hidden = qk::visibleEntries(position, layer.ratio) / 2;
            const auto windowRows = static_cast<std::size_t>(position + 1 - windowBegin(t));
            hideOlderHalf(state.compressed->entries.row(hidden), hidden, windowRows, scratch.keys, scratch.kept);
          }
          qk::AttentionOperands operands;
          operands.q = query;
          operands.keys = scratch.keys.data();
          operands.kept = scratch.kept.empty() ? nullptr : scratch.kept.data();
          operands.tile = tile;
          operands.tileFirst = windowBegin(t) - windowBegin(begin);
          operands.tiled = staged ? position + 1 - windowBegin(t) : 0;
          operands.n = static_cast<std::int64_t>(scratch.keys.size());
          operands.heads = dimensions.heads;
          operands.dim = dim;
          operands.sinks = layer.attention.sinks.data();
          operands.scale = scale;
          operands.out = query;
          qk::cpu::attention(
              isa, path_, operands,
              scratch.attention.take(qk::cpu::attentionScratch(path_, dimensions.heads, dim, operands.n)));
          qk::cpu::rope(isa, query, dimensions.heads, dim, dimensions.ropeDims, rope.row(position),
                        qk::cpu::Rotation::inverse);
        }
      });
  run.clock.enter(outer);
}

void AttentionBlock::countStrikes(const Run& run, const Layer& layer, std::int64_t first, std::int64_t count) {
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t position = run.start + first + t;
    if (planted_.is(Fault::DroppedWindowKey) && position + 1 > window_) ++planted_.struck;
    if (!halfContext_ || layer.ratio == 0) continue;
    const std::int64_t hidden = qk::visibleEntries(position, layer.ratio) / 2;
    const bool chosen = layer.attention.indexer && selection_.rows != nullptr;
    const std::int64_t oldest = chosen ? selection_.rows[t * selection_.rowStride] : 0;  // they ascend
    if (hidden > 0 && oldest < hidden) ++planted_.struck;
  }
}

void AttentionBlock::gatherKeys(const Layer& layer, const LayerState& state, std::int64_t position, std::int64_t t,
                                ThreadScratch& scratch) const {
  scratch.keys.clear();
  scratch.kept.clear();
  for (std::int64_t p = std::max<std::int64_t>(0, position - window_ + 1); p <= position; ++p) {
    scratch.keys.push_back(state.keys.row(p));
  }
  if (layer.ratio == 0) return;
  const Rows& entries = state.compressed->entries;
  const std::int64_t visible = qk::visibleEntries(position, layer.ratio);
  const auto takeFirst = [&](std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) scratch.keys.push_back(entries.row(j));
  };
  if (!layer.attention.indexer) return takeFirst(visible);
  const std::int64_t n = selection_.counts[static_cast<std::size_t>(t)];
  if (selection_.rows == nullptr) return takeFirst(n);
  const std::int32_t* rows = selection_.rows + t * selection_.rowStride;
  if (selection_.mask != nullptr) {
    const std::uint8_t* mask = selection_.mask + t * selection_.maskStride;
    if (path_ == qk::AttentionPath::masked) {
      scratch.kept.assign(scratch.keys.size(), 1);
      scratch.kept.insert(scratch.kept.end(), mask, mask + visible);
      return takeFirst(visible);
    }
    scratch.rows.clear();
    for (std::int64_t j = 0; j < visible; ++j) {
      if (mask[j] != 0) scratch.rows.push_back(static_cast<std::int32_t>(j));
    }
    rows = scratch.rows.data();
  }
  for (std::int64_t i = 0; i < n; ++i) scratch.keys.push_back(entries.row(rows[i]));
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
