#include <cstring>

#include "operation_check.h"
#include "qk/argmax.h"
#include "qk/embed.h"
#include "qk/router.h"
#include "qk/top_k.h"

using check::Doubles;
using check::Floats;
using Ids = std::vector<std::int32_t>;

namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

Ids best(const Floats& scores, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(scores.size());
  Ids out(static_cast<std::size_t>(std::min(n, k)), -1);
  CHECK(qk::cpu::topK(qk::Isa::portable, scores.data(), n, k, out.data()) == std::min(n, k));
  for (const qk::Isa isa : check::isas()) {
    Ids again(out.size(), -1);
    CHECK(qk::cpu::topK(isa, scores.data(), n, k, again.data()) == std::min(n, k));
    CHECK(again == out);
  }
  return out;
}

struct Routed {
  Ids experts;
  Floats weights;
};

Routed route(qk::Isa isa, const qk::RouterShape& shape, const Floats& logits, const Floats& bias,
             const Ids& hash) {
  Routed r{Ids(static_cast<std::size_t>(shape.used), -1), check::poisoned(shape.used)};
  Floats scratch = check::poisoned(qk::cpu::routeScratch(shape));
  qk::cpu::route(isa, shape, logits.data(), bias.empty() ? nullptr : bias.data(),
                 hash.empty() ? nullptr : hash.data(), scratch.data(), r.experts.data(), r.weights.data());
  return r;
}

}  // namespace

TEST_CASE("topK equals a sort by (score descending, index ascending), with many ties") {
  check::Random random;
  INFO("seed ", random.seed());
  for (int round = 0; round < 200; ++round) {
    const std::int64_t n = 1 + random.below(300);
    const std::int64_t k = 1 + random.below(40);
    Floats scores = random.normals(n, 10);
    const std::int64_t kinds = random.below(6);
    for (float& score : scores) {
      if (kinds == 0) score = std::round(score / 8);
      if (kinds == 1) score = std::max(score, 0.0f) * (random.below(2) == 0 ? 1.0f : -0.0f);
      if (kinds == 2) score = std::min(std::round(score / 8), 0.0f) * 1e-45f;  // subnormal, and zeros
      if (kinds == 3) score = score > 5 ? kInfinity : score < -5 ? -kInfinity : score;
      if (kinds == 4) score = std::ldexp(score, static_cast<int>(random.below(250)) - 125);
    }
    Ids expected(static_cast<std::size_t>(std::min(n, k)));
    qk::reference::topK(check::doubles(scores).data(), n, k, expected.data());
    CHECK(best(scores, k) == expected);
  }
}

TEST_CASE("topK: zeros of both signs tie, infinities order, NaN is last, few scores are all taken") {
  CHECK(best({-0.0f, 0.0f, -1}, 1) == Ids{0});
  CHECK(best({0.0f, -0.0f, 1}, 2) == Ids{0, 2});
  CHECK(best({-kInfinity, kNan, kInfinity, 0}, 3) == Ids{0, 2, 3});
  CHECK(best({kNan, kNan, -5}, 1) == Ids{2});
  CHECK(best({kNan, -kInfinity, kNan, 7, kNan}, 3) == Ids{0, 1, 3});
  CHECK(best({-kInfinity, -kInfinity, kNan}, 1) == Ids{0});
  CHECK(best({kInfinity, kInfinity, kInfinity}, 2) == Ids{0, 1});
  CHECK(best({-0.0f, -1e-45f, 0.0f, 1e-45f}, 2) == Ids{0, 3});
  CHECK(best(Floats(100, -2.5f), 3) == Ids{0, 1, 2});
  CHECK(best({3, 1, 2}, 5) == Ids{0, 1, 2});
  CHECK(best({3, 1, 2}, 0).empty());
}

