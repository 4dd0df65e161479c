// Owns the look at the CPU.
#include "qk/isa.h"

namespace qk {

bool supported(Isa isa) {
  if (isa == Isa::portable) return true;
#ifdef QK_X86
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (isa == Isa::avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
#else
  return false;
#endif
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
