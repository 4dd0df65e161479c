// Owns the attention sub-layer of one chunk: projections, compressors, indexer, sparse attention, grouped
// output.
#pragma once

#include "planted_fault.h"
#include "qk/attention.h"
#include "state.h"
#include "switches.h"
#include "workspace.h"

namespace qe {

class AttentionBlock {
 public:
  // One rope table a kind of layer. `planted` must outlive the block.
  AttentionBlock(const qk::Dimensions& dimensions, const Switches& switches, PlantedFault& planted);

  // What a token takes of the workspace, without what does not grow with the tokens.
  static std::int64_t bytesPerToken(const qk::Dimensions& dimensions);

  // inOut [tokens][D]: the normed input, overwritten by the output. Writes the chunk's rows into `state`.
  void run(const Run& run, const Layer& layer, LayerState& state, float* inOut);
  std::int64_t bytes() const;

 private:
  // Entries that the queries of a band see, besides their window. `counts[t]` of query t: rows[t * rowStride ..]
  // ascending, or the first ones when `rows` is null. With a mask: those of its `visible` first entries whose byte
  // in mask[t * maskStride ..] is 1.
  struct Selection {
    const std::int32_t* rows = nullptr;
    std::int64_t rowStride = 0;
    const std::uint8_t* mask = nullptr;
    std::int64_t maskStride = 0;
    std::vector<std::int64_t> counts;
  };
  struct ThreadScratch {
    std::vector<const float*> keys;
    std::vector<std::uint8_t> kept;
    std::vector<std::int32_t> rows;
    Scratch<float> attention, tile;
    qk::IndexerQuery query;
    std::vector<float> scores;
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
  // Turns the rows selected for the band into a mask over all visible entries.
  void maskSelected(const Run& run, std::int64_t count, std::int64_t visible);
  void attend(const Run& run, const Layer& layer, const qk::RopeTable& rope, const LayerState& state,
              std::int64_t first, std::int64_t count, float* heads);
  // The rows of one query: its window, then the selected entries, or all visible ones and what the mask keeps.
  void gatherKeys(const Layer& layer, const LayerState& state, std::int64_t position, std::int64_t t,
                  ThreadScratch& scratch) const;
  // Counts the queries of a band that the planted fault makes see too little; not those of the indexer's selection.
  void countStrikes(const Run& run, const Layer& layer, std::int64_t first, std::int64_t count);
  void project(const Run& run, const AttentionWeights& weights, const float* heads, std::int64_t count,
               float* output);

  const bool directTopK_;
  const qk::AttentionPath path_;
  PlantedFault& planted_;
  const std::int64_t window_;
  const std::int64_t topK_;
  const bool halfContext_;
  qk::RopeTable plainRope_;
  qk::RopeTable compressRope_;
  Operand input_, lowRank_, grouped_, output_;
  Scratch<float> queryRows_, heads_, indexerQueries_, indexerHeads_, groupOutput_;
  Scratch<std::int32_t> selected_;
  Scratch<std::uint8_t> masks_;
  Selection selection_;
  std::vector<ThreadScratch> threads_;
};

}  // namespace qe
