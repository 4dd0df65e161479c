// Owns a file that appears under its name only when it is complete, and otherwise leaves nothing behind.
//
// Where the file system can, the file has no name at all until then, so that even a killed process leaves nothing;
// elsewhere it has a hidden name in the same folder, which is removed on any failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace qe {

class OutputFile {
 public:
  enum class Draft { unnamed, hidden };

  // Throws std::runtime_error naming the file when it exists and may not be overwritten or is no regular file (links
  // are not followed), or when the folder is missing or not writable, or lacks room for sizeBytes. Draft::hidden forces
  // the second way.
  OutputFile(const std::filesystem::path& path, std::uint64_t sizeBytes, bool overwrite, Draft draft = Draft::unnamed);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Any thread may write any part. Throws std::runtime_error naming the file (disk full, quota, ...).
  void write(std::uint64_t offset, std::span<const std::byte> bytes) const;
  // Syncs the data and gives the file its name. Throws std::runtime_error; nothing stays behind then.
  void finish();

 private:
  [[noreturn]] void fail(const char* what, int error) const;
  void reserve() const;

  std::filesystem::path path_;
  std::filesystem::path draftPath_;  // empty while the file has no name
  std::uint64_t size_;
  bool overwrite_;
  int descriptor_ = -1;
};

}  // namespace qe
