// Owns the states of finished sequences, so that a request that starts like an earlier one continues there.
// Least recently used slots are given up first, when there are too many or when they hold too many bytes.
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

  // With 0 slots every request starts from nothing, in one state that is used over and over. All slots
  // together hold at most `mostBytes`, unless the running sequence alone takes more.
  PrefixCache(int slots, std::int64_t mostBytes, MakeState makeState);

  // A state whose length is the number of leading tokens of the request that it already holds; always fewer
  // than the request has, because the last token must be evaluated to give logits. Valid until the next
  // acquire.
  State& acquire(const std::vector<std::int32_t>& tokens, bool reuse);

  // Bytes held, over all slots.
  std::int64_t bytes() const;
  int slots() const { return slots_; }

 private:
  struct Slot {
    std::unique_ptr<State> state;
    std::uint64_t lastUse = 0;
  };

  // A slot for a sequence of `tokens` that may be overwritten: a further one while there is room, else the
  // least recently used. Never `kept`.
  Slot& victim(const Slot* kept, std::int64_t tokens);
  // Gives up the least recently used slots until `running`, grown to `tokens`, fits with the rest.
  void makeRoom(const State* running, std::int64_t tokens);

  int slots_;
  std::int64_t mostBytes_;
  MakeState makeState_;
  std::vector<Slot> held_;
  std::uint64_t uses_ = 0;
};

}  // namespace qe
