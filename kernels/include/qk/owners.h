// Owns a layer's experts divided over owners: groups of threads, each with its own compact weights. All owners get
// the same inputs, each evaluates the live routes to what it holds, the shared expert runs on the first, and the rows
// are joined in slot order: the bits are those of one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "qk/mmid.h"

namespace qk {

// What one owner holds of a layer's experts.
struct OwnedExperts {
  std::vector<std::int32_t> local;  // [E]: index into its own weights; -1 where it does not hold the expert
  PackedWeights gate, up, down;     // of count() experts; empty when it holds none

  std::int64_t count() const { return gate.count(); }
  MoeWeights weights(float clamp) const { return {&gate, &up, &down, clamp}; }
};

struct OwnedLayer {
  std::vector<std::int32_t> ownerOf;  // [E]
  std::vector<OwnedExperts> owners;   // at least one

  std::int64_t bytes() const;
  // An owner that holds something: all have the same shapes and types.
  const OwnedExperts& any() const;
};

// The tables of every owner, without weights: owner o holds the experts e with ownerOf[e] == o, ascending.
OwnedLayer ownedLayer(const std::vector<std::int32_t>& ownerOf, std::int64_t owners);

// The experts that an owner holds, ascending.
std::vector<std::int32_t> heldBy(const std::vector<std::int32_t>& ownerOf, std::int64_t owner);

// The owners' threads, and what they keep between calls.
class Owners {
 public:
  // Divides `threads` evenly, in order; `cpus` is empty or names one a thread. The caller of moe() is the first
  // thread of the first owner. Throws std::invalid_argument when there are more owners than threads.
  Owners(int owners, int threads, std::span<const int> cpus = {});
  ~Owners();
  Owners(const Owners&) = delete;
  Owners& operator=(const Owners&) = delete;

  int count() const;
  int threadsOf(int owner) const;
  std::int64_t bytes() const;

  // out [T][D] as qk::moe, which see; expert, weight [T][k] as sortRoutes takes them, by global expert. Rows are
  // never summed inside of the down projection here: the slots of a token belong to several owners. `ex` joins.
  MoeTimes moe(Execution& ex, MoePlan plan, const MoeOptions& options, const OwnedLayer& layer, float clamp,
               const MoeWeights* shared, const Inputs& x, const std::int32_t* expert, const float* weight,
               std::int64_t tokens, std::int64_t slots, float* out);

 private:
  struct Owner;
  std::vector<std::unique_ptr<Owner>> owners_;
  ThreadPool leaders_;  // the first thread of every owner
};

}  // namespace qk
