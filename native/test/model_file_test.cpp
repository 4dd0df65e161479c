// Created models: their bytes, what the file promises about its weights, what a wrong file is told, and that failure
// leaves nothing behind.
#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/model_file.h"
#include "engine/output_file.h"
#include "engine/presets.h"
#include "engine/random_blocks.h"
#include "scratch_folder.h"
#include "engine/tokenizer_metadata.h"
#include "engine/weights_generator.h"

namespace {

using Bytes = std::vector<std::byte>;

bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'", part, "' is not in: ", text);
  return found;
}

qe::CreateOptions unitOptions(const std::filesystem::path& out, const std::string& experts = "rocmfp2") {
  qe::CreateOptions options;
  options.experts = experts;
  options.seed = 1;
  options.out = out;
  return options;
}

// FNV-1a: enough to see that a byte changed.
std::uint64_t digest(const Bytes& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::byte b : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3ULL;
  return hash;
}

// Offset of the tensor's entry in the header, just behind its name.
std::size_t entryOf(const Bytes& bytes, const std::string& name) {
  const auto* first = reinterpret_cast<const std::byte*>(name.data());
  const auto found = std::search(bytes.begin(), bytes.end(), first, first + name.size());
  REQUIRE(found != bytes.end());
  return static_cast<std::size_t>(found - bytes.begin()) + name.size();
}

std::string dimensionsFailure(const std::filesystem::path& path) {
  return messageOf([&] { qe::readDimensions(qe::Gguf(path)); });
}

}  // namespace

TEST_CASE("the unit file is the same on every machine and with any number of threads") {
  const ScratchFolder folder;
  qe::CreateOptions options = unitOptions(folder / "one.gguf");
  const qe::Created created = qe::createModel(options);
  const Bytes one = readBytes(options.out);
  options.threads = 3;
  options.out = folder / "three.gguf";
  qe::createModel(options);
  CHECK((one == readBytes(options.out)));
  CHECK(created.sizeBytes == one.size());
  // Change kGeneratorVersion together with this.
  CHECK(digest(one) == 0xe5771f328157249bULL);
  CHECK(qe::kGeneratorVersion == 1);
  options.seed = 2;
  options.out = folder / "other.gguf";
  qe::createModel(options);
  CHECK(one != readBytes(options.out));
}

TEST_CASE("dimensions come back from the metadata of every type of experts") {
  const ScratchFolder folder;
  for (const std::string experts :
       {"rocmfp2", "rocmfp4", "rocmfp4_fast", "q2_k", "q4_0", "q8_0", "mxfp4", "f16", "f32"}) {
    const auto path = folder / (experts + ".gguf");
    qe::createModel(unitOptions(path, experts));
    const qe::Gguf file(path);
    const qk::Dimensions d = qe::readDimensions(file);
    const qk::Dimensions wanted = qe::presetDimensions("unit");
    CHECK(d.layers == wanted.layers);
    CHECK(d.ratios == wanted.ratios);
    CHECK(d.window == 128);
    CHECK(d.sinkhornRounds == 20);
    CHECK(d.rmsEps == doctest::Approx(1e-6));
    CHECK(d.swigluClamp == wanted.swigluClamp);
    CHECK(d.keyRoundTrip);
    CHECK(d.indexerRoundTrip);
    const qe::ExpertTypes types = qe::expertTypes(experts);
    CHECK(file.tensor("blk.1.ffn_gate_exps.weight").type == types.gateUp);
    CHECK(file.tensor("blk.1.ffn_up_exps.weight").type == types.gateUp);
    CHECK(file.tensor("blk.1.ffn_down_exps.weight").type == types.down);
    CHECK(file.tensor("token_embd.weight").type == qk::Type::Q8_0);
    CHECK(file.tensor("blk.1.attn_compressor_kv.weight").type == qk::Type::F16);
    CHECK(file.tensor("blk.1.ffn_gate_inp.weight").type == qk::Type::F32);
    CHECK(file.tensors().size() == qe::tensorLayout(d).size());
  }
}

