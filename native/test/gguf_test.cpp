// The GGUF reader: what it reads, and that nothing which a file may claim or hold makes it do worse than throw.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "engine/gguf_reader.h"
#include "engine/gguf_writer.h"
#include "engine/model_file.h"
#include "scratch_folder.h"

namespace {

using Bytes = std::vector<std::byte>;

// Raw pieces of a GGUF file, for headers that the writer would never write.
class Raw {
 public:
  template <typename T>
  Raw& number(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
    return *this;
  }
  Raw& letters(std::string_view text) {
    for (const char letter : text) bytes_.push_back(static_cast<std::byte>(letter));
    return *this;
  }
  Raw& text(std::string_view value) { return number(std::uint64_t{value.size()}).letters(value); }
  Raw& start(std::uint64_t tensors, std::uint64_t entries) {
    return letters("GGUF").number(std::uint32_t{3}).number(tensors).number(entries);
  }
  Raw& tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type, std::uint64_t offset) {
    text(name).number(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) number(dim);
    return number(type).number(offset);
  }
  Raw& data(std::size_t bytes) {
    bytes_.resize((bytes_.size() + 31) / 32 * 32 + bytes);
    return *this;
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

std::string failure(const ScratchFolder& folder, const Bytes& bytes) {
  const auto path = folder.write("bad.gguf", bytes);
  return messageOf([&] { const qe::Gguf file(path); });
}

bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'", part, "' is not in: ", text);
  return found;
}

Bytes tinyFile() {
  qe::GgufWriter writer;
  const std::array<std::int32_t, 3> integers = {-1, 0, 7};
  const std::array<float, 2> numbers = {0.5f, -2.0f};
  const std::array<std::string, 2> texts = {"", "b"};
  writer.text("general.architecture", "tiny");
  writer.boolean("yes", true);
  writer.count("count", 4000000000);
  writer.wide("wide", 1ULL << 40);
  writer.number("half", 0.5);
  writer.integers("integers", integers);
  writer.numbers("numbers", numbers);
  writer.texts("texts", texts);
  writer.tensor("a.weight", qk::Type::F32, {3, 2});
  writer.tensor("b.weight", qk::Type::Q8_0, {32, 1, 2});
  Bytes bytes = writer.header();
  const std::size_t start = bytes.size();
  bytes.resize(start + writer.dataBytes());
  for (std::size_t i = 0; i < 6; ++i) {
    const float value = static_cast<float>(i) + 1;
    std::memcpy(bytes.data() + start + 4 * i, &value, sizeof value);
  }
  return bytes;
}

// Reads everything that a successful parse hands out, so that the sanitizers see every access.
std::uint64_t touch(const qe::Gguf& file) {
  std::uint64_t sum = 0;
  for (const qe::Tensor& tensor : file.tensors()) {
    for (std::uint64_t i = 0; i < tensor.sizeBytes; ++i) sum += std::to_integer<std::uint64_t>(tensor.data[i]);
    if (tensor.type != qk::Type::I32) sum += tensor.floats().size();
  }
  return sum + qe::describe(file).tensors.size();
}

}  // namespace

