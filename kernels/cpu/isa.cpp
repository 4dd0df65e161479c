// Owns the look at the CPU.
#include "qk/isa.h"

namespace qk {

namespace {

#if defined(QK_HAS_AVX2) || defined(QK_HAS_AVX512)
bool hasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
#endif

}  // namespace

bool supported(Isa isa) {
  switch (isa) {
    case Isa::portable:
#ifdef QK_HAS_PORTABLE
      return true;
#else
      return false;
#endif
    case Isa::avx2:
#ifdef QK_HAS_AVX2
      return hasAvx2();
#else
      return false;
#endif
    case Isa::avx512:
#ifdef QK_HAS_AVX512
      return hasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
#else
      return false;
#endif
  }
  return false;
}

Isa bestIsa() {
  static const Isa best = supported(Isa::avx512) ? Isa::avx512
                          : supported(Isa::avx2) ? Isa::avx2
                                                 : Isa::portable;
  return best;
}

std::string_view name(Isa isa) {
  return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "portable";
}

}  // namespace qk
