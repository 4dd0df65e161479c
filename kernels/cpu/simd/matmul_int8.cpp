// Owns the choice of the int8 kernel by format. The kernels are int8_avx512.h, int8_avx2.h and int8_portable.h; the
// loops around them are tile_loop.h.
#include "cpu/kernels.h"
#include "cpu/simd/weight_formats.h"

#if defined(__AVX512VNNI__) && defined(__AVX512VBMI__)
#include "cpu/simd/int8_avx512.h"
#elif defined(__AVX2__)
#include "cpu/simd/int8_avx2.h"
#else
#include "cpu/simd/int8_portable.h"
#endif

namespace qk::QK_ISA {

void matmulInt8(const PackedMatrix& w, std::int64_t firstTile, std::int64_t lastTile,
                const ActivationBlock* const* x, std::int64_t tokens, TokenTiles tokenTiles, float* y,
                std::int64_t yStride) {
  const auto run = [&](auto format) {
    tileLoop<Int8Kernel<decltype(format)>>(w, firstTile, lastTile, x, tokens, tokenTiles, y, yStride);
  };
  switch (w.type) {
    case Type::ROCmFP2:
      return run(FormatROCmFP2{});
    case Type::ROCmFP3:
      return run(FormatROCmFP3{});
    case Type::ROCmFP4:
      return run(FormatROCmFP4{});
    case Type::ROCmFP4_FAST:
      return run(FormatROCmFP4Fast{});
    case Type::MXFP4:
      return run(FormatMXFP4{});
    case Type::Q2_K:
      return run(FormatQ2_K{});
    case Type::Q4_0:
      return run(FormatQ4_0{});
    default:
      return run(FormatQ8_0{});
  }
}

}  // namespace qk::QK_ISA
