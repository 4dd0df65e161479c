#include "model_file.h"

#include <array>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <utility>

#include "gguf_writer.h"
#include "model_keys.h"
#include "output_file.h"
#include "pieces.h"
#include "presets.h"
#include "tensor_layout.h"
#include "tokenizer_metadata.h"
#include "weights_generator.h"

namespace qe {
namespace {

// One thread's buffer; of 32 threads at most.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

void writeMetadata(GgufWriter& writer, const qk::Dimensions& d, const CreateOptions& options) {
  writer.text(keys::kArchitecture, keys::kDeepseek4);
  writer.text("general.type", "model");
  writer.text("general.name", "qualify " + options.preset + (options.stress ? " stress" : ""));
  writer.count("general.quantization_version", 2);
  writer.count(keys::kContext, d.contextLength);
  writer.count(keys::kHidden, d.hidden);
  writer.count(keys::kLayers, d.layers);
  writer.count(keys::kFeedForward, d.expertHidden);
  writer.count(keys::kVocabulary, d.vocabulary);
  writer.count(keys::kHeads, d.heads);
  writer.count(keys::kHeadsKv, 1);
  writer.count(keys::kKeyLength, d.headDim);
  writer.count(keys::kValueLength, d.headDim);
  writer.number(keys::kRmsEps, d.rmsEps);
  writer.count(keys::kQueryRank, d.queryRank);
  writer.count(keys::kOutputRank, d.outputRank);
  writer.count(keys::kOutputGroups, d.outputGroups);
  writer.count(keys::kWindow, d.window);
  writer.integers(keys::kRatios, d.ratios);
  writer.number(keys::kCompressRopeBase, d.compressRopeBase);
  writer.count(keys::kIndexerHeads, d.indexerHeads);
  writer.count(keys::kIndexerDim, d.indexerDim);
  writer.count(keys::kIndexerTopK, d.indexerTopK);
  writer.count(keys::kRopeDims, d.ropeDims);
  writer.number(keys::kRopeBase, d.ropeBase);
  writer.text(keys::kRopeScaling, "yarn");
  writer.number(keys::kYarnFactor, d.yarnFactor);
  writer.count(keys::kYarnContext, static_cast<std::int64_t>(d.yarnOriginalContext));
  writer.number(keys::kYarnBetaFast, d.yarnBetaFast);
  writer.number(keys::kYarnBetaSlow, d.yarnBetaSlow);
  writer.count(keys::kExperts, d.experts);
  writer.count(keys::kExpertsUsed, d.expertsUsed);
  writer.count(keys::kExpertsShared, d.sharedExperts);
  writer.count(keys::kExpertHidden, d.expertHidden);
  writer.number(keys::kExpertScale, d.expertScale);
  writer.boolean(keys::kExpertNormalise, d.expertNormalise);
  writer.count(keys::kExpertGating, keys::kGatingSqrtSoftplus);
  writer.count(keys::kHashLayers, d.hashLayers);
  writer.count(keys::kStreams, d.streams);
  writer.count(keys::kSinkhorn, d.sinkhornRounds);
  writer.number(keys::kHyperEps, d.hyperEps);
  writer.numbers(keys::kClamp, d.swigluClamp);
  writeTokenizer(writer, d.vocabulary);
  writer.text(keys::kPreset, options.preset);
  writer.wide(keys::kSeed, options.seed);
  writer.text(keys::kExpertType, options.experts);
  if (!options.dense.empty()) writer.text(keys::kDenseType, options.dense);
  writer.boolean(keys::kStress, options.stress);
  writer.count(keys::kGenerator, kGeneratorVersion);
  writer.boolean(keys::kKeyRoundTrip, d.keyRoundTrip);
  writer.boolean(keys::kIndexerRoundTrip, d.indexerRoundTrip);
}

qk::Dimensions chosenDimensions(const CreateOptions& options) {
  qk::Dimensions dimensions = presetDimensions(options.preset);
  if (options.stress) makeOdd(dimensions);
  dimensions.keyRoundTrip = options.roundTrips;
  dimensions.indexerRoundTrip = options.roundTrips;
  return dimensions;
}

void checkOptions(const CreateOptions& options) {
  if (options.stress && options.experts != "f32") {
    throw std::invalid_argument("a stress model has every tensor in f32; ask for experts f32, not '" +
                                options.experts + "'");
  }
  if (options.stress && !options.dense.empty()) {
    throw std::invalid_argument("a stress model has every tensor in f32; do not ask for dense '" + options.dense + "'");
  }
  if (options.seed > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw std::invalid_argument("the seed must be below 2^63");
  }
  if (options.threads < 1) throw std::invalid_argument("at least one thread is needed to create a model");
  if (options.out.empty() || !options.out.has_filename()) throw std::invalid_argument("name the file to create");
}

}  // namespace

Created createModel(const CreateOptions& options, const Progress& progress) {
  checkOptions(options);
  const qk::Dimensions dimensions = chosenDimensions(options);
  const WeightsGenerator generator(dimensions, options.seed, expertTypes(options.experts), generatedDense(options.dense),
                                   options.stress);
  const std::vector<TensorSpec> layout = tensorLayout(dimensions);
  GgufWriter writer;
  writeMetadata(writer, dimensions, options);
  for (const TensorSpec& spec : layout) writer.tensor(spec.name, generator.typeOf(spec), spec.dims);

  const std::vector<std::byte> header = writer.header();
  const std::uint64_t size = writer.fileBytes();
  OutputFile file(options.out, size, options.overwrite);
  file.write(0, header);
  // The padding behind the last tensor is part of the file where room could not be reserved, too.
  const std::array<std::byte, 1> last{};
  file.write(size - 1, last);

  std::vector<Cut> cuts;
  for (const PlacedTensor& tensor : writer.tensors()) {
    const std::int64_t blockBytes = qk::format(tensor.type).bytes;
    cuts.push_back({static_cast<std::int64_t>(tensor.sizeBytes) / blockBytes, kPieceBytes / blockBytes});
  }
  std::atomic<std::uint64_t> doneBytes{header.size()};
  PieceQueue queue(std::move(cuts), options.cancel, "creation of the model was cancelled");
  queue.run(options.threads, [&](bool onCaller) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(kPieceBytes));
    return [&, onCaller, buffer = std::move(buffer)](const Piece& piece) mutable {
      const PlacedTensor& tensor = writer.tensors()[piece.tensor];
      const std::int64_t blockBytes = qk::format(tensor.type).bytes;
      const auto bytes = static_cast<std::size_t>(piece.count * blockBytes);
      generator.blocks(layout[piece.tensor], piece.first, piece.count, buffer.data());
      const auto within = static_cast<std::uint64_t>(piece.first * blockBytes);
      file.write(header.size() + tensor.offsetBytes + within, {buffer.data(), bytes});
      const std::uint64_t done = doneBytes += bytes;
      if (onCaller && progress) progress(done, size);
    };
  });
  file.finish();
  if (progress) progress(size, size);
  return {size, static_cast<std::int64_t>(layout.size())};
}

Description describe(const Gguf& file, std::size_t arrayLimit) {
  Description description{file.sizeBytes(), file.alignment(), file.metadata(), {}};
  for (MetadataEntry& entry : description.metadata) {
    if (arrayLimit != 0 && entry.values.size() > arrayLimit) entry.values.resize(arrayLimit);
  }
  for (const Tensor& tensor : file.tensors()) {
    description.tensors.push_back(
        {tensor.name, std::string(qk::format(tensor.type).name), tensor.dims, tensor.offsetBytes, tensor.sizeBytes});
  }
  return description;
}

}  // namespace qe
