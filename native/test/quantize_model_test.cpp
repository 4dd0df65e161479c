// Rounding a whole model file: what changes, what does not, what it costs, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/gguf_writer.h"
#include "engine/quantize_model.h"
#include "qk/quantize.h"
#include "scratch_folder.h"
#include "test_models.h"

namespace {

using Bytes = std::vector<std::byte>;

bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'", part, "' is not in: ", text);
  return found;
}

qe::QuantizeOptions optionsFor(const std::filesystem::path& in, const std::filesystem::path& out,
                               const std::string& experts) {
  qe::QuantizeOptions options;
  options.in = in;
  options.out = out;
  options.experts = experts;
  options.threads = 2;
  return options;
}

Bytes bytesOf(const qe::Tensor& tensor) { return {tensor.data, tensor.data + tensor.sizeBytes}; }

Bytes rounded(const qe::Tensor& tensor, qk::Type type, const std::vector<float>& importance = {}) {
  const std::vector<float> values = tensor.floats();
  const std::int64_t cols = tensor.dims.front();
  const std::int64_t rowBytes = cols / qk::format(type).weights * qk::format(type).bytes;
  const std::int64_t rows = tensor.elements() / cols;
  Bytes blocks(static_cast<std::size_t>(rows * rowBytes));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t expert = tensor.dims.size() > 2 ? row / tensor.dims[1] : 0;
    const float* weights = importance.empty() ? nullptr : importance.data() + expert * cols;
    if (weights != nullptr && expert == 3) weights = nullptr;  // never seen, in the test below
    qk::quantize(type, values.data() + row * cols, cols, blocks.data() + row * rowBytes, weights);
  }
  return blocks;
}

// Copies a file through a writer, with changes: more metadata, another alignment, further tensors.
void rewrite(const qe::Gguf& file, qe::GgufWriter& writer, std::uint64_t alignment, const std::filesystem::path& out) {
  for (const qe::MetadataEntry& entry : file.metadata()) writer.copy(file.raw(entry));
  for (const qe::Tensor& tensor : file.tensors()) writer.tensor(tensor.name, tensor.type, tensor.dims);
  Bytes bytes = writer.header();
  const std::size_t data = bytes.size();
  bytes.resize(writer.fileBytes());
  CHECK(data % alignment == 0);
  const std::size_t further = writer.tensors().size() - file.tensors().size();
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const qe::Tensor& tensor = file.tensors()[i];
    std::memcpy(bytes.data() + data + writer.tensors()[i + further].offsetBytes, tensor.data, tensor.sizeBytes);
  }
  std::ofstream(out, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()),
                                             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

