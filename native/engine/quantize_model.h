// Owns making a model file out of another by rounding its matrices to other types.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model_file.h"

namespace qe {

struct QuantizeOptions {
  std::filesystem::path in;
  std::filesystem::path out;
  std::string experts;  // type of the routed experts, see expertTypes in weights_generator.h
  // Type of the other big matrices (attention, indexer, shared experts, embedding, output); empty keeps them.
  std::string dense;
  std::filesystem::path importance;  // see importance_file.h; empty: every error counts the same
  int threads = 1;                   // does not change a byte of the file
  bool overwrite = false;            // false refuses when `out` exists
  const std::atomic<bool>* cancel = nullptr;  // set from anywhere: quantizeModel throws and leaves no file
};

struct QuantizedTensor {
  std::string name;
  std::string from;
  std::string to;
  std::uint64_t fromBytes = 0;
  std::uint64_t toBytes = 0;
  double nmse = 0;        // sum of squared differences over sum of squares; 0 where nothing is lost
  bool weighted = false;  // the importance file had sums above 0 of a seen expert
};

struct Quantized {
  std::uint64_t sizeBytes = 0;
  std::int64_t tensors = 0;
  std::vector<QuantizedTensor> quantized;  // those that were chosen, in file order
};

// Decodes the chosen tensors of `in`, rounds them and writes a whole new GGUF file with the same metadata and the other
// tensors as they were, under a temporary name as createModel does. The bytes depend on the files and types alone;
// memory stays below 4 MB a thread whatever the size. `qualify.experts` and `general.file_type` are brought up to date
// where they exist, and `qualify.quantized` says what was done.
// Throws std::invalid_argument for an option that names nothing, std::runtime_error naming file and tensor for rows
// that do not fill blocks, values that are not finite or too large for the type, in and out being one file, and the
// rest.
Quantized quantizeModel(const QuantizeOptions& options, const Progress& progress = {});

}  // namespace qe