TEST_CASE("dense matrices have the type that is asked for, and the key that says so only then") {
  const ScratchFolder folder;
  for (const std::string dense : {"", "f16", "f32"}) {
    CAPTURE(dense);
    qe::CreateOptions options = unitOptions(folder / ("dense" + dense + ".gguf"), "f16");
    options.dense = dense;
    qe::createModel(options);
    const qe::Gguf file(options.out);
    qe::readDimensions(file);
    const qk::Type wanted = dense == "f32" ? qk::Type::F32 : dense == "f16" ? qk::Type::F16 : qk::Type::Q8_0;
    for (const char* name : {"token_embd.weight", "output.weight", "blk.1.attn_q_a.weight", "blk.1.attn_output_b.weight",
                             "blk.1.ffn_gate_shexp.weight", "blk.1.ffn_down_shexp.weight"}) {
      CAPTURE(name);
      CHECK(file.tensor(name).type == wanted);
    }
    CHECK(file.tensor("blk.1.ffn_down_exps.weight").type == qk::Type::F16);
    CHECK(file.tensor("blk.1.ffn_gate_inp.weight").type == qk::Type::F32);
    const auto metadata = file.metadata();
    const bool told = std::any_of(metadata.begin(), metadata.end(), [](const auto& e) { return e.key == "qualify.dense"; });
    CHECK(told == !dense.empty());
    if (told) CHECK(file.text("qualify.dense") == dense);
  }
  qe::CreateOptions wrong = unitOptions(folder / "wrong.gguf");
  wrong.dense = "q8_0";
  CHECK(has(messageOf([&] { qe::createModel(wrong); }), "types are f16, f32"));
  wrong.experts = "f32";
  wrong.dense = "f32";
  wrong.stress = true;
  CHECK(has(messageOf([&] { qe::createModel(wrong); }), "every tensor in f32"));
}

TEST_CASE("a stress file is all F32 and has none of the usual constants") {
  const ScratchFolder folder;
  qe::CreateOptions options = unitOptions(folder / "stress.gguf", "f32");
  options.stress = true;
  options.roundTrips = false;
  qe::createModel(options);
  const qe::Gguf file(options.out);
  const qk::Dimensions d = qe::readDimensions(file);
  CHECK(d.rmsEps == doctest::Approx(0.01));
  CHECK(d.hyperEps == doctest::Approx(0.01));
  CHECK(d.sinkhornRounds == 3);
  CHECK(d.window == 96);
  CHECK(d.indexerTopK == 11);
  CHECK(d.yarnFactor == 4);
  CHECK(d.yarnOriginalContext == 2048);
  CHECK(d.swigluClamp == std::vector<float>{0.5f, 1.25f, 2.0f, 2.75f});
  CHECK_FALSE(d.keyRoundTrip);
  CHECK_FALSE(d.indexerRoundTrip);
  for (const qe::Tensor& tensor : file.tensors()) {
    const bool table = tensor.name.find("tid2eid") != std::string::npos;
    CHECK(tensor.type == (table ? qk::Type::I32 : qk::Type::F32));
  }
}

TEST_CASE("the output row of a token's successor is its embedding row, scaled by a power of two") {
  const ScratchFolder folder;
  const qe::CreateOptions options = unitOptions(folder / "unit.gguf");
  qe::createModel(options);
  const qe::Gguf file(options.out);
  const qk::Dimensions d = qe::readDimensions(file);
  const qe::WeightsGenerator generator(d, options.seed, qe::expertTypes(options.experts), qk::Type::Q8_0, false);
  const qk::Matrix embedding = file.tensor("token_embd.weight").matrix();
  const qk::Matrix output = file.tensor("output.weight").matrix();
  std::vector<float> embedded(static_cast<std::size_t>(d.hidden));
  std::vector<float> scored(embedded.size());
  for (std::int64_t token = 0; token < d.vocabulary; ++token) {
    const std::int32_t next = generator.successor()[static_cast<std::size_t>(token)];
    qk::dequantize(embedding.type, embedding.row(token), d.hidden, embedded.data());
    qk::dequantize(output.type, output.row(next), d.hidden, scored.data());
    for (std::size_t i = 0; i < embedded.size(); ++i) REQUIRE(scored[i] == embedded[i] * 0.125f);
  }
}

TEST_CASE("successors make one cycle of the bytes, one of the padding, and leave the special tokens alone") {
  const qe::WeightsGenerator generator(qe::presetDimensions("unit"), 7, qe::expertTypes("q8_0"), qk::Type::Q8_0, false);
  const std::vector<std::int32_t>& next = generator.successor();
  const auto cycle = [&](std::int32_t start) {
    std::set<std::int32_t> seen;
    for (std::int32_t t = start; seen.insert(t).second;) t = next[static_cast<std::size_t>(t)];
    return seen;
  };
  CHECK(cycle(0).size() == 256);
  CHECK(*cycle(0).rbegin() == 255);
  CHECK(cycle(258).size() == 512 - 258);
  CHECK(cycle(256) == std::set<std::int32_t>{256});
  CHECK(cycle(257) == std::set<std::int32_t>{257});
}

