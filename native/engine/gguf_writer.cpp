#include "gguf_writer.h"

#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace qe {
namespace {

void putBytes(std::vector<std::byte>& out, const void* bytes, std::size_t count) {
  const std::size_t at = out.size();
  out.resize(at + count);
  if (count > 0) std::memcpy(out.data() + at, bytes, count);
}

template <typename T>
void put(std::vector<std::byte>& out, T value) {
  putBytes(out, &value, sizeof value);
}

void putText(std::vector<std::byte>& out, std::string_view text) {
  put(out, std::uint64_t{text.size()});
  putBytes(out, text.data(), text.size());
}

void putType(std::vector<std::byte>& out, GgufType type) { put(out, static_cast<std::uint32_t>(type)); }

void putArrayHead(std::vector<std::byte>& out, GgufType type, std::size_t count) {
  putType(out, type);
  put(out, std::uint64_t{count});
}

}  // namespace

void GgufWriter::key(std::string_view key, GgufType type) {
  putText(metadata_, key);
  putType(metadata_, type);
  ++entries_;
}

void GgufWriter::text(std::string_view name, std::string_view value) {
  key(name, GgufType::string);
  putText(metadata_, value);
}

void GgufWriter::boolean(std::string_view name, bool value) {
  key(name, GgufType::boolean);
  put(metadata_, static_cast<std::uint8_t>(value ? 1 : 0));
}

void GgufWriter::count(std::string_view name, std::int64_t value) {
  if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("metadata '" + std::string(name) + "' cannot hold " + std::to_string(value));
  }
  key(name, GgufType::uint32);
  put(metadata_, static_cast<std::uint32_t>(value));
}

void GgufWriter::number(std::string_view name, double value) {
  key(name, GgufType::float32);
  put(metadata_, static_cast<float>(value));
}

void GgufWriter::wide(std::string_view name, std::uint64_t value) {
  key(name, GgufType::uint64);
  put(metadata_, value);
}

void GgufWriter::integers(std::string_view name, std::span<const std::int32_t> values) {
  key(name, GgufType::array);
  putArrayHead(metadata_, GgufType::int32, values.size());
  for (const std::int32_t value : values) put(metadata_, value);
}

void GgufWriter::numbers(std::string_view name, std::span<const float> values) {
  key(name, GgufType::array);
  putArrayHead(metadata_, GgufType::float32, values.size());
  for (const float value : values) put(metadata_, value);
}

void GgufWriter::texts(std::string_view name, std::span<const std::string> values) {
  key(name, GgufType::array);
  putArrayHead(metadata_, GgufType::string, values.size());
  for (const std::string& value : values) putText(metadata_, value);
}

void GgufWriter::copy(std::span<const std::byte> entry) {
  putBytes(metadata_, entry.data(), entry.size());
  ++entries_;
}

void GgufWriter::tensor(std::string name, qk::Type type, std::vector<std::int64_t> dims) {
  const qk::Format& format = qk::format(type);
  if (dims.empty() || dims.size() > kGgufMaxDims || dims.front() % format.weights != 0) {
    throw std::invalid_argument("tensor '" + name + "' cannot be stored as " + std::string(format.name) +
                                ": its rows must fill whole blocks of " + std::to_string(format.weights));
  }
  std::int64_t blocks = dims.front() / format.weights;
  for (std::size_t i = 1; i < dims.size(); ++i) blocks *= dims[i];
  const std::uint64_t offset = alignUp(dataBytes_, alignment_);
  const auto bytes = static_cast<std::uint64_t>(blocks * format.bytes);
  tensors_.push_back({std::move(name), type, std::move(dims), offset, bytes});
  dataBytes_ = offset + bytes;
}

std::vector<std::byte> GgufWriter::header() const {
  std::vector<std::byte> out;
  putBytes(out, "GGUF", 4);
  put(out, kGgufVersion);
  put(out, std::uint64_t{tensors_.size()});
  put(out, entries_);
  putBytes(out, metadata_.data(), metadata_.size());
  for (const PlacedTensor& tensor : tensors_) {
    putText(out, tensor.name);
    put(out, static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::int64_t dim : tensor.dims) put(out, static_cast<std::uint64_t>(dim));
    put(out, static_cast<std::uint32_t>(tensor.type));
    put(out, tensor.offsetBytes);
  }
  out.resize(alignUp(out.size(), alignment_));
  return out;
}

std::uint64_t GgufWriter::fileBytes() const { return header().size() + alignUp(dataBytes_, alignment_); }

}  // namespace qe
