// Owns the routed and shared experts of one layer: two plans of one arithmetic, equal to the bit.
// y_row = W2 (silu(min(W1 x, L)) * clamp(W3 x, -L, L) * route weight), a row for every live route.
#pragma once

#include <cstdint>
#include <vector>

#include "qk/activations.h"
#include "qk/aligned_buffer.h"
#include "qk/execution.h"
#include "qk/matmul.h"
#include "qk/packed_weights.h"
#include "qk/routes.h"

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
  grouped,  // two queues over all experts: (expert, block of F) for gate, up, SwiGLU and requantising;
            // (expert, block of D) for down
};

struct MoeTimes {
  std::int64_t gateUpNs = 0;  // wall
  std::int64_t downNs = 0;
};

// Memory that is kept between calls; any layer and plan may follow on any other.
class MoeScratch {
 public:
  struct Item {
    std::int64_t expert;
    std::int64_t firstRow;  // packed
    std::int64_t rows;
    std::int64_t block;  // of 128 weight rows
  };
  Activations hidden;          // [packed rows][F] int8, when down takes int8
  AlignedBuffer hiddenValues;  // [packed rows][F] fp32, when it does not
  AlignedBuffer gathered;      // serial: one expert's inputs
  AlignedBuffer gate;          // serial: [rows][F]; grouped: [threads][64][128]
  AlignedBuffer up;
  std::vector<Item> items;
};

// x: the T tokens' inputs (width D). y [T k][D]: rows in packed order; rows that no live route owns are
// zeroed. Throws std::invalid_argument when the shapes of weights, routes and x do not fit together.
MoeTimes routedExperts(Execution& ex, MoePlan plan, const MoeWeights& weights, const Inputs& x,
                       const Routes& routes, MoeScratch& scratch, float* y);

// The shared expert: every token, weight 1. y [T][D].
void sharedExpert(Execution& ex, const MoeWeights& weights, const Inputs& x, std::int64_t tokens,
                  MoeScratch& scratch, float* y);

}  // namespace qk