TEST_CASE("every token of a hash-routed layer has different experts that exist") {
  const ScratchFolder folder;
  const qe::CreateOptions options = unitOptions(folder / "unit.gguf");
  qe::createModel(options);
  const std::vector<std::int32_t> table = qe::Gguf(options.out).tensor("blk.0.ffn_gate_tid2eid.weight").ints();
  REQUIRE(table.size() == 512 * 6);
  std::set<std::int32_t> used;
  for (std::size_t token = 0; token < 512; ++token) {
    const std::set<std::int32_t> row(table.begin() + static_cast<std::ptrdiff_t>(6 * token),
                                     table.begin() + static_cast<std::ptrdiff_t>(6 * token + 6));
    CHECK(row.size() == 6);
    used.insert(row.begin(), row.end());
  }
  CHECK(used.size() == 16);
  CHECK(*used.begin() == 0);
  CHECK(*used.rbegin() == 15);
}

TEST_CASE("random weights have the wanted deviation and mean 0 in every format, and any range is a part of the whole") {
  for (const qk::Type type : {qk::Type::F32, qk::Type::F16, qk::Type::BF16, qk::Type::Q4_0, qk::Type::Q8_0,
                              qk::Type::ROCmFP2, qk::Type::ROCmFP3, qk::Type::ROCmFP4, qk::Type::ROCmFP4_FAST,
                              qk::Type::Q2_K, qk::Type::MXFP4}) {
    const qk::Format& format = qk::format(type);
    INFO(std::string(format.name));
    const qe::CounterRandom random(11, format.name);
    const std::int64_t blocks = 65536 / format.weights;
    Bytes bytes(static_cast<std::size_t>(blocks * format.bytes));
    qe::randomBlocks(random, type, 0.03, 0, blocks, bytes.data());
    std::vector<float> values(65536);
    qk::dequantize(type, bytes.data(), 65536, values.data());
    double sum = 0;
    double squares = 0;
    for (const float value : values) {
      sum += value;
      squares += double{value} * value;
    }
    CHECK(std::fabs(sum / 65536) < 0.03 * 0.02);
    CHECK(std::sqrt(squares / 65536) == doctest::Approx(0.03).epsilon(0.06));

    Bytes part(static_cast<std::size_t>(5 * format.bytes));
    qe::randomBlocks(random, type, 0.03, 13, 5, part.data());
    CHECK(std::equal(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(13 * format.bytes)));
  }
}

TEST_CASE("power-of-two scales reach any deviation, by a mixture, and a power of two more only moves them") {
  const qe::CounterRandom random(5, "mxfp4");
  constexpr std::int64_t kBlocks = 2048;
  Bytes bytes(kBlocks * 17);
  Bytes doubled(bytes.size());
  std::vector<float> values(kBlocks * 32);
  for (double deviation = 0.01; deviation < 0.05; deviation *= 1.1) {
    qe::randomBlocks(random, qk::Type::MXFP4, deviation, 0, kBlocks, bytes.data());
    qe::randomBlocks(random, qk::Type::MXFP4, 2 * deviation, 0, kBlocks, doubled.data());
    qk::dequantize(qk::Type::MXFP4, bytes.data(), kBlocks * 32, values.data());
    double squares = 0;
    for (const float value : values) squares += double{value} * value;
    CHECK(std::sqrt(squares / (kBlocks * 32)) == doctest::Approx(deviation).epsilon(0.03));
    for (std::size_t at = 0; at < bytes.size(); at += 17) {
      doubled[at] = static_cast<std::byte>(std::to_integer<int>(doubled[at]) - 1);
    }
    CHECK((bytes == doubled));
  }
}

TEST_CASE("ranges of tensors that are not plain random agree with the whole, too") {
  const qk::Dimensions d = qe::presetDimensions("unit");
  const qe::WeightsGenerator generator(d, 3, qe::expertTypes("rocmfp2"), qk::Type::Q8_0, false);
  for (const qe::TensorSpec& spec : qe::tensorLayout(d)) {
    if (spec.role != qe::Role::output && spec.role != qe::Role::tokenExperts && spec.role != qe::Role::hyperBase) continue;
    const std::int64_t bytes = qk::format(generator.typeOf(spec)).bytes;
    Bytes whole(static_cast<std::size_t>(24 * bytes));
    generator.blocks(spec, 0, 24, whole.data());
    Bytes parts(whole.size());
    for (std::int64_t at = 0; at < 24; at += 5) {
      generator.blocks(spec, at, std::min<std::int64_t>(5, 24 - at), parts.data() + at * bytes);
    }
    INFO(spec.name);
    CHECK(whole == parts);
  }
}

