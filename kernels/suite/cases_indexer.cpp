// Owns the cases of selection: indexer scores and queries, top-k, the router, argmax and the embedding.
#include <cmath>
#include <cstring>
#include <limits>

#include "case.h"
#include "qk/argmax.h"
#include "qk/embed.h"
#include "qk/indexer.h"
#include "qk/rope.h"
#include "qk/round_trip.h"
#include "qk/router.h"
#include "qk/top_k.h"

namespace suite {
namespace {

using Ids = std::vector<std::int32_t>;
constexpr double kAny = std::numeric_limits<double>::infinity();

struct IndexerInput {
  std::int64_t heads, dim, n;
  bool rounded;
  std::vector<Floats> keys;
  Floats projected, w;
};

void addScores(Cases& cases, std::int64_t heads, std::int64_t dim, std::int64_t n, bool rounded) {
  const std::string name = std::to_string(heads) + " heads of " + std::to_string(dim) + ", " + std::to_string(n) +
                           " entries" + (rounded ? "" : ", not rounded");
  cases.push_back({"indexer", name, CaseClass::bounded, [=](Setup& setup) -> Run {
    auto in = std::make_shared<IndexerInput>(IndexerInput{heads, dim, n, rounded, {}, {}, {}});
    const qk::Isa first = qk::test::supportedIsas().front();
    for (std::int64_t j = 0; j < n; ++j) {
      in->keys.push_back(setup.random.normals(dim, std::exp(2 * setup.random.normal())));
      if (rounded) qk::cpu::roundTripE2m1(first, in->keys.back().data(), dim);
    }
    in->projected = setup.random.normals(heads * dim);
    in->w = setup.random.normals(heads);
    const auto table = std::make_shared<qk::RopeTable>(std::vector<double>{1.0, 0.2, 0.04, 0.008});
    table->extend(100);
    return [=](const Machine& machine, Check& check) {
      qk::IndexerKeys keys(dim, rounded);
      for (const Floats& key : in->keys) keys.append(key.data());
      Destination finished(heads * dim);
      std::copy(in->projected.begin(), in->projected.end(), finished.data());
      qk::IndexerQuery query;
      qk::cpu::indexerQuery(machine.isa, finished.data(), in->w.data(), heads, dim, 8, table->row(37), rounded, query);
      check.sameEverywhere("query", finished.values());
      Doubles exactQuery = doubles(in->projected);
      qk::reference::rope(exactQuery.data(), heads, dim, {1.0, 0.2, 0.04, 0.008}, 37, false);
      for (std::int64_t h = 0; h < heads; ++h) {
        qk::reference::hadamard(exactQuery.data() + h * dim, dim);
        if (rounded) qk::reference::roundTripE2m1(exactQuery.data() + h * dim, dim);
      }
      // A value within rounding of a tie may take the other level.
      check.near("query", finished, exactQuery, {rounded ? 1e-2 : 1e-12, kAny, 1e-2});
      Doubles wide, weights;
      for (const Floats& key : in->keys) wide.insert(wide.end(), key.begin(), key.end());
      for (const float weight : in->w)
        weights.push_back(static_cast<double>(weight) / std::sqrt(static_cast<double>(heads * dim)));
      Doubles exact(static_cast<std::size_t>(n));
      qk::reference::indexerScores(doubles(finished.values()).data(), weights.data(), heads, dim, wide.data(), n,
                                   exact.data());
      Destination scores(n);
      qk::cpu::indexerScores(machine.isa, query, keys, n, scores.data());
      check.near("scores", scores, exact, {1e-11, kAny});
      for (const std::int64_t fewer : {std::int64_t{1}, n / 2, n - 1}) {
        if (fewer < 1) continue;
        Destination some(fewer);
        qk::cpu::indexerScores(machine.isa, query, keys, fewer, some.data());
        check.bits(std::to_string(fewer) + " of the entries", some,
                   scores.values().subspan(0, static_cast<std::size_t>(fewer)));
      }
    };
  }});
}

void checkTopK(qk::Isa isa, const Floats& scores, std::int64_t k, Check& check) {
  const auto n = static_cast<std::int64_t>(scores.size());
  Ids expected(static_cast<std::size_t>(std::min(n, k))), got(expected.size() + 1, -7);
  qk::reference::topK(doubles(scores).data(), n, k, expected.data());
  const std::int64_t told = qk::cpu::topK(isa, scores.data(), n, k, got.data());
  check.that(told == std::min(n, k), "top-k tells another number of ids");
  check.that(got.back() == -7, "top-k wrote more ids than it tells");
  got.pop_back();
  check.equal(std::to_string(k) + " of " + std::to_string(n), got, expected);
}

void addTopK(Cases& cases) {
  const auto add = [&](const std::string& name, std::function<float(Random&)> score) {
    cases.push_back({"top-k", name, CaseClass::exact, [=](Setup& setup) -> Run {
      std::vector<std::pair<Floats, std::int64_t>> inputs;
      for (int round = 0; round < 60; ++round) {
        Floats scores(static_cast<std::size_t>(1 + setup.random.below(round % 10 == 0 ? 4160 : 300)));
        for (float& value : scores) value = score(setup.random);
        const auto n = static_cast<std::int64_t>(scores.size());
        for (const std::int64_t k : {1 + setup.random.below(n + 3), n, std::int64_t{1}}) inputs.emplace_back(scores, k);
        if (n > 512) inputs.emplace_back(scores, 512);
      }
      return [=](const Machine& machine, Check& check) {
        for (const auto& [scores, k] : inputs) checkTopK(machine.isa, scores, k, check);
      };
    }});
  };
  add("distinct scores", [](Random& r) { return r.normal(); });
  add("many ties", [](Random& r) { return std::round(r.normal()); });
  add("zeros of both signs", [](Random& r) { return r.below(3) == 0 ? r.normal() : r.below(2) == 0 ? 0.0f : -0.0f; });
  add("all equal", [](Random&) { return 0.25f; });
  add("infinities and NaN", [](Random& r) {
    const std::int64_t kind = r.below(8);
    if (kind == 0) return std::numeric_limits<float>::quiet_NaN();
    if (kind == 1) return std::numeric_limits<float>::infinity();
    return kind == 2 ? -std::numeric_limits<float>::infinity() : r.normal();
  });
}

void addRouter(Cases& cases, std::int64_t experts, std::int64_t used, bool normalise, bool hashed) {
  const std::string name = std::to_string(used) + " of " + std::to_string(experts) + (normalise ? "" : ", not normalised") +
                           (hashed ? ", by a table" : "");
  cases.push_back({"router", name, CaseClass::bounded, [=](Setup& setup) -> Run {
    struct Token {
      Floats logits, bias;
      Ids hash;
    };
    std::vector<Token> tokens;
    for (int t = 0; t < 20; ++t) {
      Token token{setup.random.normals(experts, 4), setup.random.normals(experts), {}};
      if (t % 4 == 1) token.bias.clear();
      // Ties go to the lower expert.
      if (t % 4 == 2) std::fill(token.logits.begin(), token.logits.end(), 0.5f);
      if (t % 4 == 2) token.bias.clear();
      for (std::int64_t s = 0; s < used && hashed; ++s)
        token.hash.push_back(static_cast<std::int32_t>((setup.random.below(experts - used) + s) % experts));
      tokens.push_back(token);
    }
    return [=](const Machine& machine, Check& check) {
      const qk::RouterShape shape{experts, used, normalise, 1.5f};
      for (std::size_t t = 0; t < tokens.size(); ++t) {
        const Token& token = tokens[t];
        const float* bias = token.bias.empty() ? nullptr : token.bias.data();
        const std::int32_t* hash = hashed ? token.hash.data() : nullptr;
        Ids got(static_cast<std::size_t>(used), -1), expected(static_cast<std::size_t>(used));
        Destination weights(used), scratch(qk::cpu::routeScratch(shape));
        Doubles exact(static_cast<std::size_t>(used));
        const Doubles wideBias = doubles(token.bias);
        qk::cpu::route(machine.isa, shape, token.logits.data(), bias, hash, scratch.data(), got.data(), weights.data());
        qk::reference::route(shape, 1.5, doubles(token.logits).data(), bias != nullptr ? wideBias.data() : nullptr, hash,
                             expected.data(), exact.data());
        check.equal("experts of token " + std::to_string(t), got, expected);
        check.near("weights of token " + std::to_string(t), weights, exact, {1e-12, 1e-5});
        check.that(scratch.guardsIntact(), "the router wrote outside of its scratch");
      }
    };
  }});
}

void addArgmax(Cases& cases) {
  cases.push_back({"argmax", "the lowest index of the largest", CaseClass::exact, [](Setup& setup) -> Run {
    std::vector<Floats> inputs;
    for (std::int64_t n : {1, 2, 15, 16, 17, 1000, 4099}) {
      inputs.push_back(setup.random.normals(n));
      Floats ties = setup.random.normals(n);
      for (float& value : ties) value = std::round(value);
      inputs.push_back(ties);
      inputs.emplace_back(static_cast<std::size_t>(n), -std::numeric_limits<float>::infinity());
    }
    return [=](const Machine&, Check& check) {
      for (const Floats& logits : inputs) {
        const auto expected = std::max_element(logits.begin(), logits.end()) - logits.begin();
        check.that(qk::cpu::argmax(logits.data(), static_cast<std::int64_t>(logits.size())) == expected,
                   "another index than the lowest of the largest");
      }
      Floats bad(40, 1.0f);
      bad[20] = std::numeric_limits<float>::quiet_NaN();
      bool refused = false;
      try {
        qk::cpu::argmax(bad.data(), 40);
      } catch (const std::domain_error&) {
        refused = true;
      }
      check.that(refused, "a NaN among the logits was accepted");
    };
  }});
}

void addEmbed(Cases& cases) {
  using qk::Type;
  for (const Type type : {Type::F32, Type::F16, Type::BF16, Type::Q8_0, Type::Q4_0, Type::ROCmFP4_FAST}) {
    cases.push_back({"embed", std::string(qk::format(type).name), CaseClass::exact, [=](Setup& setup) -> Run {
      const auto table = std::make_shared<qk::test::Weights>(qk::test::randomWeights(setup.random.engine(), type, 7, 96));
      return [=](const Machine&, Check& check) {
        for (const std::int64_t token : {0, 3, 6}) {
          Floats row(96), expected;
          qk::dequantize(type, table->matrix.row(token), 96, row.data());
          for (int s = 0; s < 4; ++s) expected.insert(expected.end(), row.begin(), row.end());
          Destination out(4 * 96);
          qk::cpu::embed(table->matrix, token, 4, out.data());
          check.bits("token " + std::to_string(token), out, expected);
        }
      };
    }});
  }
}

}  // namespace

void addIndexerCases(Cases& cases, bool thorough) {
  for (const bool rounded : {true, false}) {
    addScores(cases, 1, 32, 1, rounded);
    addScores(cases, 3, 64, 17, rounded);
    addScores(cases, 8, 128, 100, rounded);
    addScores(cases, 64, 128, thorough ? 600 : 65, rounded);
  }
  addTopK(cases);
  for (const bool hashed : {false, true}) {
    addRouter(cases, 16, 4, true, hashed);
    addRouter(cases, 64, 6, true, hashed);
    addRouter(cases, 255, 6, false, hashed);
    addRouter(cases, 256, 6, true, hashed);
  }
  addArgmax(cases);
  addEmbed(cases);
}

}  // namespace suite
