// Storage formats of weights: ids as in GGUF (100 and above are the private ids of the ROCmFP family).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace qk {

enum class Type : std::uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q8_0 = 8,
  Q2_K = 10,
  I32 = 26,
  BF16 = 30,
  MXFP4 = 39,
  ROCmFP4 = 100,
  ROCmFP4_FAST = 101,
  ROCmFP3 = 104,
  ROCmFP2 = 107,
};

// Shape of one storage block: `weights` values in `bytes` bytes.
struct Format {
  Type type;
  std::string_view name;
  std::int64_t weights;
  std::int64_t bytes;
};

// All of them, and their names as "f32, f16, ..." for messages.
std::span<const Format> formats();
std::string formatNames();

// Null for a type id that this engine does not read.
const Format* findFormat(std::uint32_t id);
const Format* findFormat(std::string_view name);
// Throws std::invalid_argument for an unknown id; use findFormat on anything read from a file.
const Format& format(Type type);

// Decodes `weights` consecutive values; n must be a multiple of the block.
void dequantize(Type type, const std::byte* blocks, std::int64_t n, float* out);

}  // namespace qk
