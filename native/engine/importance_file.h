// Owns how much each input of a matrix matters, as llama.cpp's `llama-imatrix` writes it (GGUF form): for a matrix NAME
// a tensor `NAME.in_sum2` [columns, experts] with sums of squares of its inputs, and `NAME.counts` with how many they
// were.
#pragma once

#include <filesystem>
#include <string>

#include "gguf_reader.h"

namespace qe {

class ImportanceFile {
 public:
  // Throws std::runtime_error naming the file when it is no such file, and tensor and index too when a sum or count is
  // negative or not finite.
  explicit ImportanceFile(const std::filesystem::path& path);

  // Weights [experts][columns] of a matrix, null when the file knows nothing of it or saw none of its experts. They are
  // sums, not means: only their ratios inside of a row matter. Throws std::runtime_error when their number is another.
  const float* find(const Tensor& matrix) const;
  // False where the calibration never came to expert `index` (0 of a plain matrix) or all its sums are 0: its weights
  // say nothing. For matrices that `find` found.
  bool seen(const Tensor& matrix, std::int64_t index) const;

 private:
  void requireUsable(const Tensor& tensor) const;

  Gguf file_;
};

}  // namespace qe