TEST_CASE("the tokenizer has one token a byte in GPT-2's spelling, two special tokens and padding") {
  const std::vector<std::string> tokens = qe::byteLevelTokens(512);
  CHECK(tokens.size() == 512);
  CHECK(std::set<std::string>(tokens.begin(), tokens.end()).size() == 512);
  CHECK(tokens['A'] == "A");
  CHECK(tokens[' '] == "\xc4\xa0");   // U+0120
  CHECK(tokens['\n'] == "\xc4\x8a");  // U+010A
  CHECK(tokens[0] == "\xc4\x80");     // U+0100
  CHECK(tokens[0xff] == "\xc3\xbf");  // itself
  CHECK(tokens[0xad] == "\xc5\x83");  // the last one moved: U+0143
  CHECK(tokens[256] == "<|bos|>");
  CHECK(tokens[257] == "<|eos|>");
  CHECK(tokens[511] == "<|pad-511|>");
}

TEST_CASE("a tensor that disagrees with the metadata is named with both shapes") {
  const ScratchFolder folder;
  qe::createModel(unitOptions(folder / "unit.gguf"));
  const Bytes good = readBytes(folder / "unit.gguf");

  const auto path = folder / "unit.gguf";
  const auto with = [&](std::size_t at, const auto& value) {
    const PatchedBytes patch(path, at, &value, sizeof value);
    return dimensionsFailure(path);
  };
  CHECK(has(with(entryOf(good, "blk.2.attn_kv.weight") + 4, std::array<std::uint64_t, 2>{128, 256}),
            "tensor 'blk.2.attn_kv.weight' is 128 x 256 where the metadata wants 256 x 128"));
  CHECK(has(with(entryOf(good, "blk.1.attn_sinks") - 1, 'z'), "tensor 'blk.1.attn_sinks.weight' is missing"));
  CHECK(has(with(entryOf(good, "blk.0.ffn_gate_tid2eid.weight") + 4 + 16, '\0'), "has type f32 where i32 is wanted"));
  const std::uint64_t table = qe::Gguf(path).tensor("blk.0.ffn_gate_tid2eid.weight").offsetBytes;
  CHECK(has(with(table, std::int32_t{16}), "names expert 16 of 16"));
  CHECK(has(with(table, std::int32_t{-1}), "names expert -1 of 16"));
}

TEST_CASE("metadata that is missing or makes no sense is named") {
  const ScratchFolder folder;
  qe::createModel(unitOptions(folder / "unit.gguf"));
  const Bytes good = readBytes(folder / "unit.gguf");
  const auto path = folder / "unit.gguf";
  const auto at = [&](std::size_t offset, const auto& value) {
    const PatchedBytes patch(path, offset, &value, sizeof value);
    return dimensionsFailure(path);
  };
  const auto with = [&](const std::string& key, const auto& value) { return at(entryOf(good, key) + 4, value); };
  CHECK(has(at(entryOf(good, "deepseek4.hash_layer_count") - 1, 'z'), "'deepseek4.hash_layer_count' is missing"));
  CHECK(has(with("deepseek4.attention.sliding_window", std::uint32_t{0}), "sliding_window' is 0, outside 1 to"));
  CHECK(has(with("deepseek4.block_count", std::uint32_t{5}), "compress_ratios' is shorter than the block count"));
  CHECK(has(with("deepseek4.attention.head_count_kv", std::uint32_t{2}), "must be 1"));
  CHECK(has(with("deepseek4.attention.value_length", std::uint32_t{64}), "must equal the key length"));
  CHECK(has(with("deepseek4.rope.dimension_count", std::uint32_t{7}), "must be even"));
  CHECK(has(with("deepseek4.attention.output_group_count", std::uint32_t{3}), "must divide the number of heads"));
  CHECK(has(with("deepseek4.attention.indexer.key_length", std::uint32_t{96}), "must be a power of two"));
  CHECK(has(with("deepseek4.expert_used_count", std::uint32_t{17}), "is more than there are experts"));
  CHECK(has(with("deepseek4.expert_gating_func", std::uint32_t{2}), "must be 4"));
  CHECK(has(with("deepseek4.hyper_connection.epsilon", -1.0f), "must be above 0"));
  CHECK(has(with("deepseek4.attention.layer_norm_rms_epsilon", std::nanf("")), "must be above 0"));
  // Behind the value type of the array: element type and count, then the elements.
  const auto element = [&](const std::string& key, std::size_t index, const auto& value) {
    return at(entryOf(good, key) + 4 + 4 + 8 + 4 * index, value);
  };
  CHECK(has(element("deepseek4.attention.compress_ratios", 1, std::int32_t{8}), "holds 8; a layer's ratio is 0, 4 or 128"));
  CHECK(has(element("deepseek4.swiglu_clamp_exp", 3, 0.0f), "must be above 0 in every layer"));
  CHECK(has(at(entryOf(good, "deepseek") - 1, 'q'), "is 'deepseeq4'; this engine runs 'deepseek4'"));
}

