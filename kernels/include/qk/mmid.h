// Owns the routed and shared experts of one layer: two plans of one arithmetic, equal to the bit.
// y_row = W2 (silu(min(W1 x, L)) * clamp(W3 x, -L, L) * route weight), a row for every live route;
// out[t] = +0, plus the rows of the token's live slots in slot order, plus the shared expert last.
#pragma once

#include <cstdint>
#include <vector>

#include "qk/activations.h"
#include "qk/aligned_buffer.h"
#include "qk/execution.h"
#include "qk/matmul.h"
#include "qk/packed_weights.h"
#include "qk/routes.h"
#include "qk/token_tiles.h"

namespace qk {

// gate and up: E x [F][D]; down: E x [D][F]. F and D need not be multiples of 16 or 128 beyond what the types
// ask.
struct MoeWeights {
  const PackedWeights* gate = nullptr;
  const PackedWeights* up = nullptr;
  const PackedWeights* down = nullptr;
  float clamp = 0;  // L > 0
};

enum class MoePlan {
  serial,   // one expert after the other, each step of it a fork and join over the pool
  grouped,  // all experts together: items of (expert, block of F) for gate, up, SwiGLU and requantising, then
            // the down projection
};

// How the grouped plan runs.
struct MoeOptions {
  // Rows of the down projection are added to their tokens as they come; else all are written first, and summed
  // afterwards. Only when every token's live slots ascend by expert (Routes::slotsAscend), else it is not taken.
  bool fusedCombine = true;
  // One queue over the items of all experts; else a fork and join for each expert.
  bool persistentQueue = true;
  // Token tiles from the rows of each expert; else tiles of one width.
  bool adaptiveTile = true;

  TokenTiles tiles() const { return adaptiveTile ? TokenTiles::adaptive : TokenTiles::fixed; }
};

// Wall time of the parts of a call.
struct MoeTimes {
  std::int64_t gateUpNs = 0;
  std::int64_t downNs = 0;     // with the additions, when they are fused
  std::int64_t sharedNs = 0;   // all of the shared expert
  std::int64_t combineNs = 0;  // 0 when it is fused
};

// Memory that is kept between calls; any layer and plan may follow on any other.
class MoeScratch {
 public:
  struct Item {
    std::int64_t expert;
    std::int64_t firstRow;  // packed
    std::int64_t rows;
    std::int64_t pass;   // rows of each pass over them
    std::int64_t block;  // of 128 weight rows
  };
  // What the down projection of some rows reads.
  struct Hidden {
    Activations quantised;  // [rows][F] int8, when down takes int8
    AlignedBuffer values;   // [rows][F] fp32, when it does not
  };
  std::int64_t bytes() const;

  Hidden routed;
  Hidden shared;
  AlignedBuffer rows;        // unfused: [packed rows][D]
  AlignedBuffer sharedRows;  // unfused: [T][D]
  AlignedBuffer gathered;    // serial: one expert's inputs
  AlignedBuffer gate;        // serial: [rows][F]; grouped: [threads][64][128]
  AlignedBuffer up;
  std::vector<Item> items;
};

// out [T][D]: the routed experts, and the shared one (one expert, weight 1) unless it is null. x: the T tokens'
// inputs (width D); out may be the memory of x, which is written only when all of x was read. Throws
// std::invalid_argument when the shapes of weights, routes and x do not fit together.
MoeTimes moe(Execution& ex, MoePlan plan, const MoeOptions& options, const MoeWeights& weights,
             const MoeWeights* shared, const Inputs& x, const Routes& routes, MoeScratch& scratch, float* out);

// The routed experts before they are summed, never fused. y [T k][D]: rows in packed order; rows that no live
// route owns are zeroed.
MoeTimes routedExperts(Execution& ex, MoePlan plan, const MoeWeights& weights, const Inputs& x,
                       const Routes& routes, MoeScratch& scratch, float* y, const MoeOptions& options = {});

// The shared expert: every token, weight 1. y [T][D].
void sharedExpert(Execution& ex, const MoeWeights& weights, const Inputs& x, std::int64_t tokens,
                  MoeScratch& scratch, float* y);

}  // namespace qk
