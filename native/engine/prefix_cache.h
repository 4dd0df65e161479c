// Owns the states of finished sequences, so that a request that starts like an earlier one continues there.
// Least recently used slots are given up first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "state.h"

namespace qe {

class PrefixCache {
 public:
  using MakeState = std::function<std::unique_ptr<State>()>;

  // With 0 slots every request starts from nothing, in one state that is used over and over.
  PrefixCache(int slots, MakeState makeState);

  // A state whose length is the number of leading tokens of the request that it already holds; always fewer
  // than the request has, because the last token must be evaluated to give logits. Valid until the next
  // acquire.
  State& acquire(const std::vector<std::int32_t>& tokens, bool reuse);

  // Bytes of rows in use, over all slots.
  std::int64_t bytes() const;
  int slots() const { return slots_; }

 private:
  struct Slot {
    std::unique_ptr<State> state;
    std::uint64_t lastUse = 0;
  };

  // A slot that may be overwritten: an empty one, else the least recently used. Never `kept`.
  Slot& victim(const Slot* kept);

  int slots_;
  MakeState makeState_;
  std::vector<Slot> held_;
  std::uint64_t uses_ = 0;
};

}  // namespace qe
