// Owns where large buffers come from.
#include "qk/aligned_buffer.h"

#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace qk {
namespace {
constexpr std::size_t lineBytes = 64;
constexpr std::size_t hugePageBytes = std::size_t{2} << 20;
}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t bytes) { reserve(bytes); }

void AlignedBuffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  data_.reset();
  bytes_ = 0;
  const std::size_t alignment = bytes >= 2 * hugePageBytes ? hugePageBytes : lineBytes;
  const std::size_t rounded = (bytes + lineBytes - 1) / lineBytes * lineBytes;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, rounded) != 0) throw std::bad_alloc();
  data_.reset(static_cast<std::byte*>(memory));
  bytes_ = rounded;
#ifdef __linux__
  // Advice only: without huge pages everything is as right, a little slower.
  if (alignment == hugePageBytes) (void)madvise(memory, rounded, MADV_HUGEPAGE);
#endif
}

}  // namespace qk
