// Owns bounds-checked little-endian reading of an untrusted file. Nothing is read past the end, and no length that the
// file claims is believed before it is compared with the bytes that remain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "mapped_file.h"

namespace qe {

class ByteCursor {
 public:
  explicit ByteCursor(const MappedFile& file) : file_(file) {}

  std::uint64_t offset() const { return offset_; }
  std::uint64_t remaining() const { return file_.size() - offset_; }
  // What is being read, for messages: "the key of metadata entry 3", "tensor 'output.weight'".
  void reading(std::string subject) { subject_ = std::move(subject); }

  [[noreturn]] void fail(const std::string& problem) const {
    throw std::runtime_error(file_.path().string() + ": offset " + std::to_string(offset_) + ": " + subject_ + ": " +
                             problem);
  }

  template <typename T>
  T number() {
    static_assert(std::is_arithmetic_v<T>);
    require(sizeof(T));
    T value{};
    std::memcpy(&value, file_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  std::string text() {
    const auto length = number<std::uint64_t>();
    require(length);
    std::string value(reinterpret_cast<const char*>(file_.data() + offset_), length);
    offset_ += length;
    return value;
  }

 private:
  void require(std::uint64_t bytes) const {
    if (bytes > remaining()) {
      fail("needs " + std::to_string(bytes) + " bytes but only " + std::to_string(remaining()) +
           " remain in the file; it is truncated or corrupt, fetch or create it again");
    }
  }

  const MappedFile& file_;
  std::uint64_t offset_ = 0;
  std::string subject_ = "header";
};

}  // namespace qe
