#include "value_check.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace qe {
namespace {

// A whole number of blocks of every format.
constexpr std::int64_t kPiece = 64 * 1024;

bool canBeNonFinite(qk::Type type) {
  switch (type) {
    case qk::Type::F32:
    case qk::Type::F16:
    case qk::Type::BF16:
    case qk::Type::Q4_0:
    case qk::Type::Q8_0:
    case qk::Type::Q2_K:
    case qk::Type::MXFP4: return true;
    case qk::Type::I32:
    case qk::Type::ROCmFP4:
    case qk::Type::ROCmFP4_FAST:
    case qk::Type::ROCmFP3:
    case qk::Type::ROCmFP2: return false;
  }
  return true;
}

[[noreturn]] void fail(const Gguf& file, const Tensor& tensor, std::int64_t index, float value) {
  const qk::Format& format = qk::format(tensor.type);
  const auto within = static_cast<std::uint64_t>(index / format.weights * format.bytes);
  throw std::runtime_error(file.path().string() + ": offset " + std::to_string(tensor.offsetBytes + within) +
                           ": tensor '" + tensor.name + "' (" + std::string(format.name) + ", " + tensor.shape() +
                           "): value " + std::to_string(index) + " is " + (std::isnan(value) ? "NaN" : "infinite") +
                           "; the file is damaged, fetch or create it again");
}

void requireFinite(const Gguf& file, const Tensor& tensor, std::vector<float>& values) {
  const qk::Format& format = qk::format(tensor.type);
  const std::int64_t count = tensor.elements();
  for (std::int64_t first = 0; first < count; first += kPiece) {
    const std::int64_t n = std::min(kPiece, count - first);
    qk::dequantize(tensor.type, tensor.data + first / format.weights * format.bytes, n, values.data());
    const auto end = values.begin() + n;
    const auto bad = std::find_if(values.begin(), end, [](float value) { return !std::isfinite(value); });
    if (bad != end) fail(file, tensor, first + (bad - values.begin()), *bad);
  }
  file.release(tensor);
}

}  // namespace

void requireFinite(const Gguf& file) {
  std::vector<float> values(static_cast<std::size_t>(kPiece));
  for (const Tensor& tensor : file.tensors()) {
    if (canBeNonFinite(tensor.type)) requireFinite(file, tensor, values);
  }
}

}  // namespace qe
