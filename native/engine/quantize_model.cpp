#include "quantize_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "gguf_writer.h"
#include "importance_file.h"
#include "model_keys.h"
#include "output_file.h"
#include "pieces.h"
#include "qk/quantize.h"
#include "tensor_layout.h"
#include "weights_generator.h"

namespace qe {
namespace {

// What one thread holds: a piece as floats twice (before and after rounding) and its blocks.
constexpr std::int64_t kPieceValues = std::int64_t{1} << 18;
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

// Of one tensor of the input.
struct Step {
  const Tensor* source = nullptr;
  qk::Type type = qk::Type::F32;
  bool chosen = false;
  const float* importance = nullptr;  // [experts][columns]

  bool rounds() const { return type != source->type; }
};

// Of one piece. Kept apart and summed in order, so that the sum does not depend on the threads.
struct Loss {
  double error = 0;
  double power = 0;
};

qk::Type denseType(const std::string& name) {
  std::string known;
  for (const qk::Format& format : qk::formats()) {
    if (format.type == qk::Type::I32) continue;
    if (format.name == name) return format.type;
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  throw std::invalid_argument("there is no type '" + name + "' for dense matrices; types are " + known);
}

// The type that a tensor of this role is to get; nothing for one that stays.
std::optional<qk::Type> wantedType(Role role, const ExpertTypes& experts, const std::optional<qk::Type>& dense) {
  switch (role) {
    case Role::expertGate:
    case Role::expertUp: return experts.gateUp;
    case Role::expertDown: return experts.down;
    case Role::dense:
    case Role::attentionOut:
    case Role::embedding:
    case Role::output:
    case Role::sharedGateUp:
    case Role::sharedDown: return dense;
    default: return std::nullopt;
  }
}

std::vector<Step> planSteps(const Gguf& file, const QuantizeOptions& options, const ImportanceFile* importance) {
  const ExpertTypes experts = expertTypes(options.experts);
  const std::optional<qk::Type> dense =
      options.dense.empty() ? std::nullopt : std::optional<qk::Type>(denseType(options.dense));
  std::unordered_map<std::string, Role> roles;
  for (TensorSpec& spec : tensorLayout(readDimensions(file))) roles.emplace(std::move(spec.name), spec.role);
  std::vector<Step> steps;
  bool weighted = false;
  for (const Tensor& tensor : file.tensors()) {
    Step step{&tensor, tensor.type, false, nullptr};
    const auto role = roles.find(tensor.name);
    const auto wanted = role == roles.end() ? std::nullopt : wantedType(role->second, experts, dense);
    if (wanted) {
      const qk::Format& format = qk::format(*wanted);
      if (tensor.dims.front() % format.weights != 0) {
        throw std::runtime_error(file.path().string() + ": tensor '" + tensor.name + "' has rows of " +
                                 std::to_string(tensor.dims.front()) + " values, which do not fill blocks of " +
                                 std::to_string(format.weights) + " of " + std::string(format.name) +
                                 "; choose another type");
      }
      step.type = *wanted;
      step.chosen = true;
      if (importance != nullptr && step.rounds() && qk::takesImportance(step.type)) {
        step.importance = importance->find(tensor);
        weighted = weighted || step.importance != nullptr;
      }
    }
    steps.push_back(step);
  }
  if (importance != nullptr && !weighted) {
    throw std::runtime_error(options.importance.string() +
                             ": does not apply: it has no sum above 0 of any matrix that is rounded to a ROCmFP type");
  }
  return steps;
}

// llama.cpp's number of a file whose matrices are mostly of a type; nothing where it has none.
std::optional<std::int64_t> fileType(qk::Type type) {
  switch (type) {
    case qk::Type::F32: return 0;
    case qk::Type::F16: return 1;
    case qk::Type::Q4_0: return 2;
    case qk::Type::Q8_0: return 7;
    case qk::Type::Q2_K: return 10;
    case qk::Type::BF16: return 32;
    case qk::Type::MXFP4: return 38;
    default: return std::nullopt;
  }
}

void copyMetadata(const Gguf& file, const QuantizeOptions& options, GgufWriter& writer) {
  for (const MetadataEntry& entry : file.metadata()) {
    if (entry.key == keys::kQuantized) continue;
    if (entry.key == keys::kExpertType) {
      writer.text(entry.key, options.experts);
    } else if (entry.key == keys::kFileType) {
      if (const auto number = fileType(expertTypes(options.experts).gateUp)) writer.count(entry.key, *number);
    } else {
      writer.copy(file.raw(entry));
    }
  }
  std::string done = "experts " + options.experts;
  if (!options.dense.empty()) done += ", dense " + options.dense;
  if (!options.importance.empty()) done += ", weighted by importance";
  writer.text(keys::kQuantized, done);
}

// Rounds pieces of rows; one of these for each thread.
class Rounder {
 public:
  Rounder(const Gguf& file, const ImportanceFile* importance) : file_(file), importance_(importance) {}

  // Decodes the rows of a piece and encodes them; `blocks()` has the bytes then.
  Loss round(const Step& step, const Piece& piece) {
    const Tensor& source = *step.source;
    const std::int64_t cols = source.dims.front();
    const std::int64_t count = piece.count * cols;
    const std::int64_t fromRow = rowBytes(source.type, cols);
    const std::int64_t toRow = rowBytes(step.type, cols);
    before_.resize(static_cast<std::size_t>(count));
    after_.resize(before_.size());
    blocks_.resize(static_cast<std::size_t>(piece.count * toRow));
    qk::dequantize(source.type, source.data + piece.first * fromRow, count, before_.data());
    requireFinite(source, piece.first * cols);
    for (std::int64_t row = 0; row < piece.count; ++row) {
      qk::quantize(step.type, before_.data() + row * cols, cols, blocks_.data() + row * toRow,
                   importanceOf(step, piece.first + row));
    }
    qk::dequantize(step.type, blocks_.data(), count, after_.data());
    Loss loss;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const double difference = double{after_[i]} - double{before_[i]};
      loss.error += difference * difference;
      loss.power += double{before_[i]} * double{before_[i]};
    }
    if (!std::isfinite(loss.error)) {
      throw std::runtime_error(where(source) + "holds a value that is too large for " +
                               std::string(qk::format(step.type).name) + "; choose another type");
    }
    return loss;
  }

  const std::vector<std::byte>& blocks() const { return blocks_; }

  static std::int64_t rowBytes(qk::Type type, std::int64_t cols) {
    return cols / qk::format(type).weights * qk::format(type).bytes;
  }

 private:
  std::string where(const Tensor& tensor) const {
    return file_.path().string() + ": tensor '" + tensor.name + "' ";
  }

  void requireFinite(const Tensor& tensor, std::int64_t first) const {
    const auto bad = std::find_if(before_.begin(), before_.end(), [](float value) { return !std::isfinite(value); });
    if (bad == before_.end()) return;
    throw std::runtime_error(where(tensor) + "has a value that is not finite at index " +
                             std::to_string(first + (bad - before_.begin())) + "; the model is damaged");
  }

  const float* importanceOf(const Step& step, std::int64_t row) const {
    if (step.importance == nullptr) return nullptr;
    const Tensor& source = *step.source;
    const std::int64_t expert = source.dims.size() > 2 ? row / source.dims[1] : 0;
    return importance_->seen(source, expert) ? step.importance + expert * source.dims.front() : nullptr;
  }

  const Gguf& file_;
  const ImportanceFile* importance_;
  std::vector<float> before_;
  std::vector<float> after_;
  std::vector<std::byte> blocks_;
};

void checkOptions(const QuantizeOptions& options) {
  if (options.threads < 1) throw std::invalid_argument("at least one thread is needed to quantise a model");
  if (options.out.empty() || !options.out.has_filename()) throw std::invalid_argument("name the file to create");
  std::error_code missing;
  if (std::filesystem::equivalent(options.in, options.out, missing)) {
    throw std::runtime_error(options.out.string() + ": is the model that is read; name another file to write");
  }
}

Cut cutOf(const Step& step) {
  const std::int64_t cols = step.source->dims.front();
  if (!step.rounds()) return {static_cast<std::int64_t>(step.source->sizeBytes), kPieceBytes};
  return {step.source->elements() / cols, std::max<std::int64_t>(1, kPieceValues / cols)};
}

// What became of the chosen tensors; `losses` has one for each piece, in order.
std::vector<QuantizedTensor> report(const std::vector<Step>& steps, const std::vector<PlacedTensor>& placed,
                                    const std::vector<Loss>& losses) {
  std::vector<QuantizedTensor> all;
  std::size_t piece = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Cut cut = cutOf(steps[i]);
    Loss sum;
    for (std::int64_t at = 0; at < cut.units; at += cut.perPiece, ++piece) {
      sum.error += losses[piece].error;
      sum.power += losses[piece].power;
    }
    if (!steps[i].chosen) continue;
    const Tensor& source = *steps[i].source;
    all.push_back({source.name, std::string(qk::format(source.type).name),
                   std::string(qk::format(steps[i].type).name), source.sizeBytes, placed[i].sizeBytes,
                   sum.power > 0 ? sum.error / sum.power : 0, steps[i].importance != nullptr});
  }
  return all;
}

}  // namespace

