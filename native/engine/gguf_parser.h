// Owns the walk over the header of a GGUF v3 file: metadata and tensor table, checked against the bytes of the file.
#pragma once

#include <cstdint>
#include <vector>

#include "gguf_reader.h"

namespace qe {

struct GgufHeader {
  std::uint64_t alignment = 0;
  std::uint64_t dataOffsetBytes = 0;
  std::vector<MetadataEntry> metadata;
  std::vector<Tensor> tensors;
};

// Throws std::runtime_error naming file, byte offset and key or tensor, and what to do.
GgufHeader parseGguf(const MappedFile& file);

}  // namespace qe
