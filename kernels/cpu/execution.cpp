// Owns the names under which kernels are counted.
#include "qk/execution.h"

namespace qk {

std::string_view name(Kernel kernel) {
  static constexpr std::array<std::string_view, kernelCount> names{
      "quantize",       "matmul.float", "matmul.q8_0",        "matmul.q4_0",          "matmul.rocmfp3",
      "matmul.rocmfp2", "route_sort",   "mmid.serial.expert", "mmid.grouped.gate_up", "mmid.grouped.down",
      "mmid.shared",    "combine"};
  return names[static_cast<std::size_t>(kernel)];
}

}  // namespace qk
