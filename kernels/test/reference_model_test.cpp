// The oracle is held to what its formulae say about who can influence whom; its operations have tests of
// their own.
#include "qk/reference_model.h"

#include <map>

#include "operation_check.h"

using qk::reference::Values;
using Tokens = std::vector<std::int32_t>;

namespace {

qk::Dimensions tiny(std::vector<std::int32_t> ratios) {
  qk::Dimensions d;
  d.layers = static_cast<std::int64_t>(ratios.size());
  d.ratios = std::move(ratios);
  d.hidden = 24;
  d.vocabulary = 40;
  d.heads = 4;
  d.headDim = 24;
  d.ropeDims = 8;
  d.queryRank = 10;
  d.outputGroups = 2;
  d.outputRank = 6;
  d.window = 8;
  d.indexerHeads = 2;
  d.indexerDim = 32;
  d.indexerTopK = 100;
  d.experts = 5;
  d.expertsUsed = 2;
  d.expertHidden = 12;
  d.sharedExperts = 1;
  d.expertScale = 1.5;
  d.swigluClamp.assign(d.ratios.size(), 10.0f);
  d.streams = 3;
  d.sinkhornRounds = 20;
  d.hyperEps = 1e-6;
  d.rmsEps = 1e-6;
  d.ropeBase = 10000;
  d.compressRopeBase = 160000;
  d.yarnFactor = 16;
  d.yarnOriginalContext = 65536;
  d.yarnBetaFast = 32;
  d.yarnBetaSlow = 1;
  return d;
}

// Sizes of all tensors, found by asking: every name is answered with the size that the complaint names.
std::map<std::string, std::int64_t> sizesOf(const qk::Dimensions& d) {
  std::map<std::string, std::int64_t> sizes;
  for (;;) {
    std::string asked;
    try {
      qk::reference::loadWeights(d, [&](const std::string& name) {
        asked = name;
        return Values(static_cast<std::size_t>(sizes[name]), 0.0);
      });
      return sizes;
    } catch (const std::invalid_argument& error) {
      const std::string message = error.what();
      sizes[asked] = std::stoll(message.substr(message.rfind(' ')));
    }
  }
}

qk::reference::Weights randomWeights(check::Random& random, const qk::Dimensions& d) {
  const auto sizes = sizesOf(d);
  return qk::reference::loadWeights(d, [&](const std::string& name) {
    Values values;
    for (std::int64_t i = 0; i < sizes.at(name); ++i) {
      const bool table = name.find("tid2eid") != std::string::npos;
      values.push_back(table ? static_cast<double>(random.below(d.experts))
                             : static_cast<double>(random.normal()) * 0.5);
    }
    return values;
  });
}

Tokens randomTokens(check::Random& random, const qk::Dimensions& d, std::int64_t n) {
  Tokens tokens;
  for (std::int64_t i = 0; i < n; ++i)
    tokens.push_back(static_cast<std::int32_t>(random.below(d.vocabulary)));
  return tokens;
}

// Whether the logits at `query` change when the token at `changed` does.
bool influences(const qk::reference::Model& model, Tokens tokens, std::int64_t changed, std::int64_t query) {
  const auto row = [&](const Values& logits) {
    const auto start = logits.begin() + query * model.dimensions().vocabulary;
    return Values(start, start + model.dimensions().vocabulary);
  };
  const Values before = row(model.forward(tokens));
  std::int32_t& token = tokens[static_cast<std::size_t>(changed)];
  token = (token + 1) % static_cast<std::int32_t>(model.dimensions().vocabulary);
  return row(model.forward(tokens)) != before;
}

}  // namespace

