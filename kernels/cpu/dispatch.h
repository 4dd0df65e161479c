// Owns the way from `qk::cpu::operation(isa, ...)` to the copy of that operation in `qk::portable`,
// `qk::avx2` or `qk::avx512`. Files in cpu/simd are compiled once for each; keep inline functions of other
// namespaces out of them (the linker merges those, and the copy that it keeps may need instructions that
// this CPU lacks).
#pragma once

#include <stdexcept>

#include "qk/isa.h"

// Declares the same functions in the namespace of every instruction set.
#define QK_DECLARE_VARIANTS(...) \
  namespace qk::portable {       \
  __VA_ARGS__                    \
  }                              \
  namespace qk::avx2 {           \
  __VA_ARGS__                    \
  }                              \
  namespace qk::avx512 {         \
  __VA_ARGS__                    \
  }

// The copy of a function for one instruction set, null where the build lacks it (see QUALIFY_ISAS).
#ifdef QK_HAS_PORTABLE
#define QK_PORTABLE(function) &::qk::portable::function
#else
#define QK_PORTABLE(function) nullptr
#endif
#ifdef QK_HAS_AVX2
#define QK_AVX2(function) &::qk::avx2::function
#else
#define QK_AVX2(function) nullptr
#endif
#ifdef QK_HAS_AVX512
#define QK_AVX512(function) &::qk::avx512::function
#else
#define QK_AVX512(function) nullptr
#endif
#define QK_PICK(isa, function)                                                                           \
  (::qk::cpu::pick<decltype(&::qk::portable::function)>(isa, QK_PORTABLE(function), QK_AVX2(function), \
                                                        QK_AVX512(function)))

namespace qk::cpu {

// The caller has checked `supported(isa)` once; here only what the build lacks is refused.
template <class Function>
Function pick(Isa isa, Function portable, Function avx2, Function avx512) {
  const Function chosen = isa == Isa::avx512 ? avx512 : isa == Isa::avx2 ? avx2 : portable;
  if (chosen == nullptr)
    throw std::invalid_argument("this build has no kernels for the instruction set asked for");
  return chosen;
}

}  // namespace qk::cpu
