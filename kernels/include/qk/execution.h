// What every kernel call is given beside its operands: where it runs, with which instruction set, and where
// it is counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "qk/isa.h"
#include "qk/thread_pool.h"

namespace qk {

// Kernels that are witnesses: /props reports how often each really ran.
enum class Kernel : std::uint8_t {
  quantize,
  matmulFloat,  // F32, F16, BF16 weights
  matmulQ8_0,
  matmulQ4_0,
  matmulROCmFP3,
  matmulROCmFP2,
  matmulROCmFP4,
  matmulROCmFP4Fast,
  matmulQ2_K,
  matmulMXFP4,
  routeSort,
  serialExpert,        // one expert's whole launch sequence
  groupedGateUp,       // one call over all experts
  groupedDown,         // y of every route is written, for `combine`
  groupedDownCombine,  // fused: rows are added to their tokens as they come
  adaptiveTile,        // a grouped call whose token tiles are chosen from the rows of each expert
  persistentQueue,     // a grouped call that is one queue of items over all experts
  ownerExperts,        // one owner's part of a layer
  sharedExpert,
  combine,
  attentionMasked,    // over all visible entries, under a mask
  attentionGathered,  // over a compact copy of the selected rows
  attentionStreamed,  // over the selected rows where they lie, block by block
  attentionStaged,    // as streamed, each block of rows staged in fp32
  attentionFastExp,   // as staged, with the fast exponential
  attentionMaskScan,  // a mask is scanned into a list of rows, for what streams
};
inline constexpr std::size_t kernelCount = static_cast<std::size_t>(Kernel::attentionMaskScan) + 1;

// As reported: "matmul.q8_0", "mmid.serial.expert", "mmid.grouped.gate_up", "combine", ...
std::string_view name(Kernel kernel);

struct Counters {
  std::array<std::uint64_t, kernelCount> calls{};

  void add(Kernel kernel) { ++calls[static_cast<std::size_t>(kernel)]; }
  // Adds what another counted, and sets that to zero.
  void take(Counters& other) {
    for (std::size_t i = 0; i < kernelCount; ++i) calls[i] += other.calls[i];
    other.calls.fill(0);
  }
  std::uint64_t of(Kernel kernel) const { return calls[static_cast<std::size_t>(kernel)]; }
};

// Counters are added to by the calling thread only, once a call, never inside of items.
struct Execution {
  ThreadPool& pool;
  Isa isa;
  Counters& counters;
};

}  // namespace qk