TEST_CASE("the experts get the type, everything else stays, and any number of threads writes the same bytes") {
  const ScratchFolder folder;
  const qe::Gguf source(test::Models::get().unit("f32"));
  for (const std::string experts : {"rocmfp2", "rocmfp4_fast", "q2_k", "q4_0", "mxfp4", "f16"}) {
    CAPTURE(experts);
    qe::QuantizeOptions options = optionsFor(source.path(), folder / (experts + ".gguf"), experts);
    const qe::Quantized made = qe::quantizeModel(options);
    const qe::Gguf found(options.out);
    CHECK(found.sizeBytes() == made.sizeBytes);
    CHECK(found.tensors().size() == source.tensors().size());
    CHECK(found.text("qualify.experts") == experts);
    CHECK(found.text("qualify.quantized") == "experts " + experts);
    for (const qe::MetadataEntry& entry : source.metadata()) {
      if (entry.key == "qualify.experts") continue;
      const auto same = std::find_if(found.metadata().begin(), found.metadata().end(),
                                     [&](const auto& other) { return other.key == entry.key; });
      REQUIRE(same != found.metadata().end());
      CHECK(std::ranges::equal(found.raw(*same), source.raw(entry)));
    }
    std::size_t changed = 0;
    for (const qe::Tensor& tensor : source.tensors()) {
      const bool expert = tensor.name.find("_exps.") != std::string::npos;
      const bool down = tensor.name.find("ffn_down") != std::string::npos;
      const qk::Type type = experts == "rocmfp2" && down ? qk::Type::ROCmFP3 : qk::findFormat(experts)->type;
      const qe::Tensor& after = found.tensor(tensor.name);
      CAPTURE(tensor.name);
      CHECK(after.dims == tensor.dims);
      if (!expert) CHECK((bytesOf(after) == bytesOf(tensor)));
      if (!expert) continue;
      REQUIRE(changed < made.quantized.size());
      const qe::QuantizedTensor& told = made.quantized[changed++];
      CHECK(told.name == tensor.name);
      CHECK(told.from == "f32");
      CHECK(told.to == qk::format(type).name);
      CHECK(told.fromBytes == tensor.sizeBytes);
      CHECK(told.toBytes == after.sizeBytes);
      CHECK(told.nmse > 0);
      CHECK(told.nmse < (type == qk::Type::ROCmFP2 || type == qk::Type::Q2_K ? 0.15 : 0.06));
      if (tensor.name.find("blk.1.") != 0 || tensor.name.find("_up_") != std::string::npos) continue;
      CHECK((bytesOf(after) == rounded(tensor, type)));
      const std::vector<float> x = tensor.floats();
      const std::vector<float> y = after.floats();
      double error = 0;
      double power = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        error += std::pow(double{y[i]} - double{x[i]}, 2);
        power += std::pow(double{x[i]}, 2);
      }
      CHECK(told.nmse == doctest::Approx(error / power).epsilon(1e-9));
    }
    CHECK(changed == made.quantized.size());
    MESSAGE("NMSE of gate and down as ", experts, ": ", made.quantized[0].nmse, " ", made.quantized[2].nmse);

    if (experts != "rocmfp4_fast" && experts != "q4_0") continue;
    options.out = folder / "again.gguf";
    options.overwrite = true;
    options.threads = 1;
    CHECK(qe::quantizeModel(options).quantized[0].nmse == made.quantized[0].nmse);
    CHECK((readBytes(options.out) == readBytes(found.path())));
  }
}

TEST_CASE("a type that is there already is copied, and quantised files can be quantised again") {
  const ScratchFolder folder;
  const std::filesystem::path source = test::Models::get().unit("q8_0");
  const qe::Quantized same = qe::quantizeModel(optionsFor(source, folder / "same.gguf", "q8_0"));
  for (const qe::QuantizedTensor& tensor : same.quantized) CHECK(tensor.nmse == 0);
  const qe::Gguf before(source);
  const qe::Gguf after(folder / "same.gguf");
  for (const qe::Tensor& tensor : before.tensors()) CHECK((bytesOf(after.tensor(tensor.name)) == bytesOf(tensor)));
  qe::quantizeModel(optionsFor(folder / "same.gguf", folder / "smaller.gguf", "rocmfp4"));
  const qe::Gguf smaller(folder / "smaller.gguf");
  CHECK(smaller.text("qualify.quantized") == "experts rocmfp4");
  const qe::Tensor& gate = before.tensor("blk.1.ffn_gate_exps.weight");
  CHECK((bytesOf(smaller.tensor(gate.name)) == rounded(gate, qk::Type::ROCmFP4)));
}

TEST_CASE("dense matrices follow when asked; norms, router, hyper-connections and compressors never") {
  const ScratchFolder folder;
  qe::QuantizeOptions options = optionsFor(test::Models::get().stress(true), folder / "out.gguf", "q4_0");
  options.dense = "q8_0";
  const qe::Quantized made = qe::quantizeModel(options);
  const qe::Gguf found(options.out);
  CHECK(found.text("qualify.quantized") == "experts q4_0, dense q8_0");
  for (const char* name : {"token_embd.weight", "output.weight", "blk.0.attn_q_a.weight", "blk.1.attn_output_b.weight",
                           "blk.1.indexer.attn_q_b.weight", "blk.2.ffn_down_shexp.weight"}) {
    CAPTURE(name);
    CHECK(found.tensor(name).type == qk::Type::Q8_0);
  }
  for (const char* name : {"output_norm.weight", "output_hc_fn.weight", "blk.0.hc_attn_fn.weight",
                           "blk.0.attn_sinks.weight", "blk.1.attn_compressor_kv.weight", "blk.1.ffn_gate_inp.weight"}) {
    CAPTURE(name);
    CHECK(found.tensor(name).type == qk::Type::F32);
  }
  CHECK(made.quantized.size() > 30);
}

