#include "qk/attention.h"

#include <algorithm>

#include "operation_check.h"

using check::Doubles;
using check::Floats;

namespace {

struct Case {
  std::int64_t heads, dim, n;
};

struct Inputs {
  Inputs(check::Random& random, const Case& shape)
      : c(shape),
        q(random.normals(c.heads * c.dim)),
        rows(random.normals(c.n * c.dim)),
        sinks(random.normals(c.heads)) {}
  std::vector<const float*> keys() const {
    std::vector<const float*> pointers;
    for (std::int64_t j = 0; j < c.n; ++j) pointers.push_back(rows.data() + j * c.dim);
    return pointers;
  }
  Case c;
  Floats q, rows, sinks;
};

constexpr qk::AttentionPath kExactPaths[] = {qk::AttentionPath::masked, qk::AttentionPath::gathered,
                                             qk::AttentionPath::streamed, qk::AttentionPath::staged};

Floats run(qk::Isa isa, const Inputs& in, qk::AttentionPath path = qk::AttentionPath::staged,
           const std::vector<std::uint8_t>& kept = {}, bool inPlace = false) {
  const Case& c = in.c;
  const std::vector<const float*> keys = in.keys();
  Floats scratch = check::poisoned(qk::cpu::attentionScratch(path, c.heads, c.dim, c.n));
  Floats out = inPlace ? in.q : check::poisoned(c.heads * c.dim);
  qk::AttentionOperands operands;
  operands.q = inPlace ? out.data() : in.q.data();
  operands.keys = keys.data();
  operands.kept = kept.empty() ? nullptr : kept.data();
  operands.n = c.n;
  operands.heads = c.heads;
  operands.dim = c.dim;
  operands.sinks = in.sinks.data();
  operands.scale = 1 / std::sqrt(static_cast<float>(c.dim));
  operands.out = out.data();
  // Two rows that are not attended to, then the first three quarters of the keys.
  const std::int64_t tiled = (3 * c.n + 3) / 4;
  Floats rows(static_cast<std::size_t>(2 * c.dim), std::numeric_limits<float>::quiet_NaN());
  rows.insert(rows.end(), in.rows.begin(), in.rows.begin() + tiled * c.dim);
  Floats tile = check::poisoned(qk::cpu::attentionTileFloats(c.dim, tiled + 2));
  if (path == qk::AttentionPath::staged || path == qk::AttentionPath::fastExp) {
    operands.tile = qk::cpu::stageRows(isa, rows.data(), tiled + 2, c.dim, tile.data());
    operands.tileFirst = 2;
    operands.tiled = tiled;
  }
  qk::cpu::attention(isa, path, operands, scratch.data());
  return out;
}

// The rows that are kept, and no others.
Inputs keptOnly(const Inputs& in, const std::vector<std::uint8_t>& kept) {
  Inputs less = in;
  less.rows.clear();
  less.c.n = 0;
  for (std::int64_t j = 0; j < in.c.n; ++j) {
    if (kept[static_cast<std::size_t>(j)] == 0) continue;
    less.rows.insert(less.rows.end(), in.rows.begin() + j * in.c.dim, in.rows.begin() + (j + 1) * in.c.dim);
    ++less.c.n;
  }
  return less;
}

Doubles exactly(const Inputs& in) {
  const Doubles rows = check::doubles(in.rows);
  std::vector<const double*> keys;
  for (std::int64_t j = 0; j < in.c.n; ++j) keys.push_back(rows.data() + j * in.c.dim);
  Doubles out(in.q.size());
  qk::reference::attention(check::doubles(in.q).data(), keys.data(), in.c.n, in.c.heads, in.c.dim,
                           check::doubles(in.sinks).data(), 1 / std::sqrt(static_cast<double>(in.c.dim)),
                           out.data());
  return out;
}

}  // namespace

// Blocks of 8192 floats: 64 keys at 128 dimensions, 16 at 512.
std::vector<Case> cases() {
  std::vector<Case> all = {{16, 128, 200}, {4, 128, 1},   {64, 64, 30}, {20, 48, 13}, {1, 16, 5},   {3, 40, 9},
                           {17, 33, 8},    {64, 512, 70}, {16, 128, 64}, {16, 128, 65}, {33, 256, 33}};
  for (std::int64_t n = 1; n <= 18; ++n) all.push_back({5, 32, n});
  return all;
}

TEST_CASE("every path agrees with fp64 and with the others' bits, at every number of keys, heads, dimensions") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const Case& c : cases()) {
    INFO("heads ", c.heads, " dim ", c.dim, " n ", c.n);
    const Inputs in(random, c);
    const Floats y = check::everywhere([&](qk::Isa isa) { return run(isa, in); });
    CHECK(check::nmse(y, exactly(in)) < 1e-12);
    CHECK(check::maxAbs(y, exactly(in)) < 1e-5);
    for (const qk::AttentionPath path : kExactPaths) {
      for (const qk::Isa isa : check::isas()) CHECK(check::sameBits(run(isa, in, path), y));
    }
  }
}

