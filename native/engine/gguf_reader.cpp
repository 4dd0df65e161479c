#include "gguf_reader.h"

#include "gguf_parser.h"

namespace qe {
namespace {

template <typename T>
constexpr const char* kindName() {
  if constexpr (std::is_same_v<T, bool>) return "a boolean";
  if constexpr (std::is_same_v<T, std::int64_t>) return "an integer";
  if constexpr (std::is_same_v<T, double>) return "a number";
  return "a text";
}

}  // namespace

Gguf::Gguf(const std::filesystem::path& path) : file_(path) {
  GgufHeader header = parseGguf(file_);
  alignment_ = header.alignment;
  dataOffset_ = header.dataOffsetBytes;
  metadata_ = std::move(header.metadata);
  tensors_ = std::move(header.tensors);
  for (std::size_t i = 0; i < metadata_.size(); ++i) metadataByKey_.emplace(metadata_[i].key, i);
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensorByName_.emplace(tensors_[i].name, i);
}

void Gguf::fail(std::string_view key, const std::string& problem) const {
  throw std::runtime_error(path().string() + ": metadata '" + std::string(key) + "' " + problem);
}

const MetadataEntry* Gguf::find(std::string_view key) const {
  const auto found = metadataByKey_.find(std::string(key));
  return found == metadataByKey_.end() ? nullptr : &metadata_[found->second];
}

const Scalar& Gguf::scalar(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) fail(key, "is missing; this is not a complete model file of this engine");
  if (entry->isArray) fail(key, "is an array where one value is wanted");
  return entry->values.front();
}

const std::vector<Scalar>& Gguf::array(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) fail(key, "is missing; this is not a complete model file of this engine");
  if (!entry->isArray) fail(key, "is one value where an array is wanted");
  return entry->values;
}

std::int64_t Gguf::integer(std::string_view key) const {
  const auto* value = std::get_if<std::int64_t>(&scalar(key));
  if (value == nullptr) fail(key, std::string("is not ") + kindName<std::int64_t>());
  return *value;
}

double Gguf::number(std::string_view key) const {
  const Scalar& value = scalar(key);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr) fail(key, std::string("is not ") + kindName<double>());
  return *real;
}

bool Gguf::boolean(std::string_view key) const {
  const auto* value = std::get_if<bool>(&scalar(key));
  if (value == nullptr) fail(key, std::string("is not ") + kindName<bool>());
  return *value;
}

const std::string& Gguf::text(std::string_view key) const {
  const auto* value = std::get_if<std::string>(&scalar(key));
  if (value == nullptr) fail(key, std::string("is not ") + kindName<std::string>());
  return *value;
}

std::vector<std::int64_t> Gguf::integers(std::string_view key) const {
  std::vector<std::int64_t> all;
  for (const Scalar& value : array(key)) {
    const auto* whole = std::get_if<std::int64_t>(&value);
    if (whole == nullptr) fail(key, "is not an array of integers");
    all.push_back(*whole);
  }
  return all;
}

std::vector<double> Gguf::numbers(std::string_view key) const {
  std::vector<double> all;
  for (const Scalar& value : array(key)) {
    const auto* whole = std::get_if<std::int64_t>(&value);
    const auto* real = std::get_if<double>(&value);
    if (whole == nullptr && real == nullptr) fail(key, "is not an array of numbers");
    all.push_back(real != nullptr ? *real : static_cast<double>(*whole));
  }
  return all;
}

std::vector<std::string> Gguf::texts(std::string_view key) const {
  std::vector<std::string> all;
  for (const Scalar& value : array(key)) {
    const auto* found = std::get_if<std::string>(&value);
    if (found == nullptr) fail(key, "is not an array of texts");
    all.push_back(*found);
  }
  return all;
}

const Tensor* Gguf::findTensor(std::string_view name) const {
  const auto found = tensorByName_.find(std::string(name));
  return found == tensorByName_.end() ? nullptr : &tensors_[found->second];
}

const Tensor& Gguf::tensor(std::string_view name) const {
  const Tensor* found = findTensor(name);
  if (found == nullptr) {
    throw std::runtime_error(path().string() + ": tensor '" + std::string(name) +
                             "' is missing; the file is incomplete or of another architecture");
  }
  return *found;
}

void Gguf::release(const Tensor& tensor) const { release(tensor, 0, tensor.sizeBytes); }

void Gguf::release(const Tensor& tensor, std::uint64_t first, std::uint64_t bytes) const {
  file_.release(tensor.offsetBytes + first, bytes);
}

}  // namespace qe
