// The bits of the logits depend on the file and the tokens alone: chunks, threads, plans, instruction sets,
// prefix reuse and earlier requests do not show in them.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "test_models.h"

namespace {

using test::open;
using test::prompt;

// Beyond one window and two blocks of 128, and past the point where the indexer has to choose. The
// sanitizers' builds are some fifty times slower, so there the prompt stops where every path has just been
// taken.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kTokens = 140;
constexpr std::size_t kLongTokens = 300;
constexpr std::size_t kKindTokens = 70;  // which weights they are says nothing of windows and blocks
constexpr std::int64_t kChunks[] = {1, 7, 32, 128, 2048};
constexpr std::size_t kCuts[] = {1, 5, 127, 128, 129, kTokens - 1, kTokens};
#else
constexpr std::size_t kTokens = 300;
constexpr std::size_t kLongTokens = 2100;
constexpr std::size_t kKindTokens = kTokens;
constexpr std::int64_t kChunks[] = {1, 7, 32, 128, 401, 512, 2048};
constexpr std::size_t kCuts[] = {1, 2, 3, 5, 64, 127, 128, 129, kTokens - 1, kTokens};
#endif

// Index of the first position whose row differs, -1 when all bits are equal.
std::ptrdiff_t firstDifference(const std::vector<float>& a, const std::vector<float>& b, std::size_t width) {
  REQUIRE(a.size() == b.size());
  for (std::size_t row = 0; row < a.size() / width; ++row) {
    if (std::memcmp(&a[row * width], &b[row * width], width * sizeof(float)) != 0)
      return static_cast<std::ptrdiff_t>(row);
  }
  return -1;
}

std::vector<float> rowOf(const std::vector<float>& all, std::size_t row, std::size_t width) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {begin, begin + static_cast<std::ptrdiff_t>(width)};
}

// All-position logits, whole prompt in one chunk, one thread.
std::vector<float> baseline(const std::filesystem::path& path, const std::vector<std::int32_t>& tokens) {
  qe::Engine engine = open(path, {.threads = 1});
  std::vector<float> rows = engine.logits(tokens, static_cast<std::int64_t>(tokens.size()), test::never);
  for (const float value : rows) REQUIRE(std::isfinite(value));
  return rows;
}

const std::vector<float>& unitBaseline() {
  static const std::vector<float> rows = baseline(test::Models::get().unit("rocmfp2"), prompt(kTokens));
  return rows;
}

}  // namespace

TEST_CASE("chunks do not change the bits") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
  for (const std::int64_t chunk : kChunks) {
    CAPTURE(chunk);
    CHECK(firstDifference(engine.logits(prompt(kTokens), chunk, test::never), unitBaseline(), 512) == -1);
  }
}

TEST_CASE("threads do not change the bits") {
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    qe::Engine engine = open(test::Models::get().unit("rocmfp2"), {.threads = threads});
    CHECK(firstDifference(engine.logits(prompt(kTokens), 128, test::never), unitBaseline(), 512) == -1);
  }
}

TEST_CASE("serial and grouped experts give the same bits and are counted apart") {
  qe::Engine grouped = open(test::Models::get().unit("rocmfp2"), {.grouped = true});
  qe::Engine serial = open(test::Models::get().unit("rocmfp2"), {.grouped = false});
  CHECK(firstDifference(grouped.logits(prompt(kTokens), 128, test::never), unitBaseline(), 512) == -1);
  CHECK(firstDifference(serial.logits(prompt(kTokens), 128, test::never), unitBaseline(), 512) == -1);
  CHECK(serial.counters().at("mmid.serial.expert") > 0);
  CHECK(serial.counters().at("mmid.grouped.gate_up") == 0);
  CHECK(grouped.counters().at("mmid.grouped.gate_up") > 0);
}

TEST_CASE("a chunk below DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS runs one expert at a time") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
  engine.logits(prompt(64), 31, test::never);
  CHECK(engine.counters().at("mmid.grouped.gate_up") == 0);
  engine.logits(prompt(32), 32, test::never);
  CHECK(engine.counters().at("mmid.grouped.gate_up") == 4);  // layers
}

TEST_CASE("instruction sets do not change the bits") {
  for (const qk::Isa isa : {qk::Isa::portable, qk::Isa::avx2, qk::Isa::avx512}) {
    CAPTURE(qk::name(isa));
    if (!qk::supported(isa)) {
      CHECK_THROWS_AS(open(test::Models::get().unit("rocmfp2"), {.isa = isa}), std::invalid_argument);
      continue;
    }
    qe::Engine engine = open(test::Models::get().unit("rocmfp2"), {.isa = isa});
    CHECK(engine.isa() == qk::name(isa));
    CHECK(firstDifference(engine.logits(prompt(kTokens), 128, test::never), unitBaseline(), 512) == -1);
  }
}

