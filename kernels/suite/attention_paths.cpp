// Owns the calls behind the list of attention paths.
#include "attention_paths.h"

#include <algorithm>

namespace suite {
namespace {

// Rows at another place each and not in their order in memory, as a ring buffer and a list of entries give them.
void overRows(const Machine& machine, const AttentionInput& in, Destination& out) {
  std::vector<const float*> keys;
  Floats reversed(in.rows.size());
  for (std::int64_t j = 0; j < in.n(); ++j) {
    float* place = reversed.data() + (in.n() - 1 - j) * in.dim;
    std::copy_n(in.rows.begin() + j * in.dim, in.dim, place);
    keys.push_back(place);
  }
  Destination scratch(qk::cpu::attentionScratch(in.heads, in.dim, in.n()));
  qk::cpu::attention(machine.isa, in.q.data(), keys.data(), in.n(), in.heads, in.dim, in.sinks.data(), in.scale,
                     scratch.data(), out.data());
}

}  // namespace

const std::vector<AttentionPath>& attentionPaths() {
  static const std::vector<AttentionPath> paths = {{"row pointers", true, overRows}};
  return paths;
}

}  // namespace suite