TEST_CASE("logits are finite, and a prefix has the logits that it has inside a longer sequence") {
  check::Random random;
  INFO("seed ", random.seed());
  qk::Dimensions d = tiny({0, 4, 128});
  d.hashLayers = 1;
  d.indexerTopK = 3;
  const qk::reference::Model model(d, randomWeights(random, d));
  const Tokens tokens = randomTokens(random, d, 140);
  const Values whole = model.forward(tokens);
  REQUIRE(whole.size() == static_cast<std::size_t>(140 * d.vocabulary));
  for (const double logit : whole) REQUIRE(std::isfinite(logit));
  for (const std::int64_t n : {1, 3, 4, 77, 128}) {
    const Values part = model.forward(Tokens(tokens.begin(), tokens.begin() + n));
    CHECK(part == Values(whole.begin(), whole.begin() + n * d.vocabulary));
  }
}

TEST_CASE("a window layer sees exactly the last `window` tokens, itself included") {
  check::Random random;
  INFO("seed ", random.seed());
  const qk::Dimensions d = tiny({0});
  const qk::reference::Model model(d, randomWeights(random, d));
  const Tokens tokens = randomTokens(random, d, 20);
  CHECK(influences(model, tokens, 15, 15));
  CHECK(influences(model, tokens, 8, 15));
  CHECK_FALSE(influences(model, tokens, 7, 15));
}

TEST_CASE("a block of 4 becomes visible at its last token, and takes part in the entry after it") {
  check::Random random;
  INFO("seed ", random.seed());
  qk::Dimensions d = tiny({4});
  d.window = 1;
  const qk::reference::Model model(d, randomWeights(random, d));
  const Tokens tokens = randomTokens(random, d, 12);
  CHECK_FALSE(influences(model, tokens, 1, 2));
  CHECK(influences(model, tokens, 1, 3));
  CHECK_FALSE(influences(model, tokens, 5, 6));
  CHECK(influences(model, tokens, 5, 7));
  d.indexerTopK = 0;
  CHECK_FALSE(influences(qk::reference::Model(d, randomWeights(random, d)), tokens, 1, 11));
}

TEST_CASE("a block of 128 becomes visible at its last token") {
  check::Random random;
  INFO("seed ", random.seed());
  qk::Dimensions d = tiny({128});
  d.window = 1;
  const qk::reference::Model model(d, randomWeights(random, d));
  const Tokens tokens = randomTokens(random, d, 130);
  CHECK_FALSE(influences(model, tokens, 5, 126));
  CHECK(influences(model, tokens, 5, 127));
  CHECK_FALSE(influences(model, tokens, 128, 129));
}

TEST_CASE("a hash layer routes by token id, any other by its input") {
  check::Random random;
  INFO("seed ", random.seed());
  qk::Dimensions d = tiny({0, 0});
  d.hashLayers = 1;
  qk::reference::Weights weights = randomWeights(random, d);
  const Tokens tokens = {3, 7, 3};
  const Values before = qk::reference::Model(d, weights).forward(tokens);
  for (std::int64_t i = 0; i < 2; ++i) {
    std::int32_t& id = weights.layers[0].hashTable[static_cast<std::size_t>(7 * 2 + i)];
    id = (id + 1) % 5;
  }
  const Values after = qk::reference::Model(d, weights).forward(tokens);
  CHECK(Values(after.begin(), after.begin() + d.vocabulary) ==
        Values(before.begin(), before.begin() + d.vocabulary));
  CHECK(Values(after.begin() + d.vocabulary, after.begin() + 2 * d.vocabulary) !=
        Values(before.begin() + d.vocabulary, before.begin() + 2 * d.vocabulary));
}

TEST_CASE("a tensor of the wrong size and a token outside the vocabulary are named") {
  const qk::Dimensions d = tiny({0});
  CHECK_THROWS_WITH_AS(qk::reference::loadWeights(d, [](const std::string&) { return Values(3); }),
                       "tensor token_embd.weight has 3 values, not 960", std::invalid_argument);
  check::Random random;
  const qk::reference::Model model(d, randomWeights(random, d));
  CHECK_THROWS_WITH_AS(model.forward({40}), "token 40 is outside the vocabulary of 40", std::out_of_range);
  CHECK_THROWS_AS(qk::reference::Model(tiny({0, 0}), randomWeights(random, d)), std::invalid_argument);
}
