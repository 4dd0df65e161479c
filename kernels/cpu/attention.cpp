// Owns the paths of attention.h: what each lays out before the kernels of an instruction set run.
//
// Work per token: 4 n H d flops; bytes: n d 4 of rows, from the second-level cache when neighbours share
// them. At H = 16 a byte serves 16 flops, so every path over selected rows is bound by fma and the mask path
// by the rows that it reads for nothing: 2176 of 256 at 8192 tokens, top-k 128. simd/attention.cpp has the
// figures.
#include "qk/attention.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "cpu/simd/variants.h"

namespace qk::cpu {

namespace {

constexpr std::int64_t kAlign = 16;  // floats of 64 bytes

std::int64_t rounded(std::int64_t floats) { return (floats + kAlign - 1) / kAlign * kAlign; }

// Pointers to n rows, in floats of scratch.
std::int64_t pointerFloats(std::int64_t n) {
  return rounded(n * static_cast<std::int64_t>(sizeof(const float*) / sizeof(float)));
}

float* aligned(float* scratch) {
  const std::uintptr_t misplaced = reinterpret_cast<std::uintptr_t>(scratch) % 64;
  return scratch + (64 - misplaced) % 64 / sizeof(float);
}

// What the kernels need, without the rows that a path lays out itself.
std::int64_t kernelFloats(AttentionPath path, std::int64_t heads, std::int64_t dim, std::int64_t n) {
  const std::int64_t groups = (heads + 15) / 16;
  const std::int64_t scores = (path == AttentionPath::masked || path == AttentionPath::gathered) ? 1 : groups;
  return groups * dim * 16 + scores * n * 16 + groups * 16;
}

// The rows that give values: those left out are replaced by a row of -0, for 0 * -0 = -0 changes no sum, -0
// included.
const float* const* valuesOf(const AttentionOperands& o, float* scratch) {
  float* nothing = scratch;
  std::fill(nothing, nothing + o.dim, -0.0f);
  auto* values = reinterpret_cast<const float**>(scratch + rounded(o.dim));
  for (std::int64_t j = 0; j < o.n; ++j) std::construct_at(values + j, o.kept[j] != 0 ? o.keys[j] : nothing);
  return values;
}

const float* const* sideBySide(const AttentionOperands& o, float* scratch) {
  auto* rows = reinterpret_cast<const float**>(scratch);
  float* copy = scratch + pointerFloats(o.n);
  for (std::int64_t j = 0; j < o.n; ++j, copy += rounded(o.dim)) {
    std::copy(o.keys[j], o.keys[j] + o.dim, copy);
    std::construct_at(rows + j, copy);
  }
  return rows;
}

}  // namespace

std::int64_t attentionScratch(AttentionPath path, std::int64_t heads, std::int64_t dim, std::int64_t n) {
  std::int64_t floats = kAlign + rounded(kernelFloats(path, heads, dim, n));
  switch (path) {
    case AttentionPath::masked:
      return floats + rounded(dim) + pointerFloats(n);
    case AttentionPath::gathered:
      return floats + pointerFloats(n) + n * rounded(dim);
    case AttentionPath::streamed:
    case AttentionPath::staged:
    case AttentionPath::fastExp:
      return floats;
  }
  throw std::invalid_argument("attention by a path that is not known");
}

void attention(Isa isa, AttentionPath path, const AttentionOperands& operands, float* scratch) {
  if (operands.n < 1) throw std::invalid_argument("attention over no keys: a token sees at least itself");
  float* work = aligned(scratch);
  float* rows = work + rounded(kernelFloats(path, operands.heads, operands.dim, operands.n));
  AttentionOperands o = operands;
  switch (path) {
    case AttentionPath::masked:
      QK_PICK(isa, attentionDense)(o, o.kept == nullptr ? o.keys : valuesOf(o, rows), work);
      return;
    case AttentionPath::gathered:
      o.keys = sideBySide(o, rows);
      QK_PICK(isa, attentionDense)(o, o.keys, work);
      return;
    case AttentionPath::streamed:
      o.tiled = 0;
      QK_PICK(isa, attentionStreamed)(o, false, work);
      return;
    case AttentionPath::staged:
    case AttentionPath::fastExp:
      QK_PICK(isa, attentionStreamed)(o, path == AttentionPath::fastExp, work);
      return;
  }
  throw std::invalid_argument("attention by a path that is not known");
}

std::int64_t attentionTileFloats(std::int64_t dim, std::int64_t count) {
  return count * rounded(dim) + kAttentionTilePadding * 16;
}

AttentionTile stageRows(Isa isa, const float* rows, std::int64_t count, std::int64_t dim, float* tile) {
  QK_PICK(isa, stageRows)(rows, count, dim, tile);
  return {tile, count};
}

}  // namespace qk::cpu
