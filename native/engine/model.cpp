// Binds the tensors of a file by name. Their shapes were checked against the dimensions before.
#include "model.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "model_file.h"

namespace qe {
namespace {

// Reads tensors of one file and gives their pages back.
class Binder {
  // Defined first because its return type is deduced.
  template <typename Read>
  auto take(const std::string& name, const Read& read) const {
    const Tensor& tensor = file_.tensor(name);
    try {
      auto value = read(tensor);
      file_.release(tensor);
      return value;
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(file_.path().string() + ": tensor " + name + ": " + error.what());
    }
  }

 public:
  Binder(const Gguf& file, qk::ThreadPool& pool) : file_(file), pool_(pool) {}

  std::vector<float> floats(const std::string& name) const {
    return take(name, [](const Tensor& tensor) { return tensor.floats(); });
  }
  std::vector<std::int32_t> ints(const std::string& name) const {
    return take(name, [](const Tensor& tensor) { return tensor.ints(); });
  }
  qk::PackedWeights packed(const std::string& name) const {
    return take(name, [&](const Tensor& tensor) { return qk::PackedWeights(pool_, tensor.matrix()); });
  }
  // Each owner's experts side by side in its own memory.
  void experts(const std::string& name, qk::PackedWeights qk::OwnedExperts::*weights, qk::OwnedLayer& layer) const {
    take(name, [&](const Tensor& tensor) {
      qk::ExpertMatrices matrices = tensor.experts();
      for (std::size_t o = 0; o < layer.owners.size(); ++o) {
        const std::vector<std::int32_t> held = qk::heldBy(layer.ownerOf, static_cast<std::int64_t>(o));
        if (held.empty()) continue;
        matrices.experts = static_cast<std::int64_t>(held.size());
        matrices.chosen = held.data();
        layer.owners[o].*weights = qk::PackedWeights(pool_, matrices);
      }
      return 0;
    });
  }
  // A matrix whose rows are `groups` matrices one below the other.
  qk::PackedWeights grouped(const std::string& name, std::int64_t groups) const {
    return take(name, [&](const Tensor& tensor) {
      qk::ExpertMatrices matrices{tensor.matrix(), groups};
      matrices.first.rows /= groups;
      return qk::PackedWeights(pool_, matrices);
    });
  }
  HyperWeights hyper(const std::string& prefix) const {
    return {floats(prefix + "_fn.weight"), floats(prefix + "_scale.weight"),
            floats(prefix + "_base.weight")};
  }
  CompressorWeights compressor(const std::string& prefix) const {
    return {packed(prefix + "_kv.weight"), packed(prefix + "_gate.weight"), floats(prefix + "_ape.weight"),
            floats(prefix + "_norm.weight")};
  }

 private:
  const Gguf& file_;
  qk::ThreadPool& pool_;
};

AttentionWeights bindAttention(const Binder& bind, const qk::Dimensions& dimensions,
                               const std::string& prefix, std::int32_t ratio) {
  AttentionWeights weights;
  weights.hyper = bind.hyper(prefix + "hc_attn");
  weights.norm = bind.floats(prefix + "attn_norm.weight");
  weights.queryNorm = bind.floats(prefix + "attn_q_a_norm.weight");
  weights.kvNorm = bind.floats(prefix + "attn_kv_a_norm.weight");
  weights.sinks = bind.floats(prefix + "attn_sinks.weight");
  weights.queryA = bind.packed(prefix + "attn_q_a.weight");
  weights.queryB = bind.packed(prefix + "attn_q_b.weight");
  weights.kv = bind.packed(prefix + "attn_kv.weight");
  weights.outputA = bind.grouped(prefix + "attn_output_a.weight", dimensions.outputGroups);
  weights.outputB = bind.packed(prefix + "attn_output_b.weight");
  if (ratio != 0) weights.compressor = bind.compressor(prefix + "attn_compressor");
  if (ratio == 4) {
    weights.indexer = IndexerWeights{bind.packed(prefix + "indexer.attn_q_b.weight"),
                                     bind.packed(prefix + "indexer.proj.weight"),
                                     bind.compressor(prefix + "indexer_compressor")};
  }
  return weights;
}

ExpertWeights bindExperts(const Binder& bind, const std::string& prefix, qk::OwnedLayer tables, bool hashed,
                          float clamp) {
  ExpertWeights weights;
  weights.routed = std::move(tables);
  weights.hyper = bind.hyper(prefix + "hc_ffn");
  weights.norm = bind.floats(prefix + "ffn_norm.weight");
  weights.router = bind.packed(prefix + "ffn_gate_inp.weight");
  if (hashed) {
    weights.hashTable = bind.ints(prefix + "ffn_gate_tid2eid.weight");
  } else {
    weights.bias = bind.floats(prefix + "exp_probs_b.bias");
  }
  bind.experts(prefix + "ffn_gate_exps.weight", &qk::OwnedExperts::gate, weights.routed);
  bind.experts(prefix + "ffn_up_exps.weight", &qk::OwnedExperts::up, weights.routed);
  bind.experts(prefix + "ffn_down_exps.weight", &qk::OwnedExperts::down, weights.routed);
  weights.sharedGate = bind.packed(prefix + "ffn_gate_shexp.weight");
  weights.sharedUp = bind.packed(prefix + "ffn_up_shexp.weight");
  weights.sharedDown = bind.packed(prefix + "ffn_down_shexp.weight");
  weights.clamp = clamp;
  return weights;
}

std::int64_t bytesOf(const CompressorWeights& weights) {
  return static_cast<std::int64_t>(weights.kv.bytes() + weights.gate.bytes());
}

std::int64_t bytesOf(const Layer& layer) {
  const AttentionWeights& a = layer.attention;
  const ExpertWeights& e = layer.experts;
  auto total = static_cast<std::int64_t>(a.queryA.bytes() + a.queryB.bytes() + a.kv.bytes() +
                                         a.outputA.bytes() + a.outputB.bytes() + e.router.bytes() +
                                         e.sharedGate.bytes() + e.sharedUp.bytes() + e.sharedDown.bytes());
  const std::size_t floats = a.hyper.fn.size() + e.hyper.fn.size() + e.hashTable.size();
  total += static_cast<std::int64_t>(floats * sizeof(float)) + e.routed.bytes();
  if (a.compressor) total += bytesOf(*a.compressor);
  if (a.indexer) {
    total += static_cast<std::int64_t>(a.indexer->queryB.bytes() + a.indexer->weights.bytes()) +
             bytesOf(a.indexer->compressor);
  }
  return total;
}

std::string readText(const std::filesystem::path& path) {
  // A FIFO would be waited for, and what a device gives is not the same twice.
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    throw std::invalid_argument(path.string() + ": is no regular file");
  }
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open() || in.bad()) throw std::invalid_argument(path.string() + ": cannot be read");
  return text;
}

