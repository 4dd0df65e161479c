// Owns the list of ways in which the library computes the attention of one token.
#pragma once

#include <string>
#include <vector>

#include "case.h"
#include "qk/attention.h"

namespace suite {

struct AttentionInput {
  std::int64_t heads = 0, dim = 0;
  Floats q;      // [heads][dim]
  Floats rows;   // [n][dim], all of them visible
  Floats sinks;  // [heads]
  float scale = 1;
  std::int64_t n() const { return static_cast<std::int64_t>(rows.size()) / dim; }
};

struct AttentionRoute {
  std::string name;
  bool exact;  // the same bits as every other exact path
  std::function<void(const Machine&, const AttentionInput&, Destination& out)> run;
};
const std::vector<AttentionRoute>& attentionRoutes();

}  // namespace suite
