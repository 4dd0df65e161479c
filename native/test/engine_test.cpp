// Requests: cache accounting, stop tokens, cancellation, refusals; switches and the prefix cache by
// themselves.
#include <doctest/doctest.h>

#include "engine/prefix_cache.h"
#include "engine/timings.h"
#include "test_models.h"

using test::open;
using test::prompt;

namespace {

qe::Switches readSwitches(const std::map<std::string, std::string>& environment) {
  return qe::Switches::read([&](const std::string& name) -> std::optional<std::string> {
    const auto entry = environment.find(name);
    return entry == environment.end() ? std::nullopt : std::optional<std::string>(entry->second);
  });
}

// 16 bytes a token: one layer of plain keys.
qk::Dimensions slimDimensions() {
  qk::Dimensions dimensions;
  dimensions.headDim = 4;
  dimensions.ratios = {0};
  return dimensions;
}

qe::PrefixCache makeSlimCache(int slots, std::int64_t mostTokens) {
  return {slots, 16 * mostTokens, [] { return std::make_unique<qe::State>(slimDimensions(), 100); }};
}

// A cache over states without layers: only tokens matter.
qe::PrefixCache makeCache(int slots) {
  return {slots, 0, [] { return std::make_unique<qe::State>(qk::Dimensions{}, 100); }};
}

// Plays a request: takes a state and evaluates the rest of the tokens. Returns how many were held already.
std::int64_t play(qe::PrefixCache& cache, const std::vector<std::int32_t>& tokens, bool reuse = true) {
  qe::State& state = cache.acquire(tokens, reuse);
  const std::int64_t held = state.length();
  state.reserve(static_cast<std::int64_t>(tokens.size()) - held);
  state.append(tokens.data() + held, static_cast<std::int64_t>(tokens.size()) - held);
  return held;
}

}  // namespace

TEST_CASE("switches have the field's defaults and report what is in effect") {
  const qe::Switches switches = readSwitches({});
  CHECK(switches.effective().at("DFLASH_MOE_GROUPED_MMID_PREFILL") == "1");
  CHECK(switches.effective().at("DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS") == "32");
  CHECK(switches.effective().size() == 13);
  CHECK_FALSE(switches.grouped(31));
  CHECK(switches.grouped(32));
  const qe::Switches set = readSwitches(
      {{"DFLASH_MOE_GROUPED_MMID_PREFILL", "0"}, {"DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS", "512"}});
  CHECK(set.effective().at("DFLASH_MOE_GROUPED_MMID_PREFILL") == "0");
  CHECK(set.effective().at("DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS") == "512");
  CHECK_FALSE(set.grouped(4096));
}

