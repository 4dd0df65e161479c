// Owns views and copies of one tensor of a file.
#include <cstring>
#include <stdexcept>

#include "gguf_reader.h"

namespace qe {
namespace {

[[noreturn]] void fail(const Tensor& tensor, const std::string& problem) {
  throw std::runtime_error("tensor '" + tensor.name + "' (" + std::string(qk::format(tensor.type).name) + ", " +
                           tensor.shape() + ") " + problem);
}

}  // namespace

std::int64_t Tensor::elements() const {
  std::int64_t product = 1;  // the parser has checked that it fits
  for (const std::int64_t dim : dims) product *= dim;
  return product;
}

std::string Tensor::shape() const { return shapeText(dims); }

std::string shapeText(const std::vector<std::int64_t>& dims) {
  std::string text;
  for (const std::int64_t dim : dims) text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text;
}

qk::Matrix Tensor::matrix() const {
  if (dims.size() > 2) fail(*this, "is not a matrix");
  return {type, dims.size() == 2 ? dims[1] : 1, dims[0], data};
}

qk::ExpertMatrices Tensor::experts() const {
  if (dims.size() != 3) fail(*this, "does not hold one matrix an expert");
  return {{type, dims[1], dims[0], data}, dims[2]};
}

std::vector<float> Tensor::floats() const {
  if (type == qk::Type::I32) fail(*this, "holds indices, not weights");
  std::vector<float> values(static_cast<std::size_t>(elements()));
  qk::dequantize(type, data, elements(), values.data());
  return values;
}

std::vector<std::int32_t> Tensor::ints() const {
  if (type != qk::Type::I32) fail(*this, "holds weights, not indices");
  std::vector<std::int32_t> values(static_cast<std::size_t>(elements()));
  std::memcpy(values.data(), data, values.size() * sizeof(std::int32_t));
  return values;
}

}  // namespace qe