TEST_CASE("the ways to attention's rows do not change the bits and are counted apart") {
  const auto runWith = [](bool direct, bool stream, bool stage, bool fastExp) {
    qe::Switches switches;
    switches.directTopK = direct;
    switches.streamTopK = stream;
    switches.streamStage = stage;
    switches.streamFastExp = fastExp;
    qe::Engine engine = open(test::Models::get().unit("rocmfp2"), {.switches = switches});
    const std::vector<float> rows = engine.logits(prompt(kTokens), 128, test::never);
    const std::map<std::string, std::uint64_t> all = engine.counters();
    std::string ran;
    for (const char* name : {"masked", "gathered", "streamed", "staged", "fast_exp", "mask_scan"}) {
      if (all.at(std::string("attention.") + name) > 0) ran += std::string(ran.empty() ? "" : " ") + name;
    }
    return std::pair(firstDifference(rows, unitBaseline(), 512) == -1, ran);
  };
  using Ran = std::pair<bool, std::string>;
  CHECK(runWith(false, false, true, false) == Ran(true, "masked"));
  CHECK(runWith(true, false, true, false) == Ran(true, "gathered"));
  CHECK(runWith(false, true, false, false) == Ran(true, "streamed mask_scan"));
  CHECK(runWith(true, true, false, false) == Ran(true, "streamed"));
  CHECK(runWith(false, true, true, false) == Ran(true, "streamed staged mask_scan"));
  CHECK(runWith(true, true, true, false) == Ran(true, "streamed staged"));
  CHECK(runWith(true, true, true, true) == Ran(false, "streamed staged fast_exp"));
}

TEST_CASE("every kind of weights is exact") {
  const std::vector<std::int32_t> tokens = prompt(kKindTokens);
  for (const std::filesystem::path& path :
       {test::Models::get().unit("q4_0"), test::Models::get().unit("q8_0"),
        test::Models::get().stress(true)}) {
    CAPTURE(path.filename().string());
    const std::vector<float> whole = baseline(path, tokens);
    qe::Engine engine = open(path, {.threads = 3, .isa = qk::Isa::portable, .grouped = false});
    CHECK(firstDifference(engine.logits(tokens, 37, test::never), whole, 512) == -1);
  }
}

TEST_CASE("a reused prefix gives the bits of a cold run wherever it is cut") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
  const std::vector<std::int32_t> tokens = prompt(kTokens);
  const std::vector<float> last = rowOf(unitBaseline(), kTokens - 1, 512);
  for (const std::size_t cut : kCuts) {
    CAPTURE(cut);
    // another sequence that starts alike
    std::vector<std::int32_t> other = tokens;
    other.resize(cut);
    for (const std::int32_t id : prompt(40, 77))
      other.push_back(id == tokens[cut % kTokens] ? (id + 1) % 512 : id);
    engine.complete({.tokens = other, .chunk = 19, .reuseCache = false}, nullptr, test::never);
    const qe::Result reused = engine.complete({.tokens = tokens, .chunk = 50}, nullptr, test::never);
    CHECK(reused.cacheTokens >= static_cast<std::int64_t>(std::min(cut, kTokens - 1)));
    CHECK(reused.cacheTokens + reused.evaluatedTokens == static_cast<std::int64_t>(kTokens));
    CHECK(firstDifference(reused.logits, last, 512) == -1);
  }
}

TEST_CASE("a fresh engine reuses exactly the common prefix") {
  const std::vector<std::int32_t> tokens = prompt(kTokens);
  for (const std::int64_t cut : {6, 77, 130}) {
    CAPTURE(cut);
    qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
    std::vector<std::int32_t> other(tokens.begin(), tokens.begin() + cut);
    other.push_back((tokens[static_cast<std::size_t>(cut)] + 1) % 512);
    other.push_back(3);
    engine.complete({.tokens = other, .chunk = 64}, nullptr, test::never);
    const qe::Result reused = engine.complete({.tokens = tokens, .chunk = 64}, nullptr, test::never);
    CHECK(reused.cacheTokens == cut);
    CHECK(firstDifference(reused.logits, rowOf(unitBaseline(), kTokens - 1, 512), 512) == -1);
  }
}