TEST_CASE("a bad switch names the variable, its value and what is allowed") {
  CHECK_THROWS_WITH(readSwitches({{"DFLASH_MOE_GROUPED_MMID_PREFILL", "yes"}}),
                    "DFLASH_MOE_GROUPED_MMID_PREFILL=\"yes\" is not understood: allowed are 0 and 1");
  for (const char* bad : {"", "0", "-1", "12x", "1.5", "9999999999999999999", "1048577"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(readSwitches({{"DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS", bad}}), std::invalid_argument);
  }
}

TEST_CASE("the last token of a prompt is always evaluated") {
  qe::PrefixCache cache = makeCache(2);
  CHECK(play(cache, {1, 2, 3, 4}) == 0);
  CHECK(play(cache, {1, 2, 3, 4}) == 3);
  CHECK(play(cache, {1}) == 0);
}

TEST_CASE("a request without reuse starts from nothing and leaves its tokens behind") {
  qe::PrefixCache cache = makeCache(2);
  CHECK(play(cache, {1, 2, 3}, false) == 0);
  CHECK(play(cache, {1, 2, 3}, false) == 0);
  CHECK(play(cache, {1, 2, 3, 4}) == 3);
}

TEST_CASE("a cache of no slots never reuses") {
  qe::PrefixCache cache = makeCache(0);
  CHECK(play(cache, {1, 2, 3}) == 0);
  CHECK(play(cache, {1, 2, 3}) == 0);
}

TEST_CASE("the least recently used sequence is given up first") {
  qe::PrefixCache cache = makeCache(2);
  play(cache, {1, 1, 1});
  play(cache, {2, 2, 2});
  CHECK(play(cache, {1, 1, 1, 1}) == 3);
  CHECK(play(cache, {3, 3, 3}) == 0);  // takes the place of 2
  CHECK(play(cache, {1, 1, 1, 1, 1}) == 4);
  CHECK(play(cache, {2, 2, 2}) == 0);
}

TEST_CASE("a short common prefix is copied, so that the longer sequence stays") {
  qe::PrefixCache cache = makeCache(2);
  play(cache, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(play(cache, {1, 2, 9, 9}) == 2);
  CHECK(play(cache, {1, 2, 3, 4, 5, 6, 7, 8, 9}) == 8);
}

TEST_CASE("the slots together hold no more than their bytes") {
  qe::PrefixCache cache = makeSlimCache(4, 10);
  play(cache, {1, 1, 1, 1});
  play(cache, {2, 2, 2, 2});
  CHECK(cache.bytes() == 16 * 8);
  play(cache, {3, 3, 3, 3});  // takes the memory of 1
  CHECK(cache.bytes() == 16 * 8);
  CHECK(play(cache, {2, 2, 2, 2, 2}) == 4);
  CHECK(play(cache, {3, 3, 3, 3, 3}) == 4);
  CHECK(cache.bytes() == 16 * 10);
  CHECK(play(cache, {2, 2, 2, 2, 2, 2, 2}) == 5);  // grows, so 3 has to go
  CHECK(cache.bytes() == 16 * 7);
  CHECK(play(cache, {3, 3}) == 0);
}

TEST_CASE("a sequence beyond the bytes of all slots runs alone, and leaves no memory to a short one") {
  qe::PrefixCache cache = makeSlimCache(4, 10);
  const std::vector<std::int32_t> longest(30, 7);
  play(cache, {1, 1, 1, 1});
  CHECK(play(cache, longest) == 0);
  CHECK(cache.bytes() == 16 * 30);
  play(cache, {1, 1, 1, 1});
  CHECK(cache.bytes() == 16 * 4);
}

TEST_CASE("a twin request tells honestly what it took from the cache") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
  const std::vector<std::int32_t> tokens = prompt(50);
  const qe::Result cold = engine.complete({.tokens = tokens, .reuseCache = false}, nullptr, test::never);
  CHECK(cold.cacheTokens == 0);
  CHECK(cold.evaluatedTokens == 50);
  CHECK(cold.tokens.empty());
  CHECK(cold.logits.size() == 512);
  const qe::Result twin = engine.complete({.tokens = tokens}, nullptr, test::never);
  CHECK(twin.cacheTokens == 49);
  CHECK(twin.evaluatedTokens == 1);
  CHECK(twin.logits == cold.logits);
  CHECK(engine.counters().at("cache.tokens") == 49);
  CHECK(engine.counters().at("prefill.tokens") == 51);
}

TEST_CASE("a stop token ends the output and is its last token") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
  const qe::Result free =
      engine.complete({.tokens = prompt(40), .generatedTokens = 6}, nullptr, test::never);
  REQUIRE(free.tokens.size() == 6);
  CHECK(free.stopReason == qe::StopReason::Limit);
  std::vector<std::int32_t> seen;
  const qe::Result stopped = engine.complete(
      {.tokens = prompt(40), .generatedTokens = 6, .stopTokens = {free.tokens[2]}},
      [&](std::int32_t token) { seen.push_back(token); }, test::never);
  CHECK(stopped.stopReason == qe::StopReason::Stop);
  CHECK(stopped.tokens == std::vector<std::int32_t>(free.tokens.begin(), free.tokens.begin() + 3));
  CHECK(seen == stopped.tokens);
  CHECK(stopped.logits.size() == 3 * 512);
}

