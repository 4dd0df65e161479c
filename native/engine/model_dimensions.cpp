// Owns the way from metadata to qk::Dimensions: every constant is read, none is assumed, and the tensors must agree.
#include <cmath>
#include <stdexcept>
#include <string>

#include "model_file.h"
#include "model_keys.h"
#include "tensor_layout.h"

namespace qe {
namespace {

// Above any model of this family; keeps every product of two dimensions far from overflow.
constexpr std::int64_t kLargestDimension = std::int64_t{1} << 24;

class Reader {
 public:
  explicit Reader(const Gguf& file) : file_(file) {}

  [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
    throw std::runtime_error(file_.path().string() + ": metadata '" + key + "' " + problem);
  }

  std::int64_t count(const std::string& key, std::int64_t least = 1) const {
    const std::int64_t value = file_.integer(key);
    if (value < least || value > kLargestDimension) {
      fail(key, "is " + std::to_string(value) + ", outside " + std::to_string(least) + " to " +
                    std::to_string(kLargestDimension));
    }
    return value;
  }

  double positive(const std::string& key) const {
    const double value = file_.number(key);
    if (!(value > 0) || !std::isfinite(value)) fail(key, "is " + std::to_string(value) + "; it must be above 0");
    return value;
  }

  bool flag(const std::string& key, bool absent) const { return file_.has(key) ? file_.boolean(key) : absent; }

  const Gguf& file() const { return file_; }

