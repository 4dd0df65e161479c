// Owns a folder of one test's files, removed with everything in it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "qualify-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for tests: " + pattern);
    path_ = pattern;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  std::filesystem::path write(const std::string& name, const std::vector<std::byte>& bytes) const {
    std::ofstream out(path_ / name, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }

  // Names in the folder, hidden ones too.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) all.push_back(entry.path().filename().string());
    return all;
  }

 private:
  std::filesystem::path path_;
};

inline std::vector<std::byte> readBytes(const std::filesystem::path& path) {
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Writes bytes into an existing file, in place, and puts the former ones back at the end of its life.
class PatchedBytes {
 public:
  PatchedBytes(const std::filesystem::path& path, std::size_t at, const void* bytes, std::size_t count)
      : path_(path), at_(at), before_(count) {
    std::ifstream in(path, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(at)).read(before_.data(), static_cast<std::streamsize>(count));
    put(static_cast<const char*>(bytes));
  }
  PatchedBytes(const PatchedBytes&) = delete;
  PatchedBytes& operator=(const PatchedBytes&) = delete;
  ~PatchedBytes() { put(before_.data()); }

 private:
  void put(const char* bytes) const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at_)).write(bytes, static_cast<std::streamsize>(before_.size()));
  }

  std::filesystem::path path_;
  std::size_t at_;
  std::vector<char> before_;
};

// The message of what `action` throws; empty when it throws nothing.
template <typename Action>
std::string messageOf(Action&& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}
