// The look at every value of a file: what is no number is named by file, offset, tensor and index, whatever its format.
#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/gguf_reader.h"
#include "engine/gguf_writer.h"
#include "engine/value_check.h"
#include "qk/format.h"
#include "scratch_folder.h"

namespace {

using Bytes = std::vector<std::byte>;

// Two tensors: a sound one, then `spoilt` of that type with 256 x 600 values, all bytes zero but those put at `at` of its data.
Bytes fileWith(qk::Type type, std::size_t at, const std::vector<std::uint8_t>& put) {
  qe::GgufWriter writer;
  writer.text("general.architecture", "tiny");
  writer.tensor("sound", qk::Type::F32, {256, 2});
  writer.tensor("spoilt", type, {256, 600});
  Bytes bytes = writer.header();
  const std::size_t start = bytes.size() + 256 * 2 * 4;
  bytes.resize(bytes.size() + writer.dataBytes());
  for (std::size_t i = 0; i < put.size(); ++i) bytes.at(start + at + i) = static_cast<std::byte>(put[i]);
  return bytes;
}

std::string found(const Bytes& bytes) {
  const ScratchFolder folder;
  const qe::Gguf file(folder.write("model.gguf", bytes));
  try {
    qe::requireFinite(file);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// Place in the data of the spoilt tensor's last block.
std::size_t lastBlock(qk::Type type) {
  const qk::Format& format = qk::format(type);
  return static_cast<std::size_t>((256 * 600 / format.weights - 1) * format.bytes);
}

bool has(const std::string& text, const std::string& part) {
  const bool is = text.find(part) != std::string::npos;
  if (!is) MESSAGE("'", part, "' is not in: ", text);
  return is;
}

}  // namespace

TEST_CASE("a value that is NaN or infinite is named with its file, tensor and place") {
  const std::string last = " value " + std::to_string(256 * 600 - 1);
  const std::string nan = found(fileWith(qk::Type::F32, lastBlock(qk::Type::F32), {0, 0, 0xc0, 0x7f}));
  CHECK(has(nan, "model.gguf: offset "));
  CHECK(has(nan, "tensor 'spoilt' (f32, 256 x 600):" + last + " is NaN"));
  CHECK(has(nan, "the file is damaged, fetch or create it again"));
  CHECK(has(found(fileWith(qk::Type::F32, 0, {0, 0, 0x80, 0xff})), "value 0 is infinite"));
  CHECK(has(found(fileWith(qk::Type::F16, lastBlock(qk::Type::F16), {0, 0x7c})), "(f16, 256 x 600):" + last + " is infinite"));
  CHECK(has(found(fileWith(qk::Type::BF16, lastBlock(qk::Type::BF16), {0xc0, 0x7f})), "(bf16, 256 x 600):" + last + " is NaN"));
}

TEST_CASE("so is a block whose scale is no number") {
  for (const qk::Type type : {qk::Type::Q4_0, qk::Type::Q8_0}) {
    const std::int64_t first = 256 * 600 - qk::format(type).weights;
    CHECK(has(found(fileWith(type, lastBlock(type), {0, 0x7e})), "value " + std::to_string(first) + " is NaN"));
  }
  const std::string minimum = found(fileWith(qk::Type::Q2_K, lastBlock(qk::Type::Q2_K) + 82, {0, 0x7e}));
  CHECK(has(minimum, "value " + std::to_string(256 * 599) + " is NaN"));
  const std::vector<std::uint8_t> largest = {0xff, 0x07};
  CHECK(has(found(fileWith(qk::Type::MXFP4, lastBlock(qk::Type::MXFP4), largest)), "is infinite"));
}

TEST_CASE("the offset is that of the block in the file") {
  const Bytes bytes = fileWith(qk::Type::Q8_0, 34, {0, 0x7e});
  const ScratchFolder folder;
  const qe::Gguf file(folder.write("model.gguf", bytes));
  const std::uint64_t offset = file.tensor("spoilt").offsetBytes + 34;
  CHECK(has(found(bytes), "offset " + std::to_string(offset) + ": tensor 'spoilt'"));
}

TEST_CASE("whatever bytes a format holds that knows no such value, the file is sound") {
  for (const qk::Format& format : qk::formats()) {
    CAPTURE(format.name);
    CHECK(found(fileWith(format.type, 0, {})).empty());
  }
  for (const qk::Type type : {qk::Type::ROCmFP2, qk::Type::ROCmFP3, qk::Type::ROCmFP4, qk::Type::ROCmFP4_FAST}) {
    const auto bytes = static_cast<std::size_t>(qk::format(type).bytes);
    // The claim rests on the decoder: no byte of a block gives anything else than a number.
    for (unsigned value = 0; value < 256; ++value) {
      const std::vector<std::byte> block(bytes, static_cast<std::byte>(value));
      std::vector<float> out(static_cast<std::size_t>(qk::format(type).weights));
      qk::dequantize(type, block.data(), qk::format(type).weights, out.data());
      for (const float weight : out) CHECK(weight - weight == 0.0f);
    }
  }
}
