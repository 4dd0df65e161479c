// Owns the names and sizes of the oracle's weights.
#include <stdexcept>

#include "qk/reference_model.h"

namespace qk::reference {

namespace {

class Loader {
 public:
  Loader(const Dimensions& dimensions, const std::function<Values(const std::string&)>& tensor)
      : d_(dimensions), tensor_(tensor) {}

  Weights load() {
    Weights weights;
    weights.embedding = get("token_embd.weight", d_.vocabulary * d_.hidden);
    weights.output = get("output.weight", d_.vocabulary * d_.hidden);
    weights.outputNorm = get("output_norm.weight", d_.hidden);
    weights.head = hyper("output_hc_", d_.streams, 1);
    for (std::int64_t layer = 0; layer < d_.layers; ++layer) weights.layers.push_back(loadLayer(layer));
    return weights;
  }

 private:
  Values get(const std::string& name, std::int64_t size) const {
    Values values = tensor_(name);
    if (values.size() != static_cast<std::size_t>(size)) {
      throw std::invalid_argument("tensor " + name + " has " + std::to_string(values.size()) +
                                  " values, not " + std::to_string(size));
    }
    return values;
  }

  HyperWeights hyper(const std::string& prefix, std::int64_t rows, std::int64_t scales) const {
    return {get(prefix + "fn.weight", rows * d_.streams * d_.hidden), get(prefix + "scale.weight", scales),
            get(prefix + "base.weight", rows)};
  }

  CompressorWeights compressor(const std::string& prefix, std::int64_t ratio, std::int64_t dim) const {
    const std::int64_t width = ratio == 4 ? 2 * dim : dim;
    return {get(prefix + "kv.weight", width * d_.hidden), get(prefix + "gate.weight", width * d_.hidden),
            get(prefix + "ape.weight", ratio * width), get(prefix + "norm.weight", dim)};
  }

  LayerWeights loadLayer(std::int64_t layer) const {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    const std::int64_t ratio = d_.ratios.at(static_cast<std::size_t>(layer));
    const std::int64_t queries = d_.heads * d_.headDim;
    const std::int64_t mixes = d_.streams * (2 + d_.streams);
    LayerWeights w;
    w.hyperAttention = hyper(blk + "hc_attn_", mixes, 3);
    w.hyperFfn = hyper(blk + "hc_ffn_", mixes, 3);
    w.attentionNorm = get(blk + "attn_norm.weight", d_.hidden);
    w.queryA = get(blk + "attn_q_a.weight", d_.queryRank * d_.hidden);
    w.queryANorm = get(blk + "attn_q_a_norm.weight", d_.queryRank);
    w.queryB = get(blk + "attn_q_b.weight", queries * d_.queryRank);
    w.kv = get(blk + "attn_kv.weight", d_.headDim * d_.hidden);
    w.kvNorm = get(blk + "attn_kv_a_norm.weight", d_.headDim);
    w.sinks = get(blk + "attn_sinks.weight", d_.heads);
    w.outputA = get(blk + "attn_output_a.weight", d_.outputRank * queries);
    w.outputB = get(blk + "attn_output_b.weight", d_.hidden * d_.outputGroups * d_.outputRank);
    if (ratio != 0) w.compressor = compressor(blk + "attn_compressor_", ratio, d_.headDim);
    if (ratio == 4) {
      w.indexerWeights = get(blk + "indexer.proj.weight", d_.indexerHeads * d_.hidden);
      w.indexerQueryB = get(blk + "indexer.attn_q_b.weight", d_.indexerHeads * d_.indexerDim * d_.queryRank);
      w.indexerCompressor = compressor(blk + "indexer_compressor_", ratio, d_.indexerDim);
    }
    loadExperts(blk, layer < d_.hashLayers, w);
    return w;
  }

  void loadExperts(const std::string& blk, bool hashed, LayerWeights& w) const {
    const std::int64_t matrix = d_.expertHidden * d_.hidden;
    w.ffnNorm = get(blk + "ffn_norm.weight", d_.hidden);
    w.router = get(blk + "ffn_gate_inp.weight", d_.experts * d_.hidden);
    if (hashed) {
      for (const double id : get(blk + "ffn_gate_tid2eid.weight", d_.vocabulary * d_.expertsUsed)) {
        w.hashTable.push_back(static_cast<std::int32_t>(id));
      }
    } else {
      w.routerBias = get(blk + "exp_probs_b.bias", d_.experts);
    }
    w.gate = get(blk + "ffn_gate_exps.weight", d_.experts * matrix);
    w.up = get(blk + "ffn_up_exps.weight", d_.experts * matrix);
    w.down = get(blk + "ffn_down_exps.weight", d_.experts * matrix);
    w.sharedGate = get(blk + "ffn_gate_shexp.weight", d_.sharedExperts * matrix);
    w.sharedUp = get(blk + "ffn_up_shexp.weight", d_.sharedExperts * matrix);
    w.sharedDown = get(blk + "ffn_down_shexp.weight", d_.sharedExperts * matrix);
  }

  const Dimensions& d_;
  const std::function<Values(const std::string&)>& tensor_;
};

}  // namespace

Weights loadWeights(const Dimensions& dimensions,
                    const std::function<Values(const std::string& name)>& tensor) {
  return Loader(dimensions, tensor).load();
}

}  // namespace qk::reference
