#include "qk/attention.h"

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

Floats run(qk::Isa isa, const Inputs& in) {
  const Case& c = in.c;
  const std::vector<const float*> keys = in.keys();
  Floats scratch = check::poisoned(qk::cpu::attentionScratch(c.heads, c.dim, c.n));
  Floats out = check::poisoned(c.heads * c.dim);
  qk::cpu::attention(isa, in.q.data(), keys.data(), c.n, c.heads, c.dim, in.sinks.data(),
                     1 / std::sqrt(static_cast<float>(c.dim)), scratch.data(), out.data());
  return out;
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

TEST_CASE("attention agrees with fp64 at every number of keys, heads and dimensions") {
  check::Random random;
  INFO("seed ", random.seed());
  std::vector<Case> cases = {{16, 128, 200}, {4, 128, 1}, {64, 64, 30}, {20, 48, 13},
                             {1, 16, 5},     {3, 40, 9},  {17, 33, 8}};
  for (std::int64_t n = 1; n <= 18; ++n) cases.push_back({5, 32, n});
  for (const Case& c : cases) {
    const Inputs in(random, c);
    const Floats y = check::everywhere([&](qk::Isa isa) { return run(isa, in); });
    CHECK(check::nmse(y, exactly(in)) < 1e-12);
    CHECK(check::maxAbs(y, exactly(in)) < 1e-5);
  }
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
  Floats inPlace = in.q;
  Floats scratch(static_cast<std::size_t>(qk::cpu::attentionScratch(21, 64, 50)));
  const std::vector<const float*> keys = in.keys();
  qk::cpu::attention(qk::bestIsa(), inPlace.data(), keys.data(), 50, 21, 64, in.sinks.data(), 0.125f,
                     scratch.data(), inPlace.data());
  CHECK(check::sameBits(inPlace, all));
}

TEST_CASE("a NaN in one key reaches every head, and no keys are refused") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const qk::Isa isa : check::isas()) {
    Inputs in(random, {4, 32, 20});
    in.rows[7 * 32 + 3] = std::numeric_limits<float>::quiet_NaN();
    for (const float y : run(isa, in)) CHECK(std::isnan(y));
  }
  CHECK_THROWS_AS(
      qk::cpu::attention(qk::Isa::portable, nullptr, nullptr, 0, 1, 16, nullptr, 1, nullptr, nullptr),
      std::invalid_argument);
}