 private:
  const Gguf& file_;
};

void readAttention(const Reader& read, qk::Dimensions& d) {
  d.heads = read.count(keys::kHeads);
  if (read.count(keys::kHeadsKv) != 1) read.fail(keys::kHeadsKv, "must be 1: keys and values are one shared vector");
  d.headDim = read.count(keys::kKeyLength);
  if (read.count(keys::kValueLength) != d.headDim) read.fail(keys::kValueLength, "must equal the key length");
  d.ropeDims = read.count(keys::kRopeDims, 2);
  if (d.ropeDims % 2 != 0 || d.ropeDims > d.headDim) read.fail(keys::kRopeDims, "must be even and within a head");
  d.queryRank = read.count(keys::kQueryRank);
  d.outputGroups = read.count(keys::kOutputGroups);
  if (d.heads % d.outputGroups != 0) read.fail(keys::kOutputGroups, "must divide the number of heads");
  d.outputRank = read.count(keys::kOutputRank);
  d.window = read.count(keys::kWindow);
  d.rmsEps = read.positive(keys::kRmsEps);
  d.indexerHeads = read.count(keys::kIndexerHeads);
  d.indexerDim = read.count(keys::kIndexerDim);
  if ((d.indexerDim & (d.indexerDim - 1)) != 0 || d.indexerDim < 32 || d.indexerDim < d.ropeDims) {
    read.fail(keys::kIndexerDim, "must be a power of two (Hadamard), 32 or more and hold the rotated part");
  }
  d.indexerTopK = read.count(keys::kIndexerTopK);
}

void readRatios(const Reader& read, qk::Dimensions& d) {
  const std::vector<std::int64_t> ratios = read.file().integers(keys::kRatios);
  // Files converted from a checkpoint carry one entry more, for the block that predicts a second token.
  if (ratios.size() < static_cast<std::size_t>(d.layers)) read.fail(keys::kRatios, "is shorter than the block count");
  for (std::int64_t layer = 0; layer < d.layers; ++layer) {
    const std::int64_t ratio = ratios[static_cast<std::size_t>(layer)];
    if (ratio != 0 && ratio != 4 && ratio != 128) {
      read.fail(keys::kRatios, "holds " + std::to_string(ratio) + "; a layer's ratio is 0, 4 or 128");
    }
    d.ratios.push_back(static_cast<std::int32_t>(ratio));
  }
}

void readRope(const Reader& read, qk::Dimensions& d) {
  d.ropeBase = read.positive(keys::kRopeBase);
  d.compressRopeBase = read.positive(keys::kCompressRopeBase);
  if (read.file().text(keys::kRopeScaling) != "yarn") read.fail(keys::kRopeScaling, "must be 'yarn'");
  d.yarnFactor = read.positive(keys::kYarnFactor);
  d.yarnOriginalContext = read.positive(keys::kYarnContext);
  d.yarnBetaFast = read.positive(keys::kYarnBetaFast);
  d.yarnBetaSlow = read.positive(keys::kYarnBetaSlow);
}

void readExperts(const Reader& read, qk::Dimensions& d) {
  d.experts = read.count(keys::kExperts);
  d.expertsUsed = read.count(keys::kExpertsUsed);
  if (d.expertsUsed > d.experts) read.fail(keys::kExpertsUsed, "is more than there are experts");
  d.sharedExperts = read.count(keys::kExpertsShared);
  d.expertHidden = read.count(keys::kExpertHidden);
  d.expertScale = read.positive(keys::kExpertScale);
  d.expertNormalise = read.file().boolean(keys::kExpertNormalise);
  if (read.file().integer(keys::kExpertGating) != keys::kGatingSqrtSoftplus) {
    read.fail(keys::kExpertGating, "must be 4 (square root of softplus)");
  }
  d.hashLayers = read.count(keys::kHashLayers, 0);
  if (d.hashLayers > d.layers) read.fail(keys::kHashLayers, "is more than there are layers");
  const std::vector<double> clamps = read.file().numbers(keys::kClamp);
  if (clamps.size() < static_cast<std::size_t>(d.layers)) read.fail(keys::kClamp, "is shorter than the block count");
  for (std::int64_t layer = 0; layer < d.layers; ++layer) {
    const double clamp = clamps[static_cast<std::size_t>(layer)];
    if (!(clamp > 0)) read.fail(keys::kClamp, "must be above 0 in every layer");
    d.swigluClamp.push_back(static_cast<float>(clamp));
  }
}

// llama.cpp's table of experts by token is I32; everything else is weights.
void checkTensor(const Gguf& file, const TensorSpec& wanted) {
  const Tensor& found = file.tensor(wanted.name);
  if (found.dims != wanted.dims) {
    throw std::runtime_error(file.path().string() + ": offset " + std::to_string(found.offsetBytes) + ": tensor '" +
                             wanted.name + "' is " + found.shape() + " where the metadata wants " +
                             shapeText(wanted.dims));
  }
  if ((wanted.role == Role::tokenExperts) != (found.type == qk::Type::I32)) {
    throw std::runtime_error(file.path().string() + ": offset " + std::to_string(found.offsetBytes) + ": tensor '" +
                             wanted.name + "' has type " + std::string(qk::format(found.type).name) +
                             (wanted.role == Role::tokenExperts ? " where i32 is wanted" : ", which holds no weights"));
  }
}

// A table that names an expert which does not exist would read beyond the weights.
void checkTokenExperts(const Gguf& file, const TensorSpec& spec, std::int64_t experts) {
  const Tensor& table = file.tensor(spec.name);
  for (const std::int32_t expert : table.ints()) {
    if (expert < 0 || expert >= experts) {
      throw std::runtime_error(file.path().string() + ": offset " + std::to_string(table.offsetBytes) + ": tensor '" +
                               spec.name + "' names expert " + std::to_string(expert) + " of " +
                               std::to_string(experts) + "; corrupt file");
    }
  }
}

}  // namespace

qk::Dimensions readDimensions(const Gguf& file) {
  const Reader read(file);
  const std::string& architecture = file.text(keys::kArchitecture);
  if (architecture != keys::kDeepseek4) {
    read.fail(keys::kArchitecture, "is '" + architecture + "'; this engine runs '" + keys::kDeepseek4 + "'");
  }
  qk::Dimensions d;
  d.layers = read.count(keys::kLayers);
  d.hidden = read.count(keys::kHidden);
  d.vocabulary = read.count(keys::kVocabulary);
  d.contextLength = read.count(keys::kContext);
  readAttention(read, d);
  readRatios(read, d);
  readRope(read, d);
  readExperts(read, d);
  d.streams = read.count(keys::kStreams);
  d.sinkhornRounds = read.count(keys::kSinkhorn);
  d.hyperEps = read.positive(keys::kHyperEps);
  d.keyRoundTrip = read.flag(keys::kKeyRoundTrip, true);
  d.indexerRoundTrip = read.flag(keys::kIndexerRoundTrip, true);
  if (d.keyRoundTrip && (d.headDim - d.ropeDims) % 64 != 0) {
    read.fail(keys::kKeyLength, "less the rotated part must be a multiple of 64, the block of the FP8 round trip");
  }
  for (const TensorSpec& spec : tensorLayout(d)) {
    checkTensor(file, spec);
    if (spec.role == Role::tokenExperts) checkTokenExperts(file, spec, d.experts);
  }
  return d;
}

}  // namespace qe
