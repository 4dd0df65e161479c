// Owns the calls behind the list of attention paths.
#include "attention_paths.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "qk/aligned_buffer.h"

namespace suite {
namespace {

using qk::AttentionPath;

// Rows at another place each and not in their order in memory, as a ring buffer and a list of entries give them.
struct Scattered {
  explicit Scattered(const AttentionInput& in) : rows(in.rows.size()) {
    for (std::int64_t j = 0; j < in.n(); ++j) {
      float* place = rows.data() + (in.n() - 1 - j) * in.dim;
      std::copy_n(in.rows.begin() + j * in.dim, in.dim, place);
      keys.push_back(place);
    }
  }
  Floats rows;
  std::vector<const float*> keys;
};

qk::AttentionOperands operandsOf(const AttentionInput& in, const std::vector<const float*>& keys, Destination& out) {
  qk::AttentionOperands operands;
  operands.q = in.q.data();
  operands.keys = keys.data();
  operands.n = static_cast<std::int64_t>(keys.size());
  operands.heads = in.heads;
  operands.dim = in.dim;
  operands.sinks = in.sinks.data();
  operands.scale = in.scale;
  operands.out = out.data();
  return operands;
}

void attend(const Machine& machine, AttentionPath path, const qk::AttentionOperands& operands) {
  Destination scratch(qk::cpu::attentionScratch(path, operands.heads, operands.dim, operands.n));
  qk::cpu::attention(machine.isa, path, operands, scratch.data());
  if (!scratch.guardsIntact()) throw std::logic_error("attention wrote outside of its scratch");
}

void overRows(const Machine& machine, AttentionPath path, const AttentionInput& in, Destination& out) {
  const Scattered scattered(in);
  attend(machine, path, operandsOf(in, scattered.keys, out));
}

// A row of NaN beside every row, left out by the mask.
void underMask(const Machine& machine, const AttentionInput& in, Destination& out) {
  const Scattered scattered(in);
  const Floats poison(static_cast<std::size_t>(in.dim), std::numeric_limits<float>::quiet_NaN());
  std::vector<const float*> keys;
  std::vector<std::uint8_t> kept;
  for (const float* key : scattered.keys) {
    keys.insert(keys.end(), {poison.data(), key});
    kept.insert(kept.end(), {0, 1});
  }
  qk::AttentionOperands operands = operandsOf(in, keys, out);
  operands.kept = kept.data();
  attend(machine, AttentionPath::masked, operands);
}

// Two rows that are not attended to, then the first three quarters of the keys, are in the tile.
void overTile(const Machine& machine, AttentionPath path, const AttentionInput& in, Destination& out) {
  const Scattered scattered(in);
  const std::int64_t tiled = (3 * in.n() + 3) / 4;
  Floats rows(static_cast<std::size_t>(2 * in.dim), std::numeric_limits<float>::quiet_NaN());
  rows.insert(rows.end(), in.rows.begin(), in.rows.begin() + tiled * in.dim);
  qk::AlignedBuffer tile(static_cast<std::size_t>(qk::cpu::attentionTileFloats(in.dim, tiled + 2)) * sizeof(float));
  qk::AttentionOperands operands = operandsOf(in, scattered.keys, out);
  operands.tile = qk::cpu::stageRows(machine.isa, rows.data(), tiled + 2, in.dim, tile.as<float>());
  operands.tileFirst = 2;
  operands.tiled = tiled;
  attend(machine, path, operands);
}

}  // namespace

const std::vector<AttentionRoute>& attentionRoutes() {
  const auto rows = [](AttentionPath path) {
    return [=](const Machine& machine, const AttentionInput& in, Destination& out) { overRows(machine, path, in, out); };
  };
  const auto tile = [](AttentionPath path) {
    return [=](const Machine& machine, const AttentionInput& in, Destination& out) { overTile(machine, path, in, out); };
  };
  static const std::vector<AttentionRoute> routes = {
      {"streamed", true, rows(AttentionPath::streamed)},
      {"gathered", true, rows(AttentionPath::gathered)},
      {"masked, all kept", true, rows(AttentionPath::masked)},
      {"masked, half left out", true, underMask},
      {"staged", true, tile(AttentionPath::staged)},
      {"fast exp", false, tile(AttentionPath::fastExp)},
  };
  return routes;
}

}  // namespace suite