TEST_CASE("rows under the mask change no bit, whatever they hold") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const Case& c : cases()) {
    for (int round = 0; round < 3; ++round) {
      Inputs in(random, c);
      std::vector<std::uint8_t> kept(static_cast<std::size_t>(c.n), 1);
      for (std::int64_t j = 0; j < c.n; ++j) kept[static_cast<std::size_t>(j)] = random.below(3) == 0 ? 1 : 0;
      kept[static_cast<std::size_t>(random.below(c.n))] = 1;
      const float left[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f};
      for (std::int64_t j = 0; j < c.n; ++j) {
        if (kept[static_cast<std::size_t>(j)] == 0) std::fill_n(in.rows.begin() + j * c.dim, c.dim, left[round]);
      }
      const Floats y = run(qk::Isa::portable, keptOnly(in, kept));
      for (const qk::Isa isa : check::isas()) {
        CHECK(check::sameBits(run(isa, in, qk::AttentionPath::masked, kept), y));
      }
    }
  }
}

// Every term underflows to -0, which a masked +0 would turn into +0.
TEST_CASE("a row under the mask does not turn -0 into +0") {
  check::Random random;
  Inputs in(random, {1, 16, 3});
  std::fill(in.rows.begin(), in.rows.end(), -1e-45f);
  in.sinks = {80};
  const std::vector<std::uint8_t> kept = {1, 1, 0};
  for (const qk::Isa isa : check::isas()) {
    const Floats y = run(isa, in, qk::AttentionPath::masked, kept);
    CHECK(std::signbit(y[0]));
    CHECK(check::sameBits(y, run(isa, keptOnly(in, kept))));
  }
}

TEST_CASE("the fast exponential stays within an NMSE of 1e-12, and is another rounding") {
  check::Random random;
  INFO("seed ", random.seed());
  double worst = 0;
  double worstExact = 0;
  bool differs = false;
  for (const float spread : {0.1f, 1.0f, 3.0f, 10.0f}) {
    for (const Case& c : cases()) {
      Inputs in(random, c);
      for (float& q : in.q) q *= spread;
      const Floats y = check::everywhere([&](qk::Isa isa) { return run(isa, in, qk::AttentionPath::fastExp); });
      const Floats exact = run(qk::bestIsa(), in);
      if (spread <= 1) {
        worst = std::max(worst, check::nmse(y, exactly(in)));
        worstExact = std::max(worstExact, check::nmse(exact, exactly(in)));
      } else {  // the rounding of such scores weighs more than the exponential
        CHECK(check::nmse(y, exactly(in)) < 4 * check::nmse(exact, exactly(in)) + 1e-13);
      }
      differs = differs || !check::sameBits(y, exact);
    }
  }
  MESSAGE("worst NMSE against fp64: fast exp ", worst, ", exact paths ", worstExact);
  CHECK(worst < 1e-12);
  CHECK(differs);
}

TEST_CASE("the sink takes weight and gives no value") {
  check::Random random;
  INFO("seed ", random.seed());
  Inputs in(random, {2, 16, 1});
  std::fill(in.q.begin(), in.q.end(), 0.0f);  // every score is 0
  in.sinks = {0, 1000};
  const Floats y = run(qk::bestIsa(), in);
  for (std::size_t d = 0; d < 16; ++d) {
    CHECK(y[d] == doctest::Approx(in.rows[d] / 2));
    CHECK(y[16 + d] == 0);
  }
}

TEST_CASE("scores far apart neither overflow nor vanish") {
  check::Random random;
  INFO("seed ", random.seed());
  Inputs in(random, {16, 64, 40});
  for (float& q : in.q) q *= 300;
  const Floats y = check::everywhere([&](qk::Isa isa) { return run(isa, in); });
  CHECK(check::maxAbs(y, exactly(in)) < 1e-2);
}

TEST_CASE("heads do not depend on the heads beside them, and the output may lie where the queries lay") {
  check::Random random;
  INFO("seed ", random.seed());
  const Inputs in(random, {21, 64, 50});
  const Floats all = run(qk::bestIsa(), in);
  for (std::int64_t h = 0; h < 21; ++h) {
    Inputs one = in;
    one.c.heads = 1;
    one.q.assign(in.q.begin() + h * 64, in.q.begin() + (h + 1) * 64);
    one.sinks = {in.sinks[static_cast<std::size_t>(h)]};
    CHECK(
        check::sameBits(run(qk::bestIsa(), one), Floats(all.begin() + h * 64, all.begin() + (h + 1) * 64)));
  }
  for (const qk::AttentionPath path : kExactPaths) {
    CHECK(check::sameBits(run(qk::bestIsa(), in, path, {}, true), all));
  }
}

TEST_CASE("a NaN in one key reaches every head, and no keys are refused") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const qk::Isa isa : check::isas()) {
    Inputs in(random, {4, 32, 20});
    in.rows[7 * 32 + 3] = std::numeric_limits<float>::quiet_NaN();
    for (const qk::AttentionPath path : kExactPaths) {
      for (const float y : run(isa, in, path)) CHECK(std::isnan(y));
    }
    for (const float y : run(isa, in, qk::AttentionPath::fastExp)) CHECK(std::isnan(y));
  }
  CHECK_THROWS_AS(qk::cpu::attention(qk::Isa::portable, qk::AttentionPath::staged, {}, nullptr),
                  std::invalid_argument);
}