TEST_CASE("logits of a quantised model stay near those of the float model, the nearer the more bits it has") {
  const ScratchFolder folder;
  const std::vector<std::int32_t> tokens = test::prompt(96);
  struct Limit {
    std::string experts;
    double nmse;
  };
  // Measured, with a margin of three or more: the decisive model chooses among near equals (routes, selections, keys), where
  // a rounding often takes another path, so it loses more than the unstructured one.
  struct Case {
    std::filesystem::path source;
    std::vector<Limit> limits;
  };
  const std::vector<Case> cases = {
      {test::Models::get().unit("f32"), {{"f16", 0.05}, {"q8_0", 0.12}, {"q4_0", 0.4}, {"rocmfp2", 1}}},
      {test::Models::get().stress(true), {{"f16", 1e-4}, {"q8_0", 0.02}, {"q4_0", 0.1}, {"rocmfp2", 0.6}}}};
  for (const Case& c : cases) {
    const std::vector<float> wanted = test::open(c.source).logits(tokens, 128, test::never);
    double before = 0;
    for (const Limit& limit : c.limits) {
      const std::filesystem::path path = folder / (limit.experts + c.source.filename().string());
      qe::quantizeModel(optionsFor(c.source, path, limit.experts));
      const std::vector<float> found = test::open(path).logits(tokens, 128, test::never);
      double error = 0;
      double power = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        error += std::pow(double{found[i]} - double{wanted[i]}, 2);
        power += std::pow(double{wanted[i]}, 2);
      }
      MESSAGE(c.source.filename().string(), " with experts ", limit.experts, ": NMSE of the logits ", error / power);
      CHECK(error / power < limit.nmse);
      CHECK(error / power > before);
      before = error / power;
    }
  }
}

TEST_CASE("a model runs with every type that it can be quantised to") {
  const ScratchFolder folder;
  const std::filesystem::path source = test::Models::get().stress(true);
  const std::vector<std::int32_t> tokens = test::prompt(40);
  const std::vector<float> wanted = test::open(source).logits(tokens, 128, test::never);
  for (const std::string experts : {"rocmfp4", "rocmfp4_fast", "mxfp4", "q2_k"}) {
    qe::quantizeModel(optionsFor(source, folder / (experts + ".gguf"), experts));
    const std::vector<float> found = test::open(folder / (experts + ".gguf")).logits(tokens, 128, test::never);
    double error = 0;
    double power = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      error += std::pow(double{found[i]} - double{wanted[i]}, 2);
      power += std::pow(double{wanted[i]}, 2);
    }
    MESSAGE("experts ", experts, ": NMSE of the logits ", error / power);
    CHECK(error / power < (experts == "q2_k" ? 0.6 : 0.15));
  }
}

