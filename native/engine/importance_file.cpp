#include "importance_file.h"

#include <cstring>
#include <stdexcept>

namespace qe {

ImportanceFile::ImportanceFile(const std::filesystem::path& path) : file_(path) {
  for (const Tensor& tensor : file_.tensors()) {
    if (tensor.name.ends_with(".in_sum2")) return;
  }
  throw std::runtime_error(path.string() + ": holds no importance of any matrix (no tensor ends in '.in_sum2'); make one "
                           "with llama-imatrix, as GGUF");
}

const float* ImportanceFile::find(const Tensor& matrix) const {
  const Tensor* sums = file_.findTensor(matrix.name + ".in_sum2");
  if (sums == nullptr) return nullptr;
  const std::int64_t experts = matrix.dims.size() > 2 ? matrix.dims[2] : 1;
  if (sums->type != qk::Type::F32 || sums->elements() != matrix.dims[0] * experts) {
    throw std::runtime_error(file_.path().string() + ": tensor '" + sums->name + "' (" + sums->shape() +
                             ") does not fit the matrix (" + matrix.shape() + "); it is of another model");
  }
  return reinterpret_cast<const float*>(sums->data);
}

bool ImportanceFile::seen(const Tensor& matrix, std::int64_t index) const {
  const Tensor* counts = file_.findTensor(matrix.name + ".counts");
  if (counts == nullptr || counts->type != qk::Type::F32) return true;
  const std::int64_t at = counts->elements() == 1 ? 0 : index;
  float count = 0;
  if (at < counts->elements()) std::memcpy(&count, counts->data + at * sizeof count, sizeof count);
  return count > 0;
}

}  // namespace qe