TEST_CASE("a model whose header has changed bytes is understood or refused, and its tensors stay inside the file") {
  const ScratchFolder folder;
  const auto path = folder / "unit.gguf";
  qe::createModel(unitOptions(path));
  const std::size_t headerBytes = qe::Gguf(path).dataOffsetBytes();
  int understood = 0;
  int refused = 0;
  const Bytes whole = readBytes(path);
  for (std::size_t at = 0; at < headerBytes; at += 31) {
    const std::byte changed = whole[at] ^ (at % 2 == 0 ? std::byte{0x04} : std::byte{0xff});
    const PatchedBytes patch(path, at, &changed, 1);
    try {
      const qe::Gguf file(path);
      const qk::Dimensions d = qe::readDimensions(file);
      for (const qe::TensorSpec& spec : qe::tensorLayout(d)) {
        const qe::Tensor& tensor = file.tensor(spec.name);
        REQUIRE(tensor.offsetBytes + tensor.sizeBytes <= file.sizeBytes());
      }
      ++understood;
    } catch (const std::runtime_error& error) {
      REQUIRE(has(error.what(), "unit.gguf: "));
      ++refused;
    }
  }
  CHECK(understood > 0);
  CHECK(refused > 0);
  CHECK(dimensionsFailure(path).empty());
}

TEST_CASE("describe lists every tensor and cuts long arrays when asked") {
  const ScratchFolder folder;
  qe::createModel(unitOptions(folder / "unit.gguf"));
  const qe::Gguf file(folder / "unit.gguf");
  const qe::Description whole = qe::describe(file);
  CHECK(whole.sizeBytes == std::filesystem::file_size(folder / "unit.gguf"));
  REQUIRE(whole.tensors.size() == file.tensors().size());
  CHECK(whole.tensors.front().name == "token_embd.weight");
  CHECK(whole.tensors.front().type == "q8_0");
  CHECK(whole.tensors.front().dims == std::vector<std::int64_t>{256, 512});
  CHECK(whole.tensors.front().sizeBytes == 256 * 512 / 32 * 34);
  const auto longest = [](const qe::Description& description) {
    std::size_t most = 0;
    for (const qe::MetadataEntry& entry : description.metadata) most = std::max(most, entry.values.size());
    return most;
  };
  CHECK(longest(whole) == 512);
  CHECK(longest(qe::describe(file, 8)) == 8);
}

TEST_CASE("progress grows to the size of the file") {
  const ScratchFolder folder;
  std::vector<std::uint64_t> seen;
  const qe::Created created = qe::createModel(unitOptions(folder / "unit.gguf"), [&](std::uint64_t done, std::uint64_t total) {
    CHECK(done <= total);
    seen.push_back(done);
  });
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.size() > 2);
  CHECK(seen.back() == created.sizeBytes);
}

TEST_CASE("refuses to overwrite unless asked, and then replaces the file") {
  const ScratchFolder folder;
  qe::CreateOptions options = unitOptions(folder.write("unit.gguf", Bytes(3, std::byte{1})));
  CHECK(has(messageOf([&] { qe::createModel(options); }), "exists already"));
  CHECK(readBytes(options.out).size() == 3);
  options.overwrite = true;
  const qe::Created created = qe::createModel(options);
  CHECK(std::filesystem::file_size(options.out) == created.sizeBytes);
  CHECK(folder.names() == std::vector<std::string>{"unit.gguf"});
}

