#include "importance_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <stdexcept>

namespace qe {
namespace {

std::int64_t expertsOf(const Tensor& matrix) { return matrix.dims.size() > 2 ? matrix.dims[2] : 1; }

std::span<const float> floatsOf(const Tensor& tensor) {
  return {reinterpret_cast<const float*>(tensor.data), static_cast<std::size_t>(tensor.elements())};
}

}  // namespace

ImportanceFile::ImportanceFile(const std::filesystem::path& path) : file_(path) {
  bool known = false;
  for (const Tensor& tensor : file_.tensors()) {
    const bool sums = tensor.name.ends_with(".in_sum2");
    known = known || sums;
    if ((sums || tensor.name.ends_with(".counts")) && tensor.type == qk::Type::F32) requireUsable(tensor);
  }
  if (known) return;
  throw std::runtime_error(path.string() + ": holds no importance of any matrix (no tensor ends in '.in_sum2'); make one "
                           "with llama-imatrix, as GGUF");
}

void ImportanceFile::requireUsable(const Tensor& tensor) const {
  const std::span<const float> values = floatsOf(tensor);
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value) || value < 0; });
  if (bad == values.end()) return;
  throw std::runtime_error(file_.path().string() + ": tensor '" + tensor.name + "' has " + std::to_string(*bad) +
                           " at index " + std::to_string(bad - values.begin()) +
                           ", where sums of squares and counts are finite and not negative; the file is damaged, "
                           "make it again with llama-imatrix");
}

const float* ImportanceFile::find(const Tensor& matrix) const {
  const Tensor* sums = file_.findTensor(matrix.name + ".in_sum2");
  if (sums == nullptr) return nullptr;
  const std::int64_t experts = expertsOf(matrix);
  if (sums->type != qk::Type::F32 || sums->elements() != matrix.dims[0] * experts) {
    throw std::runtime_error(file_.path().string() + ": tensor '" + sums->name + "' (" + sums->shape() +
                             ") does not fit the matrix (" + matrix.shape() + "); it is of another model");
  }
  for (std::int64_t e = 0; e < experts; ++e) {
    if (seen(matrix, e)) return floatsOf(*sums).data();
  }
  return nullptr;
}

bool ImportanceFile::seen(const Tensor& matrix, std::int64_t index) const {
  const auto cols = static_cast<std::size_t>(matrix.dims[0]);
  const auto at = static_cast<std::size_t>(index);
  const auto sums = floatsOf(file_.tensor(matrix.name + ".in_sum2")).subspan(at * cols, cols);
  if (std::none_of(sums.begin(), sums.end(), [](float sum) { return sum > 0; })) return false;
  const Tensor* tensor = file_.findTensor(matrix.name + ".counts");
  if (tensor == nullptr || tensor->type != qk::Type::F32) return true;
  const std::span<const float> counts = floatsOf(*tensor);
  return counts.size() == 1 ? counts[0] > 0 : at < counts.size() && counts[at] > 0;
}

}  // namespace qe
