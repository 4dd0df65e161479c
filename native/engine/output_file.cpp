#include "output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace qe {
namespace {

std::filesystem::path folderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// In the same folder, so that renaming never copies.
std::filesystem::path hiddenName(const std::filesystem::path& path) {
  std::string name = ".";
  name += path.filename().string();
  name += ".partial-";
  name += std::to_string(getpid());
  return folderOf(path) / name;
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path, std::uint64_t sizeBytes, bool overwrite, Draft draft)
    : path_(path), size_(sizeBytes), overwrite_(overwrite) {
  // Of the name itself: what a link points to is nobody's to replace.
  const std::filesystem::file_status there = std::filesystem::symlink_status(path);
  if (std::filesystem::is_directory(there)) throw std::runtime_error(path.string() + ": is a folder; name a file in it");
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    throw std::runtime_error(path.string() + ": is no regular file (a link or device) and is never replaced; "
                             "name another");
  }
  if (!overwrite && std::filesystem::exists(there)) {
    throw std::runtime_error(path.string() + ": exists already; remove it or ask for it to be overwritten");
  }
  const std::filesystem::path folder = folderOf(path);
  constexpr mode_t kMode = 0644;
  if (draft == Draft::unnamed) descriptor_ = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
  if (descriptor_ < 0) {
    draftPath_ = hiddenName(path);
    descriptor_ = open(draftPath_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    if (descriptor_ < 0) {
      const int error = errno;
      draftPath_.clear();  // not ours to remove
      fail("cannot be created", error);
    }
  }
  try {
    reserve();
  } catch (...) {
    close(descriptor_);
    if (!draftPath_.empty()) unlink(draftPath_.c_str());
    throw;
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!draftPath_.empty()) unlink(draftPath_.c_str());
}

void OutputFile::fail(const char* what, int error) const {
  std::string hint;
  if (error == ENOSPC || error == EDQUOT) hint = "; free some space or choose another folder";
  if (error == EACCES || error == EROFS || error == EPERM) hint = "; choose a folder that you may write to";
  if (error == ENOENT) hint = "; create its folder first";
  if (error == EFBIG) hint = "; raise the limit of file size (ulimit -f)";
  throw std::runtime_error(path_.string() + ": " + what + " (" + std::to_string(size_) + " bytes): " +
                           std::strerror(error) + hint);
}

// Takes the room at the start, so that a full disk shows at once and not after minutes.
void OutputFile::reserve() const {
  if (size_ > 0 && fallocate(descriptor_, 0, 0, static_cast<off_t>(size_)) != 0) {
    // File systems that cannot reserve say so; writing tells there.
    if (errno != EOPNOTSUPP && errno != ENOSYS) fail("has no room", errno);
  }
}

void OutputFile::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot be written", errno);
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void OutputFile::finish() {
  if (fsync(descriptor_) != 0) fail("cannot be synced", errno);
  if (draftPath_.empty()) {
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
    const std::filesystem::path hidden = hiddenName(path_);
    // Replacing a file in one step needs a name to rename from; a new file is linked to its name directly, which also
    // refuses when somebody else made one of that name meanwhile.
    const std::filesystem::path& target = overwrite_ ? hidden : path_;
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, target.c_str(), AT_SYMLINK_FOLLOW) != 0) fail("cannot be named", errno);
    if (overwrite_) draftPath_ = hidden;
  } else if (!overwrite_) {
    if (link(draftPath_.c_str(), path_.c_str()) != 0) fail("cannot be named", errno);
    return;  // the destructor removes the hidden name
  }
  if (!draftPath_.empty()) {
    if (rename(draftPath_.c_str(), path_.c_str()) != 0) fail("cannot be named", errno);
    draftPath_.clear();
  }
}

}  // namespace qe