Quantized quantizeModel(const QuantizeOptions& options, const Progress& progress) {
  checkOptions(options);
  const Gguf input(options.in);
  std::optional<ImportanceFile> importance;
  if (!options.importance.empty()) importance.emplace(options.importance);
  const ImportanceFile* const weights = importance ? &*importance : nullptr;
  const std::vector<Step> steps = planSteps(input, options, weights);

  GgufWriter writer(input.alignment());
  copyMetadata(input, options, writer);
  std::vector<Cut> cuts;
  for (const Step& step : steps) {
    writer.tensor(step.source->name, step.type, step.source->dims);
    cuts.push_back(cutOf(step));
  }
  const std::vector<std::byte> header = writer.header();
  const std::uint64_t size = writer.fileBytes();
  OutputFile output(options.out, size, options.overwrite);
  output.write(0, header);
  // The padding behind the last tensor is part of the file where room could not be reserved, too.
  const std::array<std::byte, 1> last{};
  output.write(size - 1, last);

  std::atomic<std::uint64_t> doneBytes{header.size()};
  PieceQueue queue(std::move(cuts), options.cancel, "quantising the model was cancelled");
  std::vector<Loss> losses(queue.pieces());
  queue.run(options.threads, [&](bool onCaller) {
    return [&, onCaller, rounder = Rounder(input, weights)](const Piece& piece) mutable {
      const Step& step = steps[piece.tensor];
      const Tensor& source = *step.source;
      std::int64_t fromUnit = 1;
      std::int64_t toUnit = 1;
      if (step.rounds()) {
        fromUnit = Rounder::rowBytes(source.type, source.dims.front());
        toUnit = Rounder::rowBytes(step.type, source.dims.front());
        losses[piece.index] = rounder.round(step, piece);
      }
      const auto bytes = static_cast<std::size_t>(piece.count * toUnit);
      const std::byte* const from = step.rounds() ? rounder.blocks().data() : source.data + piece.first;
      const std::uint64_t at = header.size() + writer.tensors()[piece.tensor].offsetBytes;
      output.write(at + static_cast<std::uint64_t>(piece.first * toUnit), {from, bytes});
      // Pages of the input that are done with would otherwise fill the memory.
      input.release(source, static_cast<std::uint64_t>(piece.first * fromUnit),
                    static_cast<std::uint64_t>(piece.count * fromUnit));
      const std::uint64_t done = doneBytes += bytes;
      if (onCaller && progress) progress(done, size);
    };
  });
  output.finish();
  if (progress) progress(size, size);
  return {size, static_cast<std::int64_t>(steps.size()), report(steps, writer.tensors(), losses)};
}

}  // namespace qe
