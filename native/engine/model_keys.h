// Owns the metadata keys of a model file: those of llama.cpp's `deepseek4`, and our own under `qualify.`.
#pragma once

#include <cstdint>

namespace qe::keys {

inline constexpr const char* kArchitecture = "general.architecture";
inline constexpr const char* kFileType = "general.file_type";
inline constexpr const char* kDeepseek4 = "deepseek4";
inline constexpr const char* kContext = "deepseek4.context_length";
inline constexpr const char* kHidden = "deepseek4.embedding_length";
inline constexpr const char* kLayers = "deepseek4.block_count";
inline constexpr const char* kFeedForward = "deepseek4.feed_forward_length";
inline constexpr const char* kVocabulary = "deepseek4.vocab_size";
inline constexpr const char* kHeads = "deepseek4.attention.head_count";
inline constexpr const char* kHeadsKv = "deepseek4.attention.head_count_kv";
inline constexpr const char* kKeyLength = "deepseek4.attention.key_length";
inline constexpr const char* kValueLength = "deepseek4.attention.value_length";
inline constexpr const char* kRmsEps = "deepseek4.attention.layer_norm_rms_epsilon";
inline constexpr const char* kQueryRank = "deepseek4.attention.q_lora_rank";
inline constexpr const char* kOutputRank = "deepseek4.attention.output_lora_rank";
inline constexpr const char* kOutputGroups = "deepseek4.attention.output_group_count";
inline constexpr const char* kWindow = "deepseek4.attention.sliding_window";
inline constexpr const char* kRatios = "deepseek4.attention.compress_ratios";
inline constexpr const char* kCompressRopeBase = "deepseek4.attention.compress_rope_freq_base";
inline constexpr const char* kIndexerHeads = "deepseek4.attention.indexer.head_count";
inline constexpr const char* kIndexerDim = "deepseek4.attention.indexer.key_length";
inline constexpr const char* kIndexerTopK = "deepseek4.attention.indexer.top_k";
inline constexpr const char* kRopeDims = "deepseek4.rope.dimension_count";
inline constexpr const char* kRopeBase = "deepseek4.rope.freq_base";
inline constexpr const char* kRopeScaling = "deepseek4.rope.scaling.type";
inline constexpr const char* kYarnFactor = "deepseek4.rope.scaling.factor";
inline constexpr const char* kYarnContext = "deepseek4.rope.scaling.original_context_length";
inline constexpr const char* kYarnBetaFast = "deepseek4.rope.scaling.yarn_beta_fast";
inline constexpr const char* kYarnBetaSlow = "deepseek4.rope.scaling.yarn_beta_slow";
inline constexpr const char* kExperts = "deepseek4.expert_count";
inline constexpr const char* kExpertsUsed = "deepseek4.expert_used_count";
inline constexpr const char* kExpertsShared = "deepseek4.expert_shared_count";
inline constexpr const char* kExpertHidden = "deepseek4.expert_feed_forward_length";
inline constexpr const char* kExpertScale = "deepseek4.expert_weights_scale";
inline constexpr const char* kExpertNormalise = "deepseek4.expert_weights_norm";
inline constexpr const char* kExpertGating = "deepseek4.expert_gating_func";
inline constexpr std::int64_t kGatingSqrtSoftplus = 4;
inline constexpr const char* kHashLayers = "deepseek4.hash_layer_count";
inline constexpr const char* kStreams = "deepseek4.hyper_connection.count";
inline constexpr const char* kSinkhorn = "deepseek4.hyper_connection.sinkhorn_iterations";
inline constexpr const char* kHyperEps = "deepseek4.hyper_connection.epsilon";
inline constexpr const char* kClamp = "deepseek4.swiglu_clamp_exp";

inline constexpr const char* kPreset = "qualify.preset";
inline constexpr const char* kSeed = "qualify.seed";
inline constexpr const char* kExpertType = "qualify.experts";
inline constexpr const char* kDenseType = "qualify.dense";  // absent: q8_0, in a stress model f32
inline constexpr const char* kQuantized = "qualify.quantized";  // what `model quantize` did; absent: nothing
inline constexpr const char* kStress = "qualify.stress";
inline constexpr const char* kGenerator = "qualify.generator_version";
inline constexpr const char* kKeyRoundTrip = "qualify.key_round_trip";        // absent: true
inline constexpr const char* kIndexerRoundTrip = "qualify.indexer_round_trip";  // absent: true

}  // namespace qe::keys