TEST_CASE("options that name nothing are refused with what exists, before anything is written") {
  const ScratchFolder folder;
  const auto refusal = [&](auto change) {
    qe::CreateOptions options = unitOptions(folder / "unit.gguf");
    change(options);
    return messageOf([&] { qe::createModel(options); });
  };
  CHECK(has(refusal([](auto& o) { o.preset = "huge"; }), "presets are unit, mini, small, flash-8"));
  CHECK(has(refusal([](auto& o) { o.experts = "q5_1"; }),
            "types are rocmfp2, rocmfp4, rocmfp4_fast, q2_k, q4_0, q8_0, mxfp4, f16, f32"));
  CHECK(has(refusal([](auto& o) { o.stress = true; }), "ask for experts f32"));
  CHECK(has(refusal([](auto& o) { o.threads = 0; }), "at least one thread"));
  CHECK(has(refusal([](auto& o) { o.seed = ~0ULL; }), "below 2^63"));
  CHECK(has(refusal([](auto& o) { o.out = ""; }), "name the file"));
  CHECK(has(refusal([&](auto& o) { o.out = folder.path(); }), "is a folder"));
  CHECK(has(refusal([&](auto& o) { o.out = folder / "none/unit.gguf"; }), "create its folder first"));
  CHECK(folder.names().empty());
}

TEST_CASE("cancelling leaves no file") {
  const ScratchFolder folder;
  std::atomic<bool> cancel{false};
  qe::CreateOptions options = unitOptions(folder / "unit.gguf");
  options.cancel = &cancel;
  const std::string message = messageOf([&] { qe::createModel(options, [&](auto, auto) { cancel = true; }); });
  CHECK(has(message, "cancelled"));
  CHECK(folder.names().empty());
}

TEST_CASE("a file that cannot grow to its size is reported and leaves nothing, with and without a hidden name") {
  const ScratchFolder folder;
  struct rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string created = messageOf([&] { qe::createModel(unitOptions(folder / "unit.gguf")); });
  const std::string hidden =
      messageOf([&] { const qe::OutputFile file(folder / "f", 8192, false, qe::OutputFile::Draft::hidden); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(has(created, "unit.gguf: "));
  CHECK(has(created, "File too large; raise the limit"));
  CHECK(has(hidden, "File too large"));
  CHECK(folder.names().empty());
}

TEST_CASE("an output file has its name only when finished, whichever way it is drafted") {
  const Bytes content(100, std::byte{7});
  for (const auto draft : {qe::OutputFile::Draft::unnamed, qe::OutputFile::Draft::hidden}) {
    for (const bool overwrite : {false, true}) {
      const ScratchFolder folder;
      {
        qe::OutputFile abandoned(folder / "f", 100, overwrite, draft);
        abandoned.write(0, content);
        CHECK_FALSE(std::filesystem::exists(folder / "f"));
      }
      CHECK(folder.names().empty());
      if (overwrite) folder.write("f", Bytes(5));
      {
        qe::OutputFile file(folder / "f", 100, overwrite, draft);
        file.write(50, std::span(content).subspan(50));
        file.write(0, std::span(content).first(50));
        file.finish();
      }
      CHECK(readBytes(folder / "f") == content);
      CHECK(folder.names() == std::vector<std::string>{"f"});
    }
  }
}

TEST_CASE("links, dangling or not, devices and folders are never replaced") {
  const ScratchFolder folder;
  folder.write("file", Bytes(5));
  std::filesystem::create_symlink(folder / "file", folder / "link");
  std::filesystem::create_symlink(folder / "nothing", folder / "dangling");
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  for (const bool overwrite : {false, true}) {
    for (const char* name : {"link", "dangling", "fifo"}) {
      const std::filesystem::path path = folder / name;
      CAPTURE(path);
      CHECK(messageOf([&] { const qe::OutputFile file(path, 3, overwrite); }) ==
            path.string() + ": is no regular file (a link or device) and is never replaced; name another");
    }
    CHECK(has(messageOf([&] { const qe::OutputFile file(folder.path(), 3, overwrite); }), "is a folder"));
  }
  CHECK(readBytes(folder / "file").size() == 5);
}

TEST_CASE("a name that somebody took meanwhile is not replaced") {
  for (const auto draft : {qe::OutputFile::Draft::unnamed, qe::OutputFile::Draft::hidden}) {
    const ScratchFolder folder;
    {
      qe::OutputFile file(folder / "f", 3, false, draft);
      folder.write("f", Bytes(5));
      CHECK(has(messageOf([&] { file.finish(); }), "File exists"));
    }
    CHECK(readBytes(folder / "f").size() == 5);
    CHECK(folder.names() == std::vector<std::string>{"f"});
  }
}
