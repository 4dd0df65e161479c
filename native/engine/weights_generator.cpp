#include "weights_generator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "random_blocks.h"
#include "tokenizer_metadata.h"

namespace qe {
namespace {

constexpr const char* kEmbedding = "token_embd.weight";

// How far the token's own logit stands above the noise of the layers, in deviations of that noise. The largest of a few
// thousand normal numbers is about 3.6, so 5 leaves the token ahead at nine positions in ten.
constexpr double kTokenLead = 5.0;

// One cycle over tokens [first, last) (Sattolo): no token follows itself and no short loop exists, so that a long greedy
// answer does not repeat.
void makeCycle(const CounterRandom& random, std::int64_t first, std::int64_t last, std::vector<std::int32_t>& next) {
  for (std::int64_t i = last - first - 1; i > 0; --i) {
    const auto j = static_cast<std::int64_t>(random.word(static_cast<std::uint64_t>(first + i)) %
                                             static_cast<std::uint64_t>(i));
    std::swap(next[static_cast<std::size_t>(first + i)], next[static_cast<std::size_t>(first + j)]);
  }
}

// The power of two nearest below 2 / sqrt(width): logits of noise then have a deviation of about one or two.
double outputScale(std::int64_t width) {
  double scale = 1;
  while (scale * scale * static_cast<double>(width) > 4) scale /= 2;
  return scale;
}

bool isMatrix(Role role) {
  switch (role) {
    case Role::dense:
    case Role::attentionOut:
    case Role::embedding:
    case Role::output:
    case Role::sharedGateUp:
    case Role::sharedDown: return true;
    default: return false;
  }
}

}  // namespace

ExpertTypes expertTypes(std::string_view name) {
  if (name == "rocmfp2") return {qk::Type::ROCmFP2, qk::Type::ROCmFP3};
  std::string known = "rocmfp2";
  for (const qk::Type type : {qk::Type::ROCmFP4, qk::Type::ROCmFP4_FAST, qk::Type::Q2_K, qk::Type::Q4_0, qk::Type::Q8_0,
                              qk::Type::MXFP4, qk::Type::F16, qk::Type::F32}) {
    if (qk::format(type).name == name) return {type, type};
    known += ", " + std::string(qk::format(type).name);
  }
  throw std::invalid_argument("there are no experts of type '" + std::string(name) + "'; types are " + known);
}

qk::Type generatedDense(std::string_view name) {
  if (name.empty()) return qk::Type::Q8_0;
  if (name == "f16") return qk::Type::F16;
  if (name == "f32") return qk::Type::F32;
  throw std::invalid_argument("there are no dense matrices of type '" + std::string(name) +
                              "'; types are f16, f32");
}

WeightsGenerator::WeightsGenerator(const qk::Dimensions& dimensions, std::uint64_t seed, ExpertTypes experts,
                                   qk::Type dense, bool stress)
    : dimensions_(dimensions), seed_(seed), experts_(experts), dense_(dense), stress_(stress) {
  const std::int64_t vocabulary = dimensions.vocabulary;
  successor_.resize(static_cast<std::size_t>(vocabulary));
  for (std::int64_t t = 0; t < vocabulary; ++t) successor_[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(t);
  const CounterRandom random(seed, "successor");
  makeCycle(random, 0, std::min(vocabulary, kByteTokens), successor_);
  makeCycle(random, std::min(vocabulary, kFirstPadding), vocabulary, successor_);
  predecessor_.resize(successor_.size());
  for (std::size_t t = 0; t < successor_.size(); ++t) {
    predecessor_[static_cast<std::size_t>(successor_[t])] = static_cast<std::int32_t>(t);
  }
}

qk::Type WeightsGenerator::typeOf(const TensorSpec& tensor) const {
  if (tensor.role == Role::tokenExperts) return qk::Type::I32;
  if (stress_) return qk::Type::F32;
  if (tensor.role == Role::expertGate || tensor.role == Role::expertUp) return experts_.gateUp;
  if (tensor.role == Role::expertDown) return experts_.down;
  if (tensor.role == Role::compressor) return qk::Type::F16;
  return isMatrix(tensor.role) ? dense_ : qk::Type::F32;
}

// Deviations are such that every vector between two norms has elements of about 1; u is a normed input of length D.
double WeightsGenerator::deviation(const TensorSpec& tensor) const {
  const double unit = 1 / std::sqrt(static_cast<double>(tensor.dims.front()));
  // What each of the 2 L sub-layers adds to a stream, against an embedding of 1.
  const double width = std::sqrt(static_cast<double>(dimensions_.hidden));
  const double added = stress_ ? 1 : width / kTokenLead / std::sqrt(2 * static_cast<double>(dimensions_.layers));
  switch (tensor.role) {
    case Role::embedding: return 1;
    case Role::output: return outputScale(dimensions_.hidden);
    case Role::norm: return stress_ ? 0.3 : 0.2;
    case Role::keyNorm: return 0.3;
    case Role::dense: return unit;
    case Role::attentionOut: return added * unit;
    case Role::compressor: return 1.5 * unit;  // gates of deviation 1.5 pick rather than average
    case Role::position: return stress_ ? 1 : 0.5;
    case Role::sinks: return 1;
    case Role::hyperMix:
    case Role::headMix: return unit;
    case Role::hyperBase:
    case Role::headBase: return stress_ ? 1 : 0.5;
    case Role::hyperScale:
    case Role::headScale: return stress_ ? 0.3 : 0.05;
    case Role::router: return 1.5 * unit;
    case Role::routerBias: return stress_ ? 0.5 : 0.15;
    case Role::expertGate:
    case Role::expertUp:
    case Role::sharedGateUp: return 1.5 * unit;
    // silu(1.5 x) * 1.5 y of normal x, y has a deviation of 1.46. Six experts at weights of about a quarter make 0.89;
    // they bring four fifths of the power of the sub-layer, the shared expert the rest.
    case Role::expertDown: return added * unit * 0.894 / 0.89;
    case Role::sharedDown: return added * unit * 0.447 / 1.46;
    case Role::tokenExperts: break;
  }
  return 0;
}

float WeightsGenerator::mean(const TensorSpec& tensor, std::int64_t index) const {
  switch (tensor.role) {
    case Role::norm: return 1;
    case Role::keyNorm: return stress_ ? 1.5f : 2.0f;
    case Role::hyperScale:
    case Role::headScale: return stress_ ? 1.0f : 0.5f;
    case Role::hyperBase: {
      // [pre n, post n, mix n x n]: a strong diagonal keeps the streams apart instead of washing them into one.
      const std::int64_t n = dimensions_.streams;
      const std::int64_t cell = index - 2 * n;
      return !stress_ && cell >= 0 && cell / n == cell % n ? 3.0f : 0.0f;
    }
    default: return 0;
  }
}

void WeightsGenerator::blocks(const TensorSpec& tensor, std::int64_t first, std::int64_t count, std::byte* out) const {
  if (tensor.role == Role::tokenExperts) return tokenExperts(tensor, first, count, out);
  if (tensor.role == Role::output && !stress_) return outputBlocks(tensor, first, count, out);
  const CounterRandom random(seed_, tensor.name);
  randomBlocks(random, typeOf(tensor), deviation(tensor), first, count, out);
  if (typeOf(tensor) != qk::Type::F32) return;
  for (std::int64_t i = 0; i < count; ++i, out += sizeof(float)) {
    const float shift = mean(tensor, first + i);
    if (shift == 0) continue;
    float value = 0;
    std::memcpy(&value, out, sizeof value);
    value += shift;
    std::memcpy(out, &value, sizeof value);
  }
}

void WeightsGenerator::outputBlocks(const TensorSpec& tensor, std::int64_t first, std::int64_t count,
                                    std::byte* out) const {
  const qk::Format& format = qk::format(typeOf(tensor));
  const std::int64_t rowBlocks = tensor.dims.front() / format.weights;
  const CounterRandom embedding(seed_, kEmbedding);
  while (count > 0) {
    const std::int64_t row = first / rowBlocks;
    const std::int64_t column = first % rowBlocks;
    const std::int64_t here = std::min(count, rowBlocks - column);
    const std::int64_t source = predecessor_[static_cast<std::size_t>(row)] * rowBlocks + column;
    randomBlocks(embedding, format.type, deviation(tensor), source, here, out);
    first += here;
    count -= here;
    out += here * format.bytes;
  }
}

// Row v holds the experts of token v: all different, in random order.
void WeightsGenerator::tokenExperts(const TensorSpec& tensor, std::int64_t first, std::int64_t count,
                                    std::byte* out) const {
  const CounterRandom random(seed_, tensor.name);
  const std::int64_t used = dimensions_.expertsUsed;
  std::vector<std::int32_t> chosen;
  for (std::int64_t i = first; i < first + count; ++i, out += sizeof(std::int32_t)) {
    const std::int64_t slot = i % used;
    if (slot == 0 || chosen.empty()) {
      chosen.clear();
      const CounterRandom draws = random.child(static_cast<std::uint64_t>(i / used));
      for (std::uint64_t draw = 0; static_cast<std::int64_t>(chosen.size()) < used; ++draw) {
        const auto expert =
            static_cast<std::int32_t>(draws.word(draw) % static_cast<std::uint64_t>(dimensions_.experts));
        if (std::find(chosen.begin(), chosen.end(), expert) == chosen.end()) chosen.push_back(expert);
      }
    }
    std::memcpy(out, &chosen[static_cast<std::size_t>(slot)], sizeof(std::int32_t));
  }
}

}  // namespace qe
