// The switches of the experts change what runs, which the counters tell, and no bit of the logits.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/expert_block.h"
#include "scratch_folder.h"
#include "test_models.h"

namespace {

constexpr std::size_t kTokens = 150;

qe::Engine open(const qe::Switches& switches, int threads = 2, const std::string& experts = "rocmfp2") {
  qe::OpenOptions options;
  options.threads = threads;
  options.contextTokens = 512;
  return qe::Engine(test::Models::get().unit(experts), options, switches);
}

std::vector<float> logitsOf(qe::Engine& engine) {
  return engine.logits(test::prompt(kTokens), kTokens, test::never);
}

bool sameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

const std::vector<float>& expected(const std::string& experts) {
  static std::map<std::string, std::vector<float>> known;
  std::vector<float>& rows = known[experts];
  if (rows.empty()) {
    qe::Switches serial;
    serial.groupedPrefill = false;
    qe::Engine engine = open(serial, 1, experts);
    rows = logitsOf(engine);
  }
  return rows;
}

std::int64_t heldByFirst(const qe::Engine& engine) {
  std::int64_t count = 0;
  for (const auto& layer : engine.placement().ownerOf) count += std::count(layer.begin(), layer.end(), 0);
  return count;
}

}  // namespace

TEST_CASE("each switch of the grouped plan changes what is counted and no bit") {
  struct Case {
    bool qe::Switches::*flag;
    const char* counter;
  };
  for (const Case& one : {Case{&qe::Switches::fusedCombine, "mmid.grouped.down_combine"},
                          Case{&qe::Switches::adaptiveTile, "mmid.adaptive_tile"},
                          Case{&qe::Switches::persistentQueue, "mmid.persistent_queue"},
                          Case{&qe::Switches::groupedPrefill, "mmid.grouped.gate_up"}}) {
    for (const bool on : {false, true}) {
      qe::Switches switches;
      switches.*one.flag = on;
      qe::Engine engine = open(switches);
      INFO(one.counter << " " << on);
      CHECK(sameBits(logitsOf(engine), expected("rocmfp2")));
      CHECK((engine.counters().at(one.counter) > 0) == on);
    }
  }
}

TEST_CASE("owners change no bit, whatever their placement, plan and types") {
  const ScratchFolder folder;
  const std::filesystem::path csv = folder / "hot.csv";
  std::ofstream(csv) << "layer,expert,count\n0,3,100\n0,7,50\n1,0,9\n3,15,1\n";
  for (const std::string experts : {"rocmfp2", "q4_0"}) {
    for (const std::int64_t owners : {2, 3}) {
      for (const bool grouped : {false, true}) {
        for (int placed = 0; placed < 4; ++placed) {
          qe::Switches switches;
          switches.owners = owners;
          switches.groupedPrefill = grouped;
          if (placed == 1 || placed == 2) switches.expertBudgetMiB = 1;
          if (placed >= 2) switches.hotnessCsv = csv.string();
          INFO(experts << ", owners " << owners << ", grouped " << grouped << ", placed " << placed);
          qe::Engine engine = open(switches, 3, experts);
          CHECK(sameBits(logitsOf(engine), expected(experts)));
          CHECK(engine.counters().at("mmid.owner") > 0);
          CHECK(engine.counters().at("mmid.grouped.down_combine") == 0);
          CHECK(engine.placement().owners == owners);
        }
      }
    }
  }
}

TEST_CASE("by default every layer takes the fused sum: routers and hash tables emit ascending experts") {
  qe::Engine engine = open({});
  logitsOf(engine);
  const auto counters = engine.counters();
  CHECK(counters.at("mmid.grouped.gate_up") == 4);
  CHECK(counters.at("mmid.grouped.down_combine") == 4);
  CHECK(counters.at("mmid.persistent_queue") == 4);
  CHECK(counters.at("mmid.adaptive_tile") == 4);
  CHECK(counters.at("mmid.grouped.down") == 0);
  CHECK(counters.at("combine") == 0);
}

TEST_CASE("one owner is no division") {
  qe::Engine engine = open({});
  logitsOf(engine);
  CHECK(engine.counters().at("mmid.owner") == 0);
  CHECK(engine.memory().count("experts.owner0") == 0);
  CHECK(heldByFirst(engine) == 4 * 16);
}

