// Owns raw memory aligned for vector loads; large ones ask for huge pages.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace qk {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Uninitialised. Throws std::bad_alloc.
  explicit AlignedBuffer(std::size_t bytes);

  // At least `bytes`; keeps the memory it has when that is enough, else the contents are lost.
  void reserve(std::size_t bytes);

  std::size_t bytes() const { return bytes_; }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace qk
