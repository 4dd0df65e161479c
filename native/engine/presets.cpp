#include "presets.h"

#include <array>
#include <stdexcept>

namespace qe {
namespace {

struct Preset {
  std::string_view name;
  std::int64_t hidden, heads, headDim, queryRank, outputGroups, outputRank, indexerHeads, indexerTopK;
  std::int64_t experts, expertHidden, hashLayers, vocabulary;
  std::array<std::int32_t, 8> ratios;
  std::size_t layers;
};

// Top-k is small enough that 401 and 2048 tokens make the indexer choose: 16 needs more than 64 tokens, 64 more than 256.
constexpr std::array<Preset, 4> kPresets = {{
    {"unit", 256, 4, 128, 128, 2, 64, 4, 16, 16, 256, 1, 512, {0, 4, 128, 4}, 4},
    {"mini", 1024, 16, 128, 256, 4, 256, 8, 64, 64, 512, 2, 4096, {0, 0, 4, 128, 4, 128}, 6},
    {"small", 2048, 16, 256, 512, 4, 512, 16, 128, 128, 1024, 3, 8192, {0, 0, 4, 128, 4, 128, 4, 128}, 8},
    {"flash-8", 4096, 64, 512, 1024, 8, 1024, 64, 512, 256, 2048, 3, 16384, {0, 0, 4, 128, 4, 128, 4, 128}, 8},
}};

}  // namespace

std::vector<std::string> presetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

qk::Dimensions presetDimensions(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name != name) continue;
    qk::Dimensions d;
    d.layers = static_cast<std::int64_t>(preset.layers);
    d.hidden = preset.hidden;
    d.vocabulary = preset.vocabulary;
    d.contextLength = 1048576;
    d.heads = preset.heads;
    d.headDim = preset.headDim;
    d.ropeDims = 64;
    d.queryRank = preset.queryRank;
    d.outputGroups = preset.outputGroups;
    d.outputRank = preset.outputRank;
    d.window = 128;
    d.ratios.assign(preset.ratios.begin(), preset.ratios.begin() + static_cast<std::ptrdiff_t>(preset.layers));
    d.indexerHeads = preset.indexerHeads;
    d.indexerDim = 128;
    d.indexerTopK = preset.indexerTopK;
    d.experts = preset.experts;
    d.expertsUsed = 6;
    d.expertHidden = preset.expertHidden;
    d.sharedExperts = 1;
    d.expertScale = 1.5;
    d.expertNormalise = true;
    d.hashLayers = preset.hashLayers;
    d.swigluClamp.assign(preset.layers, 10.0f);
    d.streams = 4;
    d.sinkhornRounds = 20;
    d.hyperEps = 1e-6;
    d.rmsEps = 1e-6;
    d.ropeBase = 10000;
    d.compressRopeBase = 160000;
    d.yarnFactor = 16;
    d.yarnOriginalContext = 65536;
    d.yarnBetaFast = 32;
    d.yarnBetaSlow = 1;
    return d;
  }
  std::string known;
  for (const std::string& each : presetNames()) known += (known.empty() ? "" : ", ") + each;
  throw std::invalid_argument("there is no preset '" + std::string(name) + "'; presets are " + known);
}

void makeOdd(qk::Dimensions& dimensions) {
  dimensions.hyperEps = 0.01;
  dimensions.rmsEps = 0.01;
  dimensions.sinkhornRounds = 3;
  dimensions.window = 96;
  dimensions.indexerTopK = 11;
  dimensions.yarnFactor = 4;
  dimensions.yarnOriginalContext = 2048;
  dimensions.contextLength = 4 * 2048;
  for (std::size_t layer = 0; layer < dimensions.swigluClamp.size(); ++layer) {
    dimensions.swigluClamp[layer] = 0.5f + 0.75f * static_cast<float>(layer % 4);
  }
}

}  // namespace qe
