// A planted fault changes the bits where it strikes and nowhere else, the same way on every instruction set, plan and
// path; logits that are no numbers are counted.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "engine/gguf_reader.h"
#include "test_models.h"

namespace {

using test::prompt;

// Past one window, past the point where the indexer of `unit` has to choose, and past two blocks of 128.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kTokens = 140;
#else
constexpr std::size_t kTokens = 300;
#endif

struct Outcome {
  std::vector<float> logits;
  std::vector<std::int32_t> tokens;
  std::uint64_t struck = 0;
};

Outcome runWith(qe::Fault fault, const std::vector<std::int32_t>& tokens, test::Setup setup = {},
                std::int64_t chunk = 128) {
  setup.plantedFault = fault;
  qe::Engine engine = test::open(test::Models::get().unit("rocmfp2"), setup);
  CHECK(engine.plantedFault() == fault);
  const qe::Result result =
      engine.complete({.tokens = tokens, .generatedTokens = 4, .chunk = chunk}, nullptr, test::never);
  const std::map<std::string, std::uint64_t> counters = engine.counters();
  CHECK(counters.contains("fault.struck") == (fault != qe::Fault::None));
  return {result.logits, result.tokens, counters.contains("fault.struck") ? counters.at("fault.struck") : 0};
}

bool sameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<qe::Fault> faults() {
  std::vector<qe::Fault> all;
  for (const std::string& name : qe::faultNames()) all.push_back(qe::faultNamed(name));
  return all;
}

test::Setup paths(bool direct, bool stream, test::Setup setup = {}) {
  setup.switches.directTopK = direct;
  setup.switches.streamTopK = stream;
  return setup;
}

// Each instruction set of this CPU, plan, path, chunk and number of threads, and the chunk that goes with it.
std::vector<std::pair<test::Setup, std::int64_t>> otherWays([[maybe_unused]] qe::Fault fault) {
  std::vector<std::pair<test::Setup, std::int64_t>> ways;
#ifdef __SANITIZE_ADDRESS__
  // Which of them are together says nothing of who reads where: a few hold them all. The portable kernels, slow beyond
  // all others here, run with one fault: no fault is theirs, and the tests of exactness hold them to the rest.
  const std::vector<test::Setup> setups = {paths(false, true, {.threads = 3}), paths(true, false, {.grouped = false}),
                                           paths(true, true), paths(false, false)};
  const std::vector<std::int64_t> chunks = {37, 512, 64, 128};
  const qk::Isa first = fault == faults().front() ? qk::Isa::portable : qk::bestIsa();
  const std::vector<qk::Isa> isas = {first, qk::Isa::avx2, qk::Isa::avx512, qk::bestIsa()};
  for (std::size_t i = 0; i < setups.size(); ++i) {
    ways.emplace_back(setups[i], chunks[i]);
    if (qk::supported(isas[i])) ways.back().first.isa = isas[i];
  }
  ways.back().first.switches.owners = 2;
#else
  ways.emplace_back(test::Setup{.threads = 3}, 37);
  ways.emplace_back(test::Setup{.grouped = false}, 512);
  for (const qk::Isa isa : {qk::Isa::portable, qk::Isa::avx2, qk::Isa::avx512}) {
    if (qk::supported(isa)) ways.emplace_back(test::Setup{.isa = isa}, 64);
  }
  for (const bool direct : {false, true}) {
    for (const bool stream : {false, true}) ways.emplace_back(paths(direct, stream), 128);
  }
  test::Setup owned;
  owned.switches.owners = 2;
  ways.emplace_back(owned, 128);
#endif
  return ways;
}

// A copy of the `stress` model, all of it F32, with one value of a tensor that is no number.
std::filesystem::path spoiltModel(const char* tensor, std::int64_t index, float value) {
  const std::filesystem::path source = test::Models::get().stress(true);
  const std::filesystem::path copy = source.parent_path() / "spoilt.gguf";
  std::filesystem::copy_file(source, copy, std::filesystem::copy_options::overwrite_existing);
  const auto offset = static_cast<std::int64_t>(qe::Gguf(copy).tensor(tensor).offsetBytes);
  std::fstream out(copy, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(offset + index * static_cast<std::int64_t>(sizeof(float)));
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
  return copy;
}

std::int64_t nonFiniteOf(const std::filesystem::path& path) {
  qe::Engine engine = test::open(path);
  return engine.complete({.tokens = prompt(40), .generatedTokens = 3}, nullptr, test::never).nonFiniteLogits;
}

}  // namespace

TEST_CASE("every fault has a name of its own, and another name is refused with those there are") {
  CHECK(faults().size() == 5);
  for (const qe::Fault fault : faults()) CHECK(qe::faultNamed(qe::faultName(fault)) == fault);
  CHECK(qe::faultNamed("none") == qe::Fault::None);
  CHECK_THROWS_WITH(qe::faultNamed("half"),
                    "there is no fault 'half' to plant; there are none, dropped-route, dropped-window-key, "
                    "dropped-topk-entry, half-context, expert-scale");
}

TEST_CASE("every planted fault strikes a long prompt and changes the bits of its logits") {
  const Outcome healthy = runWith(qe::Fault::None, prompt(kTokens));
  std::vector<std::vector<float>> seen = {healthy.logits};
  for (const qe::Fault fault : faults()) {
    CAPTURE(qe::faultName(fault));
    const Outcome spoilt = runWith(fault, prompt(kTokens));
    CHECK(spoilt.struck > 0);
    const std::size_t width = 512;
    // The prefill's own row already, not only those that follow.
    CHECK_FALSE(std::equal(spoilt.logits.begin(), spoilt.logits.begin() + width, healthy.logits.begin()));
    for (const std::vector<float>& other : seen) CHECK_FALSE(sameBits(spoilt.logits, other));
    seen.push_back(spoilt.logits);
  }
}

TEST_CASE("a planted fault is the same to the bit on every instruction set, plan, path, chunk and number of threads") {
  for (const qe::Fault fault : faults()) {
    CAPTURE(qe::faultName(fault));
    const Outcome expected = runWith(fault, prompt(kTokens));
    for (const auto& [setup, chunk] : otherWays(fault)) {
      CAPTURE(qk::name(setup.isa));
      CAPTURE(chunk);
      const Outcome other = runWith(fault, prompt(kTokens), setup, chunk);
      CHECK(sameBits(other.logits, expected.logits));
      CHECK(other.struck == expected.struck);
    }
  }
}

TEST_CASE("a fault that cannot strike a prompt leaves its bits alone and says so") {
  // Within one window, and with fewer entries than the indexer takes.
  const std::vector<std::int32_t> brief = prompt(60);
  const Outcome healthy = runWith(qe::Fault::None, brief);
  for (const qe::Fault fault : {qe::Fault::DroppedWindowKey, qe::Fault::DroppedTopKEntry}) {
    CAPTURE(qe::faultName(fault));
    const Outcome spoilt = runWith(fault, brief);
    CHECK(spoilt.struck == 0);
    CHECK(sameBits(spoilt.logits, healthy.logits));
    CHECK(spoilt.tokens == healthy.tokens);
  }
}

TEST_CASE("a window key and a top-k entry are dropped exactly from where they are too many") {
  const auto struck = [](qe::Fault fault, std::size_t tokens) {
    test::Setup setup;
    setup.plantedFault = fault;
    qe::Engine engine = test::open(test::Models::get().unit("rocmfp2"), setup);
    engine.complete({.tokens = prompt(tokens)}, nullptr, test::never);
    return engine.counters().at("fault.struck");
  };
  CHECK(struck(qe::Fault::DroppedWindowKey, 127) == 0);
  CHECK(struck(qe::Fault::DroppedWindowKey, 128) == 4);  // one query in each layer
  CHECK(struck(qe::Fault::DroppedTopKEntry, 63) == 0);   // 15 entries
  CHECK(struck(qe::Fault::DroppedTopKEntry, 64) == 2);   // 16 are one too many, in two layers
  CHECK(struck(qe::Fault::DroppedRoute, 31) == 0);
  CHECK(struck(qe::Fault::DroppedRoute, 96) == 8);  // positions 31 and 95
}

TEST_CASE("logits that are no numbers are counted, and a healthy model has none") {
  CHECK(nonFiniteOf(test::Models::get().unit("rocmfp2")) == 0);
  CHECK(nonFiniteOf(test::Models::get().stress(true)) == 0);
  // A weight of the output spoils one logit a row, a weight before it all 512 of them.
  CHECK(nonFiniteOf(spoiltModel("output.weight", 256 * 7, std::numeric_limits<float>::quiet_NaN())) == 3);
  CHECK(nonFiniteOf(spoiltModel("output.weight", 256 * 7, std::numeric_limits<float>::infinity())) == 3);
  CHECK(nonFiniteOf(spoiltModel("output_norm.weight", 0, std::numeric_limits<float>::quiet_NaN())) == 3 * 512);
}
