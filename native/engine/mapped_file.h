// Owns a read-only mapping of a whole regular file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace qe {

class MappedFile {
 public:
  // Throws std::runtime_error naming the file when it is missing, unreadable, a folder or empty.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::filesystem::path& path() const { return path_; }
  const std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }

  // Drops the whole pages inside [offset, offset + bytes) from memory; they are read again when touched.
  void release(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::filesystem::path path_;
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace qe