TEST_CASE("reads every kind of metadata and every tensor that the writer wrote") {
  const ScratchFolder folder;
  const qe::Gguf file(folder.write("tiny.gguf", tinyFile()));
  CHECK(file.text("general.architecture") == "tiny");
  CHECK(file.boolean("yes"));
  CHECK(file.integer("count") == 4000000000);
  CHECK(file.integer("wide") == std::int64_t{1} << 40);
  CHECK(file.number("half") == 0.5);
  CHECK(file.number("count") == 4e9);
  CHECK(file.integers("integers") == std::vector<std::int64_t>{-1, 0, 7});
  CHECK(file.numbers("numbers") == std::vector<double>{0.5, -2.0});
  CHECK(file.texts("texts") == std::vector<std::string>{"", "b"});
  CHECK(file.alignment() == 32);
  REQUIRE(file.tensors().size() == 2);
  const qe::Tensor& a = file.tensor("a.weight");
  CHECK(a.floats() == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(a.matrix().rows == 2);
  CHECK(a.matrix().cols == 3);
  CHECK(a.offsetBytes == file.dataOffsetBytes());
  const qe::Tensor& b = file.tensor("b.weight");
  CHECK(b.sizeBytes == 68);
  CHECK(b.offsetBytes % 32 == 0);
  CHECK(b.experts().experts == 2);
  CHECK(b.shape() == "32 x 1 x 2");
  file.release(b);
  CHECK(b.floats() == std::vector<float>(64, 0.0f));
}

TEST_CASE("typed access names file and key when a value is missing or of another kind") {
  const ScratchFolder folder;
  const qe::Gguf file(folder.write("tiny.gguf", tinyFile()));
  CHECK(has(messageOf([&] { file.integer("absent"); }), "tiny.gguf: metadata 'absent' is missing"));
  CHECK(has(messageOf([&] { file.integer("half"); }), "'half' is not an integer"));
  CHECK(has(messageOf([&] { file.text("yes"); }), "'yes' is not a text"));
  CHECK(has(messageOf([&] { file.boolean("count"); }), "'count' is not a boolean"));
  CHECK(has(messageOf([&] { file.number("general.architecture"); }), "is not a number"));
  CHECK(has(messageOf([&] { file.integer("integers"); }), "is an array where one value is wanted"));
  CHECK(has(messageOf([&] { file.integers("count"); }), "is one value where an array is wanted"));
  CHECK(has(messageOf([&] { file.integers("texts"); }), "is not an array of integers"));
  CHECK(has(messageOf([&] { file.tensor("c.weight"); }), "tensor 'c.weight' is missing"));
  CHECK(has(messageOf([&] { file.tensor("a.weight").ints(); }), "holds weights, not indices"));
  CHECK(has(messageOf([&] { file.tensor("a.weight").experts(); }), "does not hold one matrix an expert"));
  CHECK(has(messageOf([&] { file.tensor("b.weight").matrix(); }), "is not a matrix"));
}

TEST_CASE("says what a foreign file is") {
  const ScratchFolder folder;
  CHECK(has(messageOf([&] { const qe::Gguf file(folder / "none.gguf"); }), "none.gguf: cannot be opened: No such file"));
  CHECK(has(messageOf([&] { const qe::Gguf file(folder.path()); }), "is a folder"));
  CHECK(has(messageOf([&] { const qe::Gguf file("/dev/null"); }), "is not a regular file"));
  CHECK(has(failure(folder, {}), "is empty"));
  CHECK(has(failure(folder, Raw().letters("lmgg").number(1).bytes()), "GGML file of before GGUF"));
  CHECK(has(failure(folder, Raw().number(std::uint64_t{64}).letters("{\"a\":{}}").bytes()), "safetensors"));
  CHECK(has(failure(folder, Raw().letters("PK\3\4.....").bytes()), "zip archive"));
  CHECK(has(failure(folder, Raw().letters("hello, world").bytes()), "does not start with 'GGUF'"));
  CHECK(has(failure(folder, Raw().letters("GG").bytes()), "does not start with 'GGUF'"));
  const auto version = [&](std::uint32_t v) {
    return failure(folder, Raw().letters("GGUF").number(v).number(std::uint64_t{0}).number(std::uint64_t{0}).bytes());
  };
  CHECK(has(version(1), "GGUF v1; rewrite it as v3"));
  CHECK(has(version(2), "GGUF v2; rewrite it as v3"));
  CHECK(has(version(4), "newer than this engine"));
  CHECK(has(version(0x03000000), "big-endian"));
  CHECK(version(3).empty());
}

TEST_CASE("names offset and subject of what is corrupt") {
  const ScratchFolder folder;
  constexpr std::uint64_t kHuge = 1ULL << 60;
  const auto metadata = [](std::uint32_t type) {
    return Raw().start(0, 1).text("key").number(type);
  };
  const std::string longText = failure(folder, metadata(8).number(kHuge).bytes());
  CHECK(has(longText, "bad.gguf: offset 47: metadata 'key': needs 1152921504606846976 bytes but only 0 remain"));
  CHECK(has(failure(folder, Raw().start(0, 1).number(kHuge).bytes()), "key of metadata entry 0"));
  CHECK(has(failure(folder, Raw().start(0, kHuge).bytes()), "key of metadata entry 0: needs 8 bytes"));
  CHECK(has(failure(folder, Raw().start(kHuge, 0).bytes()), "name of tensor 0: needs 8 bytes"));
  CHECK(has(failure(folder, Raw().start(0, 1).text("").bytes()), "is empty"));
  CHECK(has(failure(folder, metadata(13).bytes()), "value type 13"));
  CHECK(has(failure(folder, metadata(9).number(9u).number(std::uint64_t{1}).number(1u).bytes()), "not nested"));
  CHECK(has(failure(folder, metadata(9).number(0u).number(kHuge).bytes()), "claims 1152921504606846976 elements"));
  CHECK(has(failure(folder, metadata(9).number(6u).number(std::uint64_t{3}).number(1.0).bytes()), "needs 4 bytes"));
  CHECK(has(failure(folder, metadata(7).number(std::uint8_t{2}).bytes()), "a boolean is 2"));
  CHECK(has(failure(folder, metadata(10).number(~0ULL).bytes()), "above 2^63 - 1"));
  const auto twice = Raw().start(0, 2).text("key").number(4u).number(1u).text("key").number(4u).number(1u);
  CHECK(has(failure(folder, twice.bytes()), "metadata 'key': appears twice"));
  for (const std::uint32_t alignment : {0u, 4u, 48u, 1u << 21}) {
    const auto raw = Raw().start(0, 1).text("general.alignment").number(4u).number(alignment);
    CHECK(has(failure(folder, raw.bytes()), "is not a power of two"));
  }
}

TEST_CASE("names the tensor whose entry is corrupt") {
  const ScratchFolder folder;
  const auto one = [&](const std::vector<std::uint64_t>& dims, std::uint32_t type, std::uint64_t offset) {
    return failure(folder, Raw().start(1, 0).tensor("t", dims, type, offset).data(64).bytes());
  };
  CHECK(one({16}, 0, 0).empty());
  CHECK(has(one({}, 0, 0), "tensor 't': has 0 dimensions"));
  CHECK(has(one({1, 1, 1, 1, 1}, 0, 0), "has 5 dimensions"));
  CHECK(has(one({16, 0}, 0, 0), "dimension 1 is 0"));
  CHECK(has(one({16}, 12, 0), "type id 12"));
  CHECK(has(one({48}, 8, 0), "rows of 48 values do not fill whole q8_0 blocks"));
  CHECK(has(one({1ULL << 40, 1ULL << 40}, 0, 0), "larger than any file"));
  CHECK(has(one({1ULL << 62}, 0, 0), "larger than any file"));
  CHECK(has(one({16}, 0, 16), "not a multiple of 32"));
  CHECK(has(one({17}, 0, 0), "takes 68 bytes from data offset 0, beyond the end of the file (64 bytes of data)"));
  CHECK(has(one({16}, 0, 32), "beyond the end"));
  CHECK(has(one({16}, 0, 0xffffffffffffffe0ULL), "beyond the end"));
  const auto two = [&](std::string_view name, std::uint64_t offset) {
    return failure(folder, Raw().start(2, 0).tensor("t", {16}, 0, 0).tensor(name, {8}, 0, offset).data(96).bytes());
  };
  CHECK(two("u", 64).empty());
  CHECK(has(two("t", 64), "tensor 't': appears twice"));
  CHECK(has(two("u", 32), "tensor 'u': overlaps tensor 't'"));
}

TEST_CASE("a larger alignment moves the data") {
  const ScratchFolder folder;
  Raw raw;
  raw.start(1, 1).text("general.alignment").number(4u).number(256u).tensor("t", {1}, 0, 0);
  Bytes bytes = raw.bytes();
  bytes.resize(256);
  for (const std::byte b : {std::byte{0}, std::byte{0}, std::byte{0x80}, std::byte{0x3f}}) bytes.push_back(b);
  const qe::Gguf file(folder.write("aligned.gguf", bytes));
  CHECK(file.dataOffsetBytes() == 256);
  CHECK(file.tensor("t").floats() == std::vector<float>{1.0f});
}

TEST_CASE("a file cut at any length is refused") {
  const ScratchFolder folder;
  const Bytes whole = tinyFile();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string message = failure(folder, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    INFO("length ", length);
    CHECK(has(message, "bad.gguf: "));
  }
}

TEST_CASE("a header with any byte changed parses or is refused, and never reads beyond the file") {
  const ScratchFolder folder;
  const Bytes whole = tinyFile();
  const std::size_t headerBytes = qe::Gguf(folder.write("whole.gguf", whole)).dataOffsetBytes();
  std::uint64_t touched = 0;
  int parsed = 0;
  int refused = 0;
  for (std::size_t at = 0; at < headerBytes; ++at) {
    for (const unsigned flip : {0x01u, 0x02u, 0x10u, 0x80u, 0xffu}) {
      Bytes bytes = whole;
      bytes[at] ^= static_cast<std::byte>(flip);
      const auto path = folder.write("changed.gguf", bytes);
      try {
        const qe::Gguf file(path);
        touched += touch(file);
        ++parsed;
      } catch (const std::runtime_error& error) {
        CHECK(has(error.what(), "changed.gguf: "));
        ++refused;
      }
    }
  }
  CHECK(parsed > 0);
  CHECK(touched > 0);
  CHECK(refused > parsed / 4);
}