TEST_CASE("what ran before does not change the bits") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"), {.cacheSlots = 1});
  for (const std::uint64_t seed : {5U, 6U}) {
    engine.complete({.tokens = prompt(kTokens / 2, seed), .generatedTokens = 3, .chunk = 33}, nullptr,
                    test::never);
  }
  const qe::Result result =
      engine.complete({.tokens = prompt(kTokens), .chunk = 512, .reuseCache = false}, nullptr, test::never);
  CHECK(result.cacheTokens == 0);
  CHECK(firstDifference(result.logits, rowOf(unitBaseline(), kTokens - 1, 512), 512) == -1);
}

TEST_CASE("decoding n tokens gives the bits of a prefill of prompt and tokens") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"));
  std::vector<std::int32_t> tokens = prompt(kTokens - 20);
  const qe::Result decoded =
      engine.complete({.tokens = tokens, .generatedTokens = 12}, nullptr, test::never);
  REQUIRE(decoded.tokens.size() == 12);
  REQUIRE(decoded.logits.size() == 12 * 512);
  const std::size_t promptTokens = tokens.size();
  tokens.insert(tokens.end(), decoded.tokens.begin(), decoded.tokens.end() - 1);
  const std::vector<float> prefilled = engine.logits(tokens, 512, test::never);
  for (std::size_t step = 0; step < 12; ++step) {
    CAPTURE(step);
    CHECK(firstDifference(rowOf(decoded.logits, step, 512), rowOf(prefilled, promptTokens - 1 + step, 512),
                          512) == -1);
  }
}

TEST_CASE("a long prompt is exact") {
  const std::vector<std::int32_t> tokens = prompt(kLongTokens, 9);
  const std::vector<float> whole = baseline(test::Models::get().unit("rocmfp2"), tokens);
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"), {.threads = 3, .grouped = false});
  CHECK(firstDifference(engine.logits(tokens, 512, test::never), whole, 512) == -1);
}

// Cuts beyond the rows that a long sequence keeps of its compressors go back to a multiple of 128.
TEST_CASE("a long sequence is reused from a checkpoint with the bits of a cold run") {
  qe::Engine engine = open(test::Models::get().unit("rocmfp2"), {.contextTokens = 4400});
  const std::vector<std::int32_t> tokens = prompt(kLongTokens, 9);
  engine.complete({.tokens = tokens, .chunk = 700, .reuseCache = false}, nullptr, test::never);
  for (const std::size_t cut : {kLongTokens - 5, std::size_t{200}, std::size_t{130}}) {
    CAPTURE(cut);
    std::vector<std::int32_t> other(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(cut));
    for (std::size_t i = cut; i < cut + 50; ++i) other.push_back((tokens[i % kLongTokens] + 1) % 512);
    const qe::Result reused = engine.complete({.tokens = other, .chunk = 50}, nullptr, test::never);
    CHECK(reused.cacheTokens >= static_cast<std::int64_t>(cut / 128 * 128));
    CHECK(reused.cacheTokens <= static_cast<std::int64_t>(cut));
    const qe::Result cold =
        open(test::Models::get().unit("rocmfp2")).complete({.tokens = other}, nullptr, test::never);
    CHECK(firstDifference(reused.logits, cold.logits, 512) == -1);
  }
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("DFLASH_DS4_LONG_CONTEXT_CHUNK bounds a long context's slices, changes no bit and leaves nothing behind") {
  const std::vector<std::int32_t> longest = prompt(4200, 3);
  const std::vector<std::int32_t> brief = prompt(300, 4);
  const auto request = [](const std::vector<std::int32_t>& tokens) {
    return qe::Request{.tokens = tokens, .chunk = 8192, .reuseCache = false};
  };
  // A slice sorts its routes once a layer.
  const auto slices = [](qe::Engine& engine, const qe::Request& what, std::vector<float>& logits) {
    const std::uint64_t before = engine.counters().at("route_sort");
    logits = engine.complete(what, nullptr, test::never).logits;
    return (engine.counters().at("route_sort") - before) / 4;
  };
  std::vector<float> expectedLong, expectedBrief, logits;
  qe::Engine whole = open(test::Models::get().unit("rocmfp2"), {.contextTokens = 4400});
  const std::uint64_t briefSlices = slices(whole, request(brief), expectedBrief);
  CHECK(slices(whole, request(longest), expectedLong) == (4200 + 255) / 256);
  qe::Switches switches;
  switches.longContextChunk = 100;
  qe::Engine narrow =
      open(test::Models::get().unit("rocmfp2"), {.contextTokens = 4400, .switches = switches});
  CHECK(slices(narrow, request(longest), logits) == 42);
  CHECK(firstDifference(logits, expectedLong, 512) == -1);
  CHECK(slices(narrow, request(brief), logits) == briefSlices);
  CHECK(firstDifference(logits, expectedBrief, 512) == -1);
}
#endif