TEST_CASE("a cancelled request ends between chunks or tokens and harms nothing") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
  const std::vector<float> expected =
      engine.complete({.tokens = prompt(60), .reuseCache = false}, nullptr, test::never).logits;
  std::atomic<bool> cancelled{true};
  const qe::Result before = engine.complete({.tokens = prompt(60)}, nullptr, cancelled);
  CHECK(before.stopReason == qe::StopReason::Cancelled);
  CHECK(before.evaluatedTokens == 0);
  cancelled = false;
  const qe::Result during = engine.complete(
      {.tokens = prompt(60), .generatedTokens = 9, .reuseCache = false},
      [&](std::int32_t) { cancelled = true; }, cancelled);
  CHECK(during.stopReason == qe::StopReason::Cancelled);
  CHECK(during.tokens.size() == 1);
  CHECK(during.logits.size() == 512);
  CHECK(engine.complete({.tokens = prompt(60)}, nullptr, test::never).logits == expected);
}

TEST_CASE("what cannot run is refused before any work") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"), {.contextTokens = 64});
  const auto refusal = [&](const qe::Request& request) -> std::string {
    try {
      engine.complete(request, nullptr, test::never);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(refusal({.tokens = {}}) == "tokens must not be empty");
  CHECK(refusal({.tokens = {1, 512}}) == "tokens[1] is 512, outside a vocabulary of 512");
  CHECK(refusal({.tokens = {-1}}) == "tokens[0] is -1, outside a vocabulary of 512");
  CHECK(refusal({.tokens = {1}, .chunk = 0}) == "chunk must be at least 1");
  CHECK(refusal({.tokens = prompt(60), .generatedTokens = 5}) ==
        "tokens: a prompt of 60 and 5 generated tokens do not fit into a context of 64");
  CHECK(refusal({.tokens = prompt(60), .generatedTokens = 4}) == "accepted");
  CHECK(engine.counters().at("prefill.chunks") == 1);
}

TEST_CASE("the stages of a prefill add up to its time") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
  const qe::Result result = engine.complete({.tokens = prompt(80), .chunk = 40}, nullptr, test::never);
  double sum = 0;
  for (const auto& [stage, ms] : result.stages) sum += ms;
  CHECK(result.stages.size() == qe::kStages);
  CHECK(result.stages.at("moe_down") > 0);
  CHECK(sum <= result.promptMs);
  CHECK(sum > 0);
}

TEST_CASE("memory is told by what it is for") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
  CHECK(engine.memory().at("cache") == 0);
  engine.complete({.tokens = prompt(80)}, nullptr, test::never);
  CHECK(engine.memory().at("cache") > 0);
  CHECK(engine.memory().at("weights") > 0);
  CHECK(engine.memory().at("workspace") > 0);
}

TEST_CASE("the workspace does not grow with the chunk, nor the cache with requests") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
  engine.complete({.tokens = prompt(600), .chunk = 512, .reuseCache = false}, nullptr, test::never);
  const std::int64_t workspace = engine.memory().at("workspace");
  const std::int64_t sequence = engine.memory().at("cache");
  engine.complete({.tokens = prompt(600, 2), .chunk = 600, .reuseCache = false}, nullptr, test::never);
  CHECK(engine.memory().at("workspace") == workspace);
  for (const std::uint64_t seed : {3U, 4U, 5U, 6U}) {
    engine.complete({.tokens = prompt(600, seed), .chunk = 600, .reuseCache = false}, nullptr, test::never);
  }
  CHECK(engine.memory().at("cache") == std::min<std::int64_t>(4, (32 << 20) / sequence) * sequence);
}

TEST_CASE("an engine refuses a context beyond the model's") {
  CHECK_THROWS_AS(open(test::Models::get().unit("rocmfp2"), {.contextTokens = 1 << 24}),
                  std::invalid_argument);
}
