// Owns sparse attention of one token: H query heads over one list of key rows that are also the values; a
// learned sink per head joins the denominator only.
#pragma once

#include <cstdint>

#include "qk/isa.h"

namespace qk {

// How the rows are read. Every path gives the same bits except fastExp, which is of the bounded class: its
// exponential has another rounding (NMSE of the output against fp64 at most 1e-12).
enum class AttentionPath : std::uint8_t {
  masked,    // every row is scored and weighed; those that `kept` leaves out get no weight
  gathered,  // the rows are copied side by side first
  streamed,  // the rows are read where they lie, a block that stays in the first-level cache at a time
  staged,    // as streamed; rows that neighbouring tokens share are copied once into an aligned tile
  fastExp,   // as staged
};

// Rows that several tokens attend to: [dim/16][rows][16], padded with zeros, so that the addresses of a block
// are one base and constants.
struct AttentionTile {
  const float* values = nullptr;
  std::int64_t rows = 0;
};

struct AttentionOperands {
  const float* q = nullptr;            // [heads][dim], normed and rotated
  const float* const* keys = nullptr;  // n rows [dim]: window oldest .. newest, then compressed ascending
  const std::uint8_t* kept = nullptr;  // masked: [n], 0 leaves a row out; null keeps all. Else null
  AttentionTile tile;                  // staged: the keys 0 .. tiled-1 are also its rows from tileFirst on
  std::int64_t tileFirst = 0, tiled = 0;
  std::int64_t n = 0;  // >= 1
  std::int64_t heads = 0, dim = 0;
  const float* sinks = nullptr;  // [heads]
  float scale = 0;               // headDim^-0.5, applied to q.k
  float* out = nullptr;          // [heads][dim], not yet rotated back; may be q
};

}  // namespace qk

namespace qk::cpu {

// Floats of scratch that a path needs. Key rows at multiples of 64 bytes are read faster.
std::int64_t attentionScratch(AttentionPath path, std::int64_t heads, std::int64_t dim, std::int64_t n);

// Order: q.k by fma with the dimension ascending; maximum over keys and sink; the sum of exp, and each
// output, by key ascending from +0; the sink's term is added last; then one multiplication by 1 / sum. No
// tiles show in the bits, and neither do rows that are left out, whatever they hold. Throws
// std::invalid_argument when n < 1.
void attention(Isa isa, AttentionPath path, const AttentionOperands& operands, float* scratch);

// Copies `count` rows that lie side by side, [count][dim], into a tile of attentionTileFloats(dim, count)
// floats at a multiple of 64 bytes.
std::int64_t attentionTileFloats(std::int64_t dim, std::int64_t count);
AttentionTile stageRows(Isa isa, const float* rows, std::int64_t count, std::int64_t dim, float* tile);

}  // namespace qk::cpu

namespace qk::reference {

void attention(const double* q, const double* const* keys, std::int64_t n, std::int64_t heads,
               std::int64_t dim, const double* sinks, double scale, double* out);

}  // namespace qk::reference
