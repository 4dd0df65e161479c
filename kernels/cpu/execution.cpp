// Owns the names under which kernels are counted.
#include "qk/execution.h"

namespace qk {

std::string_view name(Kernel kernel) {
  static constexpr std::array<std::string_view, kernelCount> names{
      "quantize",
      "matmul.float",
      "matmul.q8_0",
      "matmul.q4_0",
      "matmul.rocmfp3",
      "matmul.rocmfp2",
      "matmul.rocmfp4",
      "matmul.rocmfp4_fast",
      "matmul.q2_k",
      "matmul.mxfp4",
      "route_sort",
      "mmid.serial.expert",
      "mmid.grouped.gate_up",
      "mmid.grouped.down",
      "mmid.grouped.down_combine",
      "mmid.adaptive_tile",
      "mmid.persistent_queue",
      "mmid.owner",
      "mmid.shared",
      "combine",
      "attention.masked",
      "attention.gathered",
      "attention.streamed",
      "attention.staged",
      "attention.fast_exp",
      "attention.mask_scan"};
  return names[static_cast<std::size_t>(kernel)];
}

}  // namespace qk
