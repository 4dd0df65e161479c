// Owns what the two plans of the experts share: their shapes, which rows they take, and their clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "qk/mmid.h"

namespace qk::mmid {

struct Shape {
  std::int64_t experts, hidden, inner;  // E, D, F
  bool downTakesInt8;
};

// Throws std::invalid_argument when weights and x do not fit together.
Shape checkedShape(const MoeWeights& weights, const Inputs& x);

// The same for the shared expert beside routed ones.
Shape sharedShape(const MoeWeights& weights, const Inputs& x, const Shape& routed);

// The rows of every expert: packed row r reads token[r] (r itself when null) and multiplies by weight[r] (1 when
// null); expert e owns rows bounds[e] .. bounds[e + 1], ascending by token.
struct Rows {
  const std::int32_t* token = nullptr;
  const float* weight = nullptr;
  const std::vector<std::int64_t>& bounds;

  std::int64_t tokenOf(std::int64_t row) const { return token != nullptr ? token[row] : row; }
};

class Stopwatch {
 public:
  std::int64_t lapNs() {
    const auto now = std::chrono::steady_clock::now();
    const auto lap = std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_);
    last_ = now;
    return lap.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// hidden = the inputs of the down projection, a row for every packed row.
void groupedGateUp(Execution& ex, const MoeOptions& options, const MoeWeights& weights, const Shape& shape,
                   const Inputs& x, const Rows& rows, MoeScratch& scratch, MoeScratch::Hidden& hidden);

// y [packed rows][D].
void groupedDown(Execution& ex, const MoeOptions& options, const MoeWeights& weights, const Shape& shape,
                 const Rows& rows, const MoeScratch::Hidden& hidden, MoeScratch& scratch, float* y);

// out [tokens][D]: every row is added to its token, experts ascending; from +0 when `fresh`, else to what is
// there.
void groupedDownCombine(Execution& ex, const MoeOptions& options, const MoeWeights& weights, const Shape& shape,
                        const Rows& rows, const MoeScratch::Hidden& hidden, std::int64_t tokens, bool fresh,
                        MoeScratch& scratch, float* out);

// One expert after the other; y [packed rows][D].
MoeTimes serialExperts(Execution& ex, const MoeWeights& weights, const Shape& shape, const Inputs& x,
                       const Routes& routes, MoeScratch& scratch, float* y);

// y [live routes][D] by either plan, never fused, and counted.
MoeTimes liveRows(Execution& ex, MoePlan plan, const MoeOptions& options, const MoeWeights& weights,
                  const Shape& shape, const Inputs& x, const Routes& routes, MoeScratch& scratch, float* y);

float* reserveRows(AlignedBuffer& buffer, std::int64_t rows, std::int64_t width);

// For the down projection: `rows` rows of F, in the form that it takes.
void reserveHidden(const Shape& shape, std::int64_t rows, MoeScratch::Hidden& hidden);
Inputs hiddenInputs(const Shape& shape, const MoeScratch::Hidden& hidden);
void reserveGateUp(std::int64_t floats, MoeScratch& scratch);

}  // namespace qk::mmid