TEST_CASE("routing agrees with fp64: bias selects and does not weigh") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const std::int64_t experts : {6, 16, 64, 255}) {
    for (const bool normalise : {true, false}) {
      const qk::RouterShape shape{experts, 6, normalise, 1.5f};
      const Floats logits = random.normals(experts, 4);
      const Floats bias = random.normals(experts);
      const Routed first = route(qk::Isa::portable, shape, logits, bias, {});
      Ids expected(6);
      Doubles weights(6);
      qk::reference::route(shape, 1.5, check::doubles(logits).data(), check::doubles(bias).data(), nullptr,
                           expected.data(), weights.data());
      CHECK(first.experts == expected);
      CHECK(check::nmse(first.weights, weights) < 1e-12);
      for (const qk::Isa isa : check::isas()) {
        const Routed r = route(isa, shape, logits, bias, {});
        CHECK(r.experts == first.experts);
        CHECK(check::sameBits(r.weights, first.weights));
      }
    }
  }
}

TEST_CASE("equal affinities go to the lower expert, and experts come out ascending") {
  const qk::RouterShape shape{8, 3, true, 1};
  CHECK(route(qk::bestIsa(), shape, Floats(8, 0.5f), {}, {}).experts == Ids{0, 1, 2});
  CHECK(route(qk::bestIsa(), shape, {0, 9, 1, 9, 2, 9, 3, 9}, {}, {}).experts == Ids{1, 3, 5});
  CHECK(route(qk::bestIsa(), shape, {0, 0, 0, 0, 0, 7, 8, 9}, {}, {}).experts == Ids{5, 6, 7});
  CHECK(route(qk::bestIsa(), shape, {0, 0, 0, 0, 0, 7, 8, 9}, {99, 0, 0, 0, 0, 0, 0, 0}, {}).experts ==
        Ids{0, 6, 7});
}

TEST_CASE("hash layers take the table's experts, weigh them by affinity, and refuse ids out of range") {
  check::Random random;
  INFO("seed ", random.seed());
  const qk::RouterShape shape{16, 3, true, 1.5f};
  const Floats logits = random.normals(16);
  const Routed r = route(qk::bestIsa(), shape, logits, {}, {9, 2, 11});
  CHECK(r.experts == Ids{2, 9, 11});
  const Ids table = {9, 2, 11};
  Ids experts(3);
  Doubles weights(3);
  qk::reference::route(shape, 1.5, check::doubles(logits).data(), nullptr, table.data(), experts.data(),
                       weights.data());
  CHECK(experts == r.experts);
  CHECK(check::nmse(r.weights, weights) < 1e-12);
  CHECK_THROWS_AS(route(qk::bestIsa(), shape, logits, {}, {9, 16, 1}), std::out_of_range);
  CHECK_THROWS_AS(route(qk::bestIsa(), shape, logits, {}, {9, -1, 1}), std::out_of_range);
}

TEST_CASE("logits that are not numbers give weights that are not numbers") {
  const Routed r = route(qk::bestIsa(), {8, 2, true, 1}, Floats(8, kNan), {}, {});
  CHECK(r.experts == Ids{0, 1});
  CHECK(std::isnan(r.weights[0]));
}

TEST_CASE("argmax takes the lowest of equal logits and refuses NaN") {
  const Floats logits = {1, 5, 3, 5};
  CHECK(qk::cpu::argmax(logits.data(), 4) == 1);
  CHECK(qk::cpu::argmax(logits.data(), 1) == 0);
  const Floats bad = {1, kNan};
  CHECK_THROWS_WITH_AS(qk::cpu::argmax(bad.data(), 2), "logit 1 is not a number", std::domain_error);
  CHECK_THROWS_AS(qk::cpu::argmax(bad.data(), 0), std::invalid_argument);
}

TEST_CASE("embed repeats a token's row in every stream and refuses tokens outside the table") {
  const Floats rows = {1, 2, 3, 4, 5, 6};
  qk::Matrix table;
  table.rows = 2;
  table.cols = 3;
  table.data = reinterpret_cast<const std::byte*>(rows.data());
  Floats out = check::poisoned(12);
  qk::cpu::embed(table, 1, 4, out.data());
  CHECK(out == Floats{4, 5, 6, 4, 5, 6, 4, 5, 6, 4, 5, 6});
  CHECK_THROWS_AS(qk::cpu::embed(table, 2, 4, out.data()), std::out_of_range);
  CHECK_THROWS_AS(qk::cpu::embed(table, -1, 4, out.data()), std::out_of_range);
}