TEST_CASE("alignment, unusual metadata and foreign tensors come through; the file type is told truly or not at all") {
  const ScratchFolder folder;
  const qe::Gguf unit(test::Models::get().unit("f32"));
  qe::GgufWriter writer(128);
  writer.count("general.alignment", 128);
  writer.count("general.file_type", 0);
  writer.numbers("foreign.numbers", std::vector<float>{1, 2.5f});
  writer.wide("foreign.wide", 5);
  writer.tensor("foreign.weight", qk::Type::F32, {3, 5});
  rewrite(unit, writer, 128, folder / "in.gguf");
  qe::quantizeModel(optionsFor(folder / "in.gguf", folder / "out.gguf", "q4_0"));
  const qe::Gguf found(folder / "out.gguf");
  CHECK(found.alignment() == 128);
  CHECK(found.integer("general.file_type") == 2);
  CHECK(found.numbers("foreign.numbers") == std::vector<double>{1, 2.5});
  CHECK(found.tensor("foreign.weight").dims == std::vector<std::int64_t>{3, 5});
  qe::quantizeModel(optionsFor(folder / "in.gguf", folder / "private.gguf", "rocmfp4"));
  CHECK_FALSE(qe::Gguf(folder / "private.gguf").has("general.file_type"));
}

TEST_CASE("an importance file weighs the error of the ROCmFP types, but not of experts that it never saw") {
  const ScratchFolder folder;
  const qe::Gguf source(test::Models::get().unit("f32"));
  const qe::Tensor& gate = source.tensor("blk.1.ffn_gate_exps.weight");
  const std::int64_t experts = gate.dims[2];
  qe::GgufWriter writer;
  writer.text("general.type", "imatrix");
  writer.tensor(gate.name + ".in_sum2", qk::Type::F32, {gate.dims[0], experts});
  writer.tensor(gate.name + ".counts", qk::Type::F32, {1, experts});
  // All zero: named, and yet without a say.
  writer.tensor("blk.1.ffn_up_exps.weight.in_sum2", qk::Type::F32, {gate.dims[0], experts});
  std::vector<float> sums(static_cast<std::size_t>(gate.dims[0] * experts));
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<float>((i * 7919) % 101);
  std::vector<float> counts(static_cast<std::size_t>(experts), 4.0f);
  counts[3] = 0;
  const auto write = [&](const std::string& name) {
    Bytes bytes = writer.header();
    const std::size_t data = bytes.size();
    bytes.resize(writer.fileBytes());
    std::memcpy(bytes.data() + data, sums.data(), sums.size() * sizeof(float));
    std::memcpy(bytes.data() + data + writer.tensors()[1].offsetBytes, counts.data(), counts.size() * sizeof(float));
    return folder.write(name, bytes);
  };
  qe::QuantizeOptions options = optionsFor(source.path(), folder / "out.gguf", "rocmfp4");
  options.importance = write("imatrix.gguf");
  const qe::Quantized made = qe::quantizeModel(options);
  const qe::Gguf found(options.out);
  CHECK((bytesOf(found.tensor(gate.name)) == rounded(gate, qk::Type::ROCmFP4, sums)));
  CHECK((bytesOf(found.tensor(gate.name)) != rounded(gate, qk::Type::ROCmFP4)));
  for (const qe::QuantizedTensor& tensor : made.quantized) CHECK(tensor.weighted == (tensor.name == gate.name));
  CHECK(found.text("qualify.quantized") == "experts rocmfp4, weighted by importance");

  options.out = folder / "refused.gguf";
  const auto refusal = [&](std::vector<float>& values, std::size_t at, float value) {
    const float before = std::exchange(values[at], value);
    options.importance = write("damaged.gguf");
    values[at] = before;
    return messageOf([&] { qe::quantizeModel(options); });
  };
  const std::string path = (folder / "damaged.gguf").string();
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1.0f}) {
    CAPTURE(value);
    CHECK(has(refusal(sums, 300, value), path + ": tensor '" + gate.name + ".in_sum2' has "));
    CHECK(has(refusal(sums, 300, value), " at index 300, "));
    CHECK(has(refusal(counts, 5, value), path + ": tensor '" + gate.name + ".counts' has "));
    CHECK(has(refusal(counts, 5, value), " at index 5, "));
  }
  CHECK_FALSE(std::filesystem::exists(options.out));
  std::vector<float> zeros(sums.size());
  sums.swap(zeros);
  options.importance = write("zero.gguf");
  CHECK(has(messageOf([&] { qe::quantizeModel(options); }), "zero.gguf: does not apply: it has no sum above 0"));
  sums.swap(zeros);
  options.importance = folder / "imatrix.gguf";

  options.out = folder / "other.gguf";
  options.experts = "q4_0";
  CHECK(has(messageOf([&] { qe::quantizeModel(options); }), "does not apply"));
  options.experts = "rocmfp4";
  options.importance = source.path();
  CHECK(has(messageOf([&] { qe::quantizeModel(options); }), "holds no importance"));
}