qk::Placement placeExperts(const Gguf& file, const qk::Dimensions& dimensions, const OwnerOptions& options) {
  const qk::ExpertLoads loads =
      options.owners > 1 && options.hotnessCsv
          ? qk::parseHotness(readText(*options.hotnessCsv), options.hotnessCsv->string(), dimensions.layers,
                             dimensions.experts)
          : qk::uniformLoads(dimensions.layers, dimensions.experts);
  if (!options.budgetBytes) {
    const double sharedShare =
        static_cast<double>(dimensions.sharedExperts) / static_cast<double>(dimensions.expertsUsed);
    return qk::placeByCriticalPath(loads, options.owners, options.rate, sharedShare);
  }
  std::vector<std::int64_t> bytesOf;
  for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
    std::int64_t bytes = 0;
    for (const char* name : {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"}) {
      const std::string tensor = "blk." + std::to_string(layer) + "." + name + ".weight";
      const qk::Matrix expert = file.tensor(tensor).experts().first;
      bytes += expert.rows * expert.rowBytes();
    }
    bytesOf.push_back(bytes);
  }
  return qk::placeByBudget(loads, options.owners, bytesOf, *options.budgetBytes);
}

}  // namespace

Model::Model(const std::filesystem::path& path, qk::ThreadPool& pool, const OwnerOptions& owners)
    : file_(path),
      dimensions_(readDimensions(file_)),
      placement_(placeExperts(file_, dimensions_, owners)),
      embedding_(file_.tensor("token_embd.weight").matrix()) {
  const Binder bind(file_, pool);
  for (std::int64_t i = 0; i < dimensions_.layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    const auto index = static_cast<std::size_t>(i);
    Layer layer;
    layer.ratio = dimensions_.ratios[index];
    layer.attention = bindAttention(bind, dimensions_, prefix, layer.ratio);
    layer.experts = bindExperts(bind, prefix, qk::ownedLayer(placement_.ownerOf[index], placement_.owners),
                                i < dimensions_.hashLayers, dimensions_.swigluClamp[index]);
    layers_.push_back(std::move(layer));
  }
  headHyper_ = bind.hyper("output_hc");
  outputNorm_ = bind.floats("output_norm.weight");
  output_ = bind.packed("output.weight");
}

std::int64_t Model::weightBytes() const {
  auto total = static_cast<std::int64_t>(output_.bytes());
  for (const Layer& layer : layers_) total += bytesOf(layer);
  return total;
}

std::int64_t Model::ownedBytes(std::int64_t owner) const {
  std::size_t total = 0;
  for (const Layer& layer : layers_) {
    const qk::OwnedExperts& held = layer.experts.routed.owners.at(static_cast<std::size_t>(owner));
    total += held.gate.bytes() + held.up.bytes() + held.down.bytes();
  }
  return static_cast<std::int64_t>(total);
}

qk::reference::Weights Model::referenceWeights() const {
  return qk::reference::loadWeights(dimensions_, [this](const std::string& name) {
    const Tensor& tensor = file_.tensor(name);
    qk::reference::Values values;
    if (tensor.type == qk::Type::I32) {
      const std::vector<std::int32_t> ints = tensor.ints();
      values.assign(ints.begin(), ints.end());
    } else {
      const std::vector<float> floats = tensor.floats();
      values.assign(floats.begin(), floats.end());
    }
    file_.release(tensor);
    return values;
  });
}

qk::HyperSite hyperSite(const qk::Dimensions& dimensions, const HyperWeights& weights) {
  qk::HyperSite site;
  site.streams = dimensions.streams;
  site.hidden = dimensions.hidden;
  site.fn = weights.fn.data();
  site.scale = weights.scale.data();
  site.base = weights.base.data();
  site.sinkhornRounds = dimensions.sinkhornRounds;
  site.hyperEps = static_cast<float>(dimensions.hyperEps);
  site.rmsEps = static_cast<float>(dimensions.rmsEps);
  return site;
}

}  // namespace qe