TEST_CASE("the placement follows the budget and the hotness, and memory tells each owner's bytes") {
  const ScratchFolder folder;
  const std::filesystem::path csv = folder / "hot.csv";
  std::ofstream(csv) << "2,5,7\n2,6,6\n";
  qe::Switches switches;
  switches.owners = 2;
  switches.expertBudgetMiB = 0;
  {
    qe::Engine engine = open(switches);
    CHECK(heldByFirst(engine) == 0);
    CHECK(engine.memory().at("experts.owner0") == 0);
    CHECK(engine.memory().at("experts.owner1") > 0);
  }
  switches.expertBudgetMiB = 1;
  {
    // An expert takes 2 x 256 x 256 x 2.5 / 8 + 256 x 256 x 3.5 / 8 = 69632 bytes of the file: 15 in a MiB.
    qe::Engine engine = open(switches);
    CHECK(heldByFirst(engine) == 15);
    CHECK(engine.placement().ownerOf[0] ==
          std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    CHECK(engine.memory().at("experts.owner0") >= 15 * 69632);
    CHECK(engine.memory().at("experts.owner0") * 49 == engine.memory().at("experts.owner1") * 15);
  }
  switches.hotnessCsv = csv.string();
  {
    qe::Engine engine = open(switches);
    CHECK(engine.placement().ownerOf[2][5] == 0);
    CHECK(engine.placement().ownerOf[2][6] == 0);
    CHECK(heldByFirst(engine) == 15);
  }
  switches.expertBudgetMiB.reset();
  {
    // By critical path: of two hot experts one each; the first owner has the shared expert besides.
    qe::Engine engine = open(switches);
    CHECK(engine.placement().ownerOf[2][5] + engine.placement().ownerOf[2][6] == 1);
  }
}

TEST_CASE("owners without threads and hotness that cannot be read are refused with what is wrong") {
  const ScratchFolder folder;
  qe::Switches switches;
  switches.owners = 3;
  CHECK(messageOf([&] { open(switches, 2); }) ==
        "DFLASH_MOE_OWNERS=3: 3 owners of experts need a thread each; there are 2: ask for fewer owners or more "
        "threads");
  switches.owners = 2;
  switches.hotnessCsv = (folder / "none.csv").string();
  CHECK(messageOf([&] { open(switches, 2); }) == *switches.hotnessCsv + ": cannot be read");
  const std::filesystem::path csv = folder / "hot.csv";
  std::ofstream(csv) << "0,0,1\n4,0,1\n";
  switches.hotnessCsv = csv.string();
  CHECK(messageOf([&] { open(switches, 2); }) == csv.string() + ", line 2: layer 4 is not below 4");
  std::ofstream(csv) << "0,0,0\n";
  CHECK(messageOf([&] { open(switches, 2); }) ==
        csv.string() + ": no expert has a count above 0; name those that are hot");
  const std::string fifo = (folder / "fifo").string();
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  for (const std::string& path : {folder.path().string(), fifo}) {
    switches.hotnessCsv = path;
    CHECK(messageOf([&] { open(switches, 2); }) == path + ": is no regular file");
  }
}

TEST_CASE("a switch that does nothing beside the others is refused with what it needs, and so is an empty text") {
  const std::string owners = " needs DFLASH_MOE_OWNERS of 2 or more: by itself it does nothing";
  qe::Switches switches;
  switches.expertBudgetMiB = 1;
  CHECK(messageOf([&] { open(switches); }) == "DFLASH_EXPERT_BUDGET_MB" + owners);
  switches = {};
  switches.hotnessCsv = "hot.csv";
  CHECK(messageOf([&] { open(switches); }) == "DFLASH_DS4_HOTNESS_CSV" + owners);
  for (bool qe::Switches::*without : {&qe::Switches::streamTopK, &qe::Switches::streamStage}) {
    switches = {};
    switches.streamFastExp = true;
    switches.*without = false;
    CHECK(messageOf([&] { open(switches); }) ==
          "GGML_CUDA_MLA_STREAM_FAST_EXP=1 needs GGML_CUDA_MLA_STREAM_TOPK=1 and GGML_CUDA_MLA_STREAM_F32_STAGE=1: by "
          "itself it does nothing");
  }
  const auto empty = [](const std::string& name) {
    return name == "DFLASH_DS4_HOTNESS_CSV" ? std::optional<std::string>("") : std::nullopt;
  };
  CHECK(messageOf([&] { qe::Switches::read(empty); }) == "DFLASH_DS4_HOTNESS_CSV is empty: set it, or leave it out");
}

TEST_CASE("the workspace of the experts grows by what a token is said to take, and the fused sum holds no rows") {
  qk::ThreadPool pool(1);
  const qe::Model model(test::Models::get().unit("rocmfp2"), pool);
  const auto bytesAt = [&](const qe::Switches& switches, std::int64_t tokens) {
    qk::Counters counters;
    qk::Execution execution{pool, qk::bestIsa(), counters};
    qe::StageClock clock;
    qe::PlantedFault none;
    qe::ExpertBlock block(model, switches, nullptr, none);
    std::vector<float> rows(static_cast<std::size_t>(tokens * model.dimensions().hidden), 0.5f);
    const qk::MoePlan plan = switches.grouped(tokens) ? qk::MoePlan::grouped : qk::MoePlan::serial;
    block.run({model.dimensions(), execution, clock, 0, tokens}, model.layers().back().experts, nullptr, plan,
              rows.data());
    return block.bytes();
  };
  qe::Switches unfused;
  unfused.fusedCombine = false;
  for (const qe::Switches& switches : {qe::Switches{}, unfused}) {
    const auto grown = static_cast<double>(bytesAt(switches, 3000) - bytesAt(switches, 1000)) / 2000;
    const auto said = static_cast<double>(qe::ExpertBlock::bytesPerToken(model, switches));
    CHECK(grown > 0.9 * said);
    CHECK(grown < 1.02 * said);
  }
  const std::int64_t rows = (model.dimensions().expertsUsed + 1) * model.dimensions().hidden * 4;
  CHECK(qe::ExpertBlock::bytesPerToken(model, unfused) - qe::ExpertBlock::bytesPerToken(model, {}) == rows);
}
