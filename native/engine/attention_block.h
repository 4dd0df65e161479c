// Owns the attention sub-layer of one chunk: projections, compressors, indexer, sparse attention, grouped
// output.
#pragma once

#include "state.h"
#include "workspace.h"

namespace qe {

class AttentionBlock {
 public:
  // One rope table a kind of layer.
  explicit AttentionBlock(const qk::Dimensions& dimensions);

  // inOut [tokens][D]: the normed input, overwritten by the output. Writes the chunk's rows into `state`.
  void run(const Run& run, const Layer& layer, LayerState& state, float* inOut);
  std::int64_t bytes() const;

 private:
  // Entries that a query of the slice sees, besides its window: `count` of token t at first + t * stride, or
  // the first `count` entries when `first` is null.
  struct Selection {
    const std::int32_t* indices = nullptr;
    std::int64_t stride = 0;
    std::vector<std::int64_t> counts;
  };
  struct ThreadScratch {
    std::vector<const float*> keys;
    Scratch<float> attention;
    qk::IndexerQuery query;
    std::vector<float> scores;
    std::vector<std::uint32_t> ranks;
  };

  void writeKeys(const Run& run, const AttentionWeights& weights, const qk::RopeTable& rope, Rows& keys);
  // Appends the chunk's (k, z) rows; returns the number of entries that were complete before.
  std::int64_t appendRows(const Run& run, const CompressorWeights& weights, qk::CompressorState& rows);
  void writeEntries(const Run& run, const CompressorWeights& weights, const qk::RopeTable& rope,
                    CompressedKeys& compressed);
  void writeIndexedEntries(const Run& run, const CompressorWeights& weights, const qk::RopeTable& rope,
                           IndexedKeys& indexed);
  void select(const Run& run, const IndexerWeights& weights, const qk::RopeTable& rope,
              const IndexedKeys& indexed, std::int64_t first, std::int64_t count);
  void attend(const Run& run, const Layer& layer, const qk::RopeTable& rope, const LayerState& state,
              std::int64_t first, std::int64_t count, float* heads);
  void project(const Run& run, const AttentionWeights& weights, const float* heads, std::int64_t count,
               float* output);

  qk::RopeTable plainRope_;
  qk::RopeTable compressRope_;
  Operand input_, lowRank_, grouped_, output_;
  Scratch<float> queryRows_, heads_, compressorValues_, compressorScores_, newEntries_, indexerQueries_,
      indexerHeads_;
  Scratch<float> groupOutput_;
  Scratch<std::int32_t> selected_;
  Selection selection_;
  std::vector<ThreadScratch> threads_;
};

}  // namespace qe
