// Owns the look at every value of a model file: a whole file may still be a damaged one.
#pragma once

#include "gguf_reader.h"

namespace qe {

// Decodes every tensor of a type that can hold such a value (the scales of the ROCmFP family are always finite, and I32
// holds indices). Throws std::runtime_error that names file, offset, tensor and value at the first NaN or infinity.
// Reads that part of the file once, and gives its pages back.
void requireFinite(const Gguf& file);

}  // namespace qe
