// Owns the list of tensors of a model of the DeepSeek-V4 shape: names and dimensions, as llama.cpp's `deepseek4` reads them.
//
// D hidden, V vocabulary, H heads, d head dim, q query rank, G output groups, o output rank, n streams, M = n (2 + n),
// r compression ratio of the layer, c = 2 if r = 4 else 1, I indexer heads, i indexer dim, E experts, k used, F expert
// hidden, S shared experts. dims as in the file: row length first.
//
//   token_embd.weight [D, V]            output.weight [D, V]          output_norm.weight [D]
//   output_hc_fn.weight [nD, n]         output_hc_base.weight [n]     output_hc_scale.weight [1]
//   blk.N.attn_norm.weight [D]          blk.N.attn_sinks.weight [H]
//   blk.N.attn_q_a.weight [D, q]        blk.N.attn_q_a_norm.weight [q]        blk.N.attn_q_b.weight [q, Hd]
//   blk.N.attn_kv.weight [D, d]         blk.N.attn_kv_a_norm.weight [d]
//   blk.N.attn_output_a.weight [Hd/G, oG]   (rows g o .. g o + o - 1 belong to group g)
//   blk.N.attn_output_b.weight [oG, D]
//   blk.N.hc_{attn,ffn}_fn.weight [nD, M]   blk.N.hc_{attn,ffn}_base.weight [M]   blk.N.hc_{attn,ffn}_scale.weight [3]
//   r != 0: blk.N.attn_compressor_kv.weight [D, cd]     blk.N.attn_compressor_gate.weight [D, cd]
//           blk.N.attn_compressor_ape.weight [cd, r]    blk.N.attn_compressor_norm.weight [d]
//   r = 4:  blk.N.indexer.proj.weight [D, I]            blk.N.indexer.attn_q_b.weight [q, Ii]
//           blk.N.indexer_compressor_kv.weight [D, 2i]  blk.N.indexer_compressor_gate.weight [D, 2i]
//           blk.N.indexer_compressor_ape.weight [2i, r] blk.N.indexer_compressor_norm.weight [i]
//   blk.N.ffn_norm.weight [D]           blk.N.ffn_gate_inp.weight [D, E]
//   hash layers: blk.N.ffn_gate_tid2eid.weight [k, V] (I32)      others: blk.N.exp_probs_b.bias [E]
//   blk.N.ffn_{gate,up}_exps.weight [D, F, E]           blk.N.ffn_down_exps.weight [F, D, E]
//   blk.N.ffn_{gate,up}_shexp.weight [D, F S]           blk.N.ffn_down_shexp.weight [F S, D]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qk/dimensions.h"

namespace qe {

// What a tensor is for; the generator chooses its type and its values by this.
enum class Role {
  embedding,
  output,
  norm,
  keyNorm,        // of the shared key/value vector, from the window and from the compressor
  dense,          // attention matrices and the indexer's
  attentionOut,   // the last matrix of attention: writes to the streams
  compressor,     // kv and gate projections of both compressors
  position,       // ape
  sinks,
  hyperMix,       // fn, base and scale of a hyper-connection site
  hyperBase,
  hyperScale,
  headMix,        // the same of the final merge of the streams
  headBase,
  headScale,
  router,
  routerBias,
  tokenExperts,   // tid2eid
  expertGate,
  expertUp,
  expertDown,     // writes to the streams
  sharedGateUp,
  sharedDown,     // writes to the streams
};

struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> dims;
  Role role;
};

// Every tensor of the model, in file order.
std::vector<TensorSpec> tensorLayout(const qk::Dimensions& dimensions);

}  // namespace qe
