// Owns UninitialisedVector: a vector whose new elements hold nothing yet, for rows that threads are about to
// write. Pages of large ones cost memory only once they are written.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace qk {

template <class T>
struct UninitialisedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UninitialisedAllocator<U>;
  };
  UninitialisedAllocator() = default;
  template <class U>
  UninitialisedAllocator(const UninitialisedAllocator<U>&) {}

  void construct(T* place) { ::new (static_cast<void*>(place)) T; }
  template <class... Values>
  void construct(T* place, Values&&... values) {
    ::new (static_cast<void*>(place)) T(std::forward<Values>(values)...);
  }
};

template <class T>
using UninitialisedVector = std::vector<T, UninitialisedAllocator<T>>;

}  // namespace qk
