#include "prefix_cache.h"

#include <algorithm>
#include <stdexcept>

namespace qe {
namespace {

std::int64_t commonPrefix(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  const auto shorter = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  return std::mismatch(a.begin(), a.begin() + shorter, b.begin()).first - a.begin();
}

}  // namespace

PrefixCache::PrefixCache(int slots, std::int64_t mostBytes, MakeState makeState)
    : slots_(slots), mostBytes_(mostBytes), makeState_(std::move(makeState)) {
  if (slots < 0) throw std::invalid_argument("a prefix cache cannot have a negative number of slots");
  // Slots are pointed to while one is added.
  held_.reserve(static_cast<std::size_t>(std::max(slots, 1)));
}

PrefixCache::Slot& PrefixCache::victim(const Slot* kept, std::int64_t tokens) {
  Slot* oldest = nullptr;
  for (Slot& slot : held_) {
    if (&slot != kept && (oldest == nullptr || slot.lastUse < oldest->lastUse)) oldest = &slot;
  }
  const bool another = held_.size() < static_cast<std::size_t>(std::max(slots_, 1));
  if (another && (oldest == nullptr || bytes() + oldest->state->bytesOf(tokens) <= mostBytes_)) {
    held_.push_back({makeState_(), 0});
    return held_.back();
  }
  // Memory is used again, but what a far longer sequence has left is not kept for a short one.
  if (oldest->state->bytes() > 2 * oldest->state->bytesOf(tokens)) oldest->state = makeState_();
  return *oldest;
}

void PrefixCache::makeRoom(const State* running, std::int64_t tokens) {
  const auto wanted = [&] {
    return bytes() - running->bytes() + std::max(running->bytes(), running->bytesOf(tokens));
  };
  while (held_.size() > 1 && wanted() > mostBytes_) {
    const auto oldest = std::min_element(held_.begin(), held_.end(), [&](const Slot& a, const Slot& b) {
      if (a.state.get() == running || b.state.get() == running) return b.state.get() == running;
      return a.lastUse < b.lastUse;
    });
    held_.erase(oldest);
  }
}

State& PrefixCache::acquire(const std::vector<std::int32_t>& tokens, bool reuse) {
  const auto total = static_cast<std::int64_t>(tokens.size());
  Slot* best = nullptr;
  std::int64_t shared = 0;
  if (reuse && slots_ > 0) {
    for (Slot& slot : held_) {
      const std::int64_t common = std::min(commonPrefix(slot.state->tokens(), tokens), total - 1);
      const std::int64_t usable = slot.state->reachable(common);
      if (usable > shared) {
        best = &slot;
        shared = usable;
      }
    }
  }
  Slot* chosen = best;
  if (best == nullptr || shared == 0) {
    chosen = &victim(nullptr, total);
    chosen->state->truncate(0);
  } else if (best->state->length() - shared <= shared || slots_ == 1) {
    best->state->truncate(shared);
  } else {
    // Most of what this slot holds belongs to another sequence, which keeps it; this request gets a copy of
    // the start.
    chosen = &victim(best, total);
    chosen->state->copyPrefix(*best->state, shared);
  }
  chosen->lastUse = ++uses_;
  State* const running = chosen->state.get();
  makeRoom(running, total);
  return *running;
}

std::int64_t PrefixCache::bytes() const {
  std::int64_t total = 0;
  for (const Slot& slot : held_) total += slot.state->bytes();
  return total;
}

}  // namespace qe
