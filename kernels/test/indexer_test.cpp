#include "qk/indexer.h"

#include "operation_check.h"
#include "qk/rope.h"
#include "qk/round_trip.h"

using check::Doubles;
using check::Floats;

namespace {

qk::RopeTable table() {
  qk::RopeTable rope({1.0, 0.2, 0.04, 0.008});
  rope.extend(100);
  return rope;
}

// n finished keys, of very different magnitudes.
std::vector<Floats> keysOf(check::Random& random, std::int64_t n, std::int64_t dim, bool rounded) {
  std::vector<Floats> keys;
  for (std::int64_t j = 0; j < n; ++j) {
    keys.push_back(random.normals(dim, std::exp(2 * random.normal())));
    if (rounded) qk::cpu::roundTripE2m1(qk::Isa::portable, keys.back().data(), dim);
  }
  return keys;
}

struct Case {
  std::int64_t heads, dim, n;
  bool rounded;
};

const std::vector<Case> kCases = {{8, 128, 100, true}, {1, 32, 1, true},    {3, 64, 16, true},
                                  {64, 128, 33, true}, {8, 128, 50, false}, {2, 32, 17, false}};

}  // namespace

TEST_CASE("scores agree with fp64 over the same finished operands") {
  check::Random random;
  INFO("seed ", random.seed());
  const qk::RopeTable rope = table();
  for (const Case& c : kCases) {
    const std::vector<Floats> keys = keysOf(random, c.n, c.dim, c.rounded);
    const Floats projected = random.normals(c.heads * c.dim);
    const Floats w = random.normals(c.heads);
    Floats finished;
    qk::IndexerQuery query;
    qk::IndexerKeys packed(c.dim, c.rounded);
    for (const Floats& key : keys) packed.append(key.data());
    const Floats scores = check::everywhere([&](qk::Isa isa) {
      finished = projected;
      qk::cpu::indexerQuery(isa, finished.data(), w.data(), c.heads, c.dim, 8, rope.row(37), c.rounded,
                            query);
      Floats out = check::poisoned(c.n);
      qk::cpu::indexerScores(isa, query, packed, c.n, out.data());
      return out;
    });
    Doubles wide;
    for (const Floats& key : keys) wide.insert(wide.end(), key.begin(), key.end());
    Doubles weights = check::doubles(w);
    for (double& weight : weights) weight /= std::sqrt(static_cast<double>(c.heads * c.dim));
    Doubles exact(scores.size());
    qk::reference::indexerScores(check::doubles(finished).data(), weights.data(), c.heads, c.dim,
                                 wide.data(), c.n, exact.data());
    CHECK(check::nmse(scores, exact) < 1e-12);
  }
}

TEST_CASE("a query is rotated, transformed and rounded as the formula says") {
  check::Random random;
  INFO("seed ", random.seed());
  const qk::RopeTable rope = table();
  const Floats w = random.normals(4);
  for (const bool rounded : {true, false}) {
    Floats q = random.normals(4 * 128);
    Doubles exact = check::doubles(q);
    qk::IndexerQuery query;
    qk::cpu::indexerQuery(qk::bestIsa(), q.data(), w.data(), 4, 128, 8, rope.row(11), rounded, query);
    qk::reference::rope(exact.data(), 4, 128, {1.0, 0.2, 0.04, 0.008}, 11, false);
    for (int h = 0; h < 4; ++h) {
      qk::reference::hadamard(exact.data() + h * 128, 128);
      if (rounded) qk::reference::roundTripE2m1(exact.data() + h * 128, 128);
    }
    CHECK(check::nmse(q, exact) < (rounded ? 1e-3 : 1e-12));
    CHECK(query.weights[2] == doctest::Approx(w[2] / std::sqrt(512.0f)));
  }
}

TEST_CASE("scores do not depend on how many keys there are or on keys that were removed") {
  check::Random random;
  INFO("seed ", random.seed());
  const qk::RopeTable rope = table();
  for (const bool rounded : {true, false}) {
    const std::vector<Floats> keys = keysOf(random, 40, 64, rounded);
    Floats q = random.normals(2 * 64);
    const Floats w = {1, -1};
    qk::IndexerQuery query;
    qk::cpu::indexerQuery(qk::bestIsa(), q.data(), w.data(), 2, 64, 8, rope.row(3), rounded, query);
    qk::IndexerKeys all(64, rounded);
    for (const Floats& key : keys) all.append(key.data());
    Floats expected(40);
    qk::cpu::indexerScores(qk::bestIsa(), query, all, 40, expected.data());
    qk::IndexerKeys grown(64, rounded);
    for (std::int64_t j = 0; j < 20; ++j) grown.append(keys[39].data());
    grown.truncate(17);
    grown.truncate(0);
    for (std::int64_t n = 1; n <= 40; ++n) {
      grown.append(keys[static_cast<std::size_t>(n - 1)].data());
      Floats scores = check::poisoned(n);
      qk::cpu::indexerScores(qk::bestIsa(), query, grown, n, scores.data());
      CHECK(check::sameBits(scores, Floats(expected.begin(), expected.begin() + n)));
    }
  }
}

TEST_CASE("what is off the grid, asked beyond the end or of another form is refused") {
  qk::IndexerKeys keys(32, true);
  Floats x(32, 0.0f);
  x[0] = 6;
  x[1] = 0.3f;
  CHECK_THROWS_AS(keys.append(x.data()), std::domain_error);
  x[1] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(keys.append(x.data()), std::domain_error);
  x[1] = 0.5f;
  qk::IndexerKeys good(32, true);
  good.append(x.data());
  CHECK_THROWS_AS(good.truncate(2), std::out_of_range);
  qk::IndexerQuery query;
  const float w = 1;
  const qk::RopeTable rope = table();
  qk::cpu::indexerQuery(qk::Isa::portable, x.data(), &w, 1, 32, 8, rope.row(0), true, query);
  float scores[2];
  CHECK_THROWS_AS(qk::cpu::indexerScores(qk::Isa::portable, query, good, 2, scores), std::invalid_argument);
  CHECK_THROWS_AS(qk::cpu::indexerScores(qk::Isa::portable, query, qk::IndexerKeys(32, false), 0, scores),
                  std::invalid_argument);
}

TEST_CASE("an entry becomes visible with the last token of its block") {
  CHECK(qk::visibleEntries(0, 4) == 0);
  CHECK(qk::visibleEntries(2, 4) == 0);
  CHECK(qk::visibleEntries(3, 4) == 1);
  CHECK(qk::visibleEntries(126, 128) == 0);
  CHECK(qk::visibleEntries(127, 128) == 1);
}