TEST_CASE("what cannot be done is refused with the name of the tensor and a remedy, and leaves nothing") {
  const ScratchFolder folder;
  const std::filesystem::path unit = test::Models::get().unit("f32");
  const auto refusal = [&](auto change) {
    qe::QuantizeOptions options = optionsFor(unit, folder / "out.gguf", "q4_0");
    change(options);
    return messageOf([&] { qe::quantizeModel(options); });
  };
  CHECK(has(refusal([](auto& o) { o.experts = "q5_1"; }), "types are rocmfp2, rocmfp4"));
  CHECK(has(refusal([](auto& o) { o.dense = "i32"; }), "there is no type 'i32' for dense matrices; types are f32"));
  CHECK(has(refusal([](auto& o) { o.dense = "q2_k"; }),
            "attn_q_b.weight' has rows of 128 values, which do not fill blocks"));
  CHECK(has(refusal([](auto& o) { o.threads = 0; }), "at least one thread"));
  CHECK(has(refusal([](auto& o) { o.out = ""; }), "name the file"));
  CHECK(has(refusal([&](auto& o) { o.in = folder / "none.gguf"; }), "none.gguf"));
  CHECK(has(refusal([&](auto& o) { o.out = folder / "none/out.gguf"; }), "create its folder first"));
  CHECK(folder.names().empty());

  std::filesystem::copy_file(unit, folder / "in.gguf");
  std::filesystem::create_hard_link(folder / "in.gguf", folder / "same.gguf");
  const auto onCopy = [&](const std::string& experts, const std::string& out) {
    return messageOf([&] {
      qe::QuantizeOptions options = optionsFor(folder / "in.gguf", folder / out, experts);
      options.overwrite = true;
      qe::quantizeModel(options);
    });
  };
  CHECK(has(onCopy("q4_0", "same.gguf"), "is the model that is read"));
  std::uint64_t at = 0;
  {
    const qe::Gguf file(folder / "in.gguf");
    at = file.tensor("blk.2.ffn_up_exps.weight").offsetBytes + 70000 * sizeof(float);
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  {
    const PatchedBytes patched(folder / "in.gguf", at, &nan, sizeof nan);
    CHECK(has(onCopy("q4_0", "out.gguf"),
              "tensor 'blk.2.ffn_up_exps.weight' has a value that is not finite at index 70000"));
  }
  const float huge = 1e30f;
  {
    const PatchedBytes patched(folder / "in.gguf", at, &huge, sizeof huge);
    CHECK(has(onCopy("q8_0", "out.gguf"), "holds a value that is too large for q8_0"));
  }
  CHECK(onCopy("q8_0", "out.gguf").empty());
}

TEST_CASE("a cancelled rounding leaves no file, and progress grows to the size of the file") {
  const ScratchFolder folder;
  std::atomic<bool> cancel{false};
  qe::QuantizeOptions options = optionsFor(test::Models::get().unit("f32"), folder / "out.gguf", "q8_0");
  options.cancel = &cancel;
  CHECK(has(messageOf([&] { qe::quantizeModel(options, [&](auto, auto) { cancel = true; }); }), "cancelled"));
  CHECK(folder.names().empty());
  cancel = false;
  std::uint64_t before = 0;
  std::uint64_t total = 0;
  const qe::Quantized made = qe::quantizeModel(options, [&](std::uint64_t done, std::uint64_t all) {
    CHECK(done >= before);
    before = done;
    total = all;
  });
  CHECK(before == made.sizeBytes);
  CHECK(total == made.sizeBytes);
}
