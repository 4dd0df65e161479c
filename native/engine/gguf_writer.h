// Owns the header of a GGUF v3 file to be written: metadata, tensor table and the place of every tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf_format.h"
#include "qk/format.h"

namespace qe {

struct PlacedTensor {
  std::string name;
  qk::Type type = qk::Type::F32;
  std::vector<std::int64_t> dims;
  std::uint64_t offsetBytes = 0;  // from the start of the data
  std::uint64_t sizeBytes = 0;
};

class GgufWriter {
 public:
  // Tensors start at multiples of `alignment`, a power of two; one that is not the default must be in the metadata, too.
  explicit GgufWriter(std::uint64_t alignment = kGgufDefaultAlignment) : alignment_(alignment) {}

  void text(std::string_view key, std::string_view value);
  void boolean(std::string_view key, bool value);
  void count(std::string_view key, std::int64_t value);    // uint32; throws std::invalid_argument when it does not fit
  void number(std::string_view key, double value);         // float32
  void wide(std::string_view key, std::uint64_t value);    // uint64
  void integers(std::string_view key, std::span<const std::int32_t> values);
  void numbers(std::string_view key, std::span<const float> values);
  void texts(std::string_view key, std::span<const std::string> values);
  // One entry as it lies in another file: key, type and value.
  void copy(std::span<const std::byte> entry);
  // Tensors lie in the file in the order of these calls, each at a multiple of the alignment.
  void tensor(std::string name, qk::Type type, std::vector<std::int64_t> dims);

  const std::vector<PlacedTensor>& tensors() const { return tensors_; }
  // Header bytes, padded so that the data starts right behind them.
  std::vector<std::byte> header() const;
  // From the start of the data to the end of the last tensor.
  std::uint64_t dataBytes() const { return dataBytes_; }
  // Of the whole file: the last tensor is padded like the others.
  std::uint64_t fileBytes() const;

 private:
  void key(std::string_view key, GgufType type);

  std::uint64_t alignment_;
  std::vector<std::byte> metadata_;
  std::uint64_t entries_ = 0;
  std::vector<PlacedTensor> tensors_;
  std::uint64_t dataBytes_ = 0;
};

}  // namespace qe
