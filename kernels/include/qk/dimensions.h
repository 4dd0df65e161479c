// Dimensions and constants of one model of the DeepSeek-V4 shape, as the file's metadata states them.
#pragma once

#include <cstdint>
#include <vector>

namespace qk {

struct Dimensions {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;             // D
  std::int64_t vocabulary = 0;         // V
  std::int64_t contextLength = 0;
  std::int64_t heads = 0;              // H query heads; one shared key/value head
  std::int64_t headDim = 0;            // d, key = value
  std::int64_t ropeDims = 0;           // last ropeDims of headDim rotate
  std::int64_t queryRank = 0;          // q_lora_rank
  std::int64_t outputGroups = 0;
  std::int64_t outputRank = 0;         // o_lora_rank, per group
  std::int64_t window = 0;             // sliding window
  std::vector<std::int32_t> ratios;    // per layer: 0 window only, 4 compressed + indexer, 128 compressed
  std::int64_t indexerHeads = 0;
  std::int64_t indexerDim = 0;
  std::int64_t indexerTopK = 0;
  std::int64_t experts = 0;            // E routed
  std::int64_t expertsUsed = 0;        // k
  std::int64_t expertHidden = 0;       // F
  std::int64_t sharedExperts = 0;
  double expertScale = 0;              // weights_scale, 1.5
  bool expertNormalise = true;
  std::int64_t hashLayers = 0;         // first layers that route by token id
  std::vector<float> swigluClamp;      // per layer
  std::int64_t streams = 0;            // hyper-connection streams n
  std::int64_t sinkhornRounds = 0;
  double hyperEps = 0;
  double rmsEps = 0;
  double ropeBase = 0;                 // window-only layers, no scaling
  double compressRopeBase = 0;         // compressed layers, YaRN
  double yarnFactor = 1;
  double yarnOriginalContext = 0;
  double yarnBetaFast = 0;
  double yarnBetaSlow = 0;
  // Round trips of section 1.4 and 1.6: E4M3 on the non-rotated part of keys, E2M1 on indexer queries and keys.
  bool keyRoundTrip = true;
  bool indexerRoundTrip = true;
};

}  // namespace qk
