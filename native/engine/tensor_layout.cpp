#include "tensor_layout.h"

namespace qe {
namespace {

class Layout {
 public:
  explicit Layout(const qk::Dimensions& dimensions) : d_(dimensions) {}

  std::vector<TensorSpec> build() {
    add("token_embd.weight", {d_.hidden, d_.vocabulary}, Role::embedding);
    add("output.weight", {d_.hidden, d_.vocabulary}, Role::output);
    add("output_norm.weight", {d_.hidden}, Role::norm);
    add("output_hc_fn.weight", {d_.streams * d_.hidden, d_.streams}, Role::headMix);
    add("output_hc_base.weight", {d_.streams}, Role::headBase);
    add("output_hc_scale.weight", {1}, Role::headScale);
    for (std::int64_t layer = 0; layer < d_.layers; ++layer) {
      prefix_ = "blk." + std::to_string(layer) + ".";
      attention();
      hyper("attn");
      hyper("ffn");
      const std::int32_t ratio = d_.ratios[static_cast<std::size_t>(layer)];
      if (ratio != 0) compressor("attn_compressor", ratio, d_.headDim);
      if (ratio == 4) {
        add("indexer.proj.weight", {d_.hidden, d_.indexerHeads}, Role::dense);
        add("indexer.attn_q_b.weight", {d_.queryRank, d_.indexerHeads * d_.indexerDim}, Role::dense);
        compressor("indexer_compressor", ratio, d_.indexerDim);
      }
      experts(layer < d_.hashLayers);
    }
    return std::move(tensors_);
  }

 private:
  void add(const std::string& name, std::vector<std::int64_t> dims, Role role) {
    tensors_.push_back({prefix_ + name, std::move(dims), role});
  }

  void attention() {
    const std::int64_t queries = d_.heads * d_.headDim;
    add("attn_norm.weight", {d_.hidden}, Role::norm);
    add("attn_sinks.weight", {d_.heads}, Role::sinks);
    add("attn_q_a.weight", {d_.hidden, d_.queryRank}, Role::dense);
    add("attn_q_a_norm.weight", {d_.queryRank}, Role::norm);
    add("attn_q_b.weight", {d_.queryRank, queries}, Role::dense);
    add("attn_kv.weight", {d_.hidden, d_.headDim}, Role::dense);
    add("attn_kv_a_norm.weight", {d_.headDim}, Role::keyNorm);
    add("attn_output_a.weight", {queries / d_.outputGroups, d_.outputRank * d_.outputGroups}, Role::dense);
    add("attn_output_b.weight", {d_.outputGroups * d_.outputRank, d_.hidden}, Role::attentionOut);
  }

  void hyper(const std::string& site) {
    const std::int64_t mix = d_.streams * (2 + d_.streams);
    add("hc_" + site + "_fn.weight", {d_.streams * d_.hidden, mix}, Role::hyperMix);
    add("hc_" + site + "_base.weight", {mix}, Role::hyperBase);
    add("hc_" + site + "_scale.weight", {3}, Role::hyperScale);
  }

  void compressor(const std::string& name, std::int32_t ratio, std::int64_t width) {
    const std::int64_t channels = (ratio == 4 ? 2 : 1) * width;
    add(name + "_kv.weight", {d_.hidden, channels}, Role::compressor);
    add(name + "_gate.weight", {d_.hidden, channels}, Role::compressor);
    add(name + "_ape.weight", {channels, ratio}, Role::position);
    add(name + "_norm.weight", {width}, width == d_.headDim && name[0] == 'a' ? Role::keyNorm : Role::norm);
  }

  void experts(bool hashed) {
    const std::int64_t shared = d_.expertHidden * d_.sharedExperts;
    add("ffn_norm.weight", {d_.hidden}, Role::norm);
    add("ffn_gate_inp.weight", {d_.hidden, d_.experts}, Role::router);
    if (hashed) {
      add("ffn_gate_tid2eid.weight", {d_.expertsUsed, d_.vocabulary}, Role::tokenExperts);
    } else {
      add("exp_probs_b.bias", {d_.experts}, Role::routerBias);
    }
    add("ffn_gate_exps.weight", {d_.hidden, d_.expertHidden, d_.experts}, Role::expertGate);
    add("ffn_up_exps.weight", {d_.hidden, d_.expertHidden, d_.experts}, Role::expertUp);
    add("ffn_down_exps.weight", {d_.expertHidden, d_.hidden, d_.experts}, Role::expertDown);
    add("ffn_gate_shexp.weight", {d_.hidden, shared}, Role::sharedGateUp);
    add("ffn_up_shexp.weight", {d_.hidden, shared}, Role::sharedGateUp);
    add("ffn_down_shexp.weight", {shared, d_.hidden}, Role::sharedDown);
  }

  const qk::Dimensions& d_;
  std::string prefix_;
  std::vector<TensorSpec> tensors_;
};

}  // namespace

std::vector<TensorSpec> tensorLayout(const qk::Dimensions& dimensions) { return Layout(dimensions).build(); }

}  // namespace qe
