// Owns reading of GGUF v3 files: the mapping, the metadata and the tensor table, all checked before use.
//
// Every count, length, offset and product is compared with the bytes that are really there before anything is allocated
// or touched, so a truncated, corrupt or hostile file gives an error and never a crash. Errors are std::runtime_error
// and name the file, the byte offset and the key or tensor, and say what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "mapped_file.h"
#include "qk/format.h"
#include "qk/matrix.h"

namespace qe {

// One metadata scalar. Every integer type of the file becomes int64 (uint64 above its range is refused).
using Scalar = std::variant<bool, std::int64_t, double, std::string>;

struct MetadataEntry {
  std::string key;
  bool isArray = false;
  std::vector<Scalar> values;  // exactly one unless isArray; elements of an array are of one kind
  std::uint64_t offsetBytes = 0;  // of key, type and value in the file
  std::uint64_t sizeBytes = 0;
};

struct Tensor {
  std::string name;
  qk::Type type = qk::Type::F32;
  std::vector<std::int64_t> dims;  // as in the file: dims[0] is the row length; 1 to 4 entries
  std::uint64_t offsetBytes = 0;   // from the start of the file
  std::uint64_t sizeBytes = 0;
  const std::byte* data = nullptr;  // into the mapping; lives as long as the Gguf

  std::int64_t elements() const;
  std::string shape() const;              // "256 x 64"
  qk::Matrix matrix() const;              // dims [cols] or [cols, rows]; throws std::runtime_error otherwise
  qk::ExpertMatrices experts() const;     // dims [cols, rows, experts]; throws std::runtime_error otherwise
  std::vector<float> floats() const;      // decoded copy of everything; throws for I32
  std::vector<std::int32_t> ints() const;  // copy of an I32 tensor; throws for other types
};

// "256 x 64".
std::string shapeText(const std::vector<std::int64_t>& dims);

class Gguf {
 public:
  // Maps the file read-only and parses its header. Throws std::runtime_error (see the top of this file).
  explicit Gguf(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  std::uint64_t sizeBytes() const { return file_.size(); }
  std::uint64_t alignment() const { return alignment_; }
  std::uint64_t dataOffsetBytes() const { return dataOffset_; }  // where tensor data starts

  const std::vector<MetadataEntry>& metadata() const { return metadata_; }
  // Key, type and value as they lie in the file. Lives as long as this.
  std::span<const std::byte> raw(const MetadataEntry& entry) const {
    return {file_.data() + entry.offsetBytes, static_cast<std::size_t>(entry.sizeBytes)};
  }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  // Typed access. Throws std::runtime_error naming file and key when the key is missing or of another kind.
  std::int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;  // accepts an integer too
  bool boolean(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Tensor* findTensor(std::string_view name) const;  // null when absent
  const Tensor& tensor(std::string_view name) const;      // throws std::runtime_error when absent

  // Tells the kernel that the tensor's pages are not needed any more (after repacking). They are read again from the
  // file when touched, so this is always safe.
  void release(const Tensor& tensor) const;
  // The same for `bytes` of the tensor from `first` on.
  void release(const Tensor& tensor, std::uint64_t first, std::uint64_t bytes) const;

 private:
  const MetadataEntry* find(std::string_view key) const;
  const Scalar& scalar(std::string_view key) const;
  const std::vector<Scalar>& array(std::string_view key) const;
  [[noreturn]] void fail(std::string_view key, const std::string& problem) const;

  MappedFile file_;
  std::uint64_t alignment_ = 32;
  std::uint64_t dataOffset_ = 0;
  std::vector<MetadataEntry> metadata_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string, std::size_t> metadataByKey_;
  std::unordered_map<std::string, std::size_t> tensorByName_;
};

}  // namespace qe
