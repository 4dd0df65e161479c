// Owns the run of a layer over several owners, and the join of their rows.
//
// Flops and bytes are those of the unfused plans (mmid_grouped.cpp, mmid_serial.cpp) with fewer threads each, and the
// join moves what `combine` does. Every owner sorts all T k routes for itself. The longest owner decides, which is what
// placement by critical path lessens. On one kind of core, owners lose the fused sum and balance; they are for machines
// whose memory is divided. Reached: not measured on such a machine.
#include "qk/owners.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "cpu/kernels.h"
#include "cpu/mmid_parts.h"

namespace qk {
namespace {

// Owner o's threads are first .. first + count of all.
struct Share {
  int first, count;
};

Share shareOf(int owner, int owners, int threads) {
  const int first = owner * threads / owners;
  return {first, (owner + 1) * threads / owners - first};
}

int checkedOwners(int owners, int threads) {
  if (owners < 1) throw std::invalid_argument("experts need at least one owner");
  if (owners > threads) {
    throw std::invalid_argument(std::to_string(owners) + " owners of experts need a thread each; there are " +
                                std::to_string(threads) + ": ask for fewer owners or more threads");
  }
  return owners;
}

std::vector<int> leadersOf(int owners, int threads, std::span<const int> cpus) {
  std::vector<int> leaders;
  for (int o = 0; o < owners && !cpus.empty(); ++o) {
    leaders.push_back(cpus[static_cast<std::size_t>(shareOf(o, owners, threads).first)]);
  }
  return leaders;
}

std::span<const int> cpusOf(const Share& share, std::span<const int> cpus) {
  if (cpus.empty()) return cpus;
  return cpus.subspan(static_cast<std::size_t>(share.first), static_cast<std::size_t>(share.count));
}

}  // namespace

struct Owners::Owner {
  Owner(const Share& share, std::span<const int> cpus) : pool(share.count, cpusOf(share, cpus)) {}

  // Its part of the layer: rows of its live routes, and of the shared expert where that is given.
  void run(Isa isa, MoePlan plan, const MoeOptions& options, const OwnedExperts& held, float clamp,
           const MoeWeights* shared, const Inputs& x, const std::int32_t* expert, const float* weight,
           std::int64_t tokens, std::int64_t slots);

  ThreadPool pool;
  Counters counters;
  std::vector<std::int32_t> localExperts;  // [T][k]
  Routes routes;
  MoeScratch scratch;
  MoeTimes times;
};

void Owners::Owner::run(Isa isa, MoePlan plan, const MoeOptions& options, const OwnedExperts& held, float clamp,
                        const MoeWeights* shared, const Inputs& x, const std::int32_t* expert,
                        const float* weight, std::int64_t tokens, std::int64_t slots) {
  Execution ex{pool, isa, counters};
  times = {};
  localExperts.resize(static_cast<std::size_t>(tokens * slots));
  std::transform(expert, expert + tokens * slots, localExperts.begin(),
                 [&](std::int32_t e) { return e < 0 ? -1 : held.local[static_cast<std::size_t>(e)]; });
  sortRoutes(localExperts.data(), weight, tokens, slots, held.count(), routes);
  counters.add(Kernel::routeSort);
  if (routes.live() > 0) {
    const MoeWeights weights = held.weights(clamp);
    const mmid::Shape shape = mmid::checkedShape(weights, x);
    float* const y = mmid::reserveRows(scratch.rows, routes.live(), shape.hidden);
    times = mmid::liveRows(ex, plan, options, weights, shape, x, routes, scratch, y);
  }
  if (shared != nullptr) {
    mmid::Stopwatch watch;
    float* const y = mmid::reserveRows(scratch.sharedRows, tokens, shared->gate->matrix().cols);
    sharedExpert(ex, *shared, x, tokens, scratch, y);
    times.sharedNs = watch.lapNs();
  }
  if (routes.live() > 0 || shared != nullptr) counters.add(Kernel::ownerExperts);
}

std::int64_t OwnedLayer::bytes() const {
  std::size_t total = 0;
  for (const OwnedExperts& held : owners) total += held.gate.bytes() + held.up.bytes() + held.down.bytes();
  return static_cast<std::int64_t>(total);
}

const OwnedExperts& OwnedLayer::any() const {
  for (const OwnedExperts& held : owners) {
    if (held.count() > 0) return held;
  }
  throw std::logic_error("no owner holds an expert");
}

OwnedLayer ownedLayer(const std::vector<std::int32_t>& ownerOf, std::int64_t owners) {
  OwnedLayer layer{ownerOf, std::vector<OwnedExperts>(static_cast<std::size_t>(owners))};
  for (OwnedExperts& held : layer.owners) held.local.assign(ownerOf.size(), -1);
  std::vector<std::int32_t> count(layer.owners.size(), 0);
  for (std::size_t e = 0; e < ownerOf.size(); ++e) {
    const auto owner = static_cast<std::size_t>(ownerOf[e]);
    layer.owners.at(owner).local[e] = count[owner]++;
  }
  return layer;
}

std::vector<std::int32_t> heldBy(const std::vector<std::int32_t>& ownerOf, std::int64_t owner) {
  std::vector<std::int32_t> held;
  for (std::size_t e = 0; e < ownerOf.size(); ++e) {
    if (ownerOf[e] == owner) held.push_back(static_cast<std::int32_t>(e));
  }
  return held;
}

Owners::Owners(int owners, int threads, std::span<const int> cpus)
    : leaders_(checkedOwners(owners, threads), leadersOf(owners, threads, cpus)) {
  for (int o = 0; o < owners; ++o) owners_.push_back(std::make_unique<Owner>(shareOf(o, owners, threads), cpus));
}

Owners::~Owners() = default;

int Owners::count() const { return static_cast<int>(owners_.size()); }

int Owners::threadsOf(int owner) const { return owners_.at(static_cast<std::size_t>(owner))->pool.threads(); }

std::int64_t Owners::bytes() const {
  std::int64_t total = 0;
  for (const auto& owner : owners_) {
    const Routes& routes = owner->routes;
    const std::size_t ids = owner->localExperts.capacity() + routes.token.capacity() + routes.slot.capacity() +
                            routes.weight.capacity() + routes.packedRow.capacity();
    total += owner->scratch.bytes() + static_cast<std::int64_t>(ids * sizeof(std::int32_t));
  }
  return total;
}

MoeTimes Owners::moe(Execution& ex, MoePlan plan, const MoeOptions& options, const OwnedLayer& layer, float clamp,
                     const MoeWeights* shared, const Inputs& x, const std::int32_t* expert, const float* weight,
                     std::int64_t tokens, std::int64_t slots, float* out) {
  if (layer.owners.size() != owners_.size())
    throw std::invalid_argument("the layer's experts are divided over another number of owners");
  const mmid::Shape shape = mmid::checkedShape(layer.any().weights(clamp), x);
  if (shared != nullptr) mmid::sharedShape(*shared, x, shape);
  checkExperts(expert, tokens, slots, static_cast<std::int64_t>(layer.ownerOf.size()));
  leaders_.runEach([&](int o) {
    const auto owner = static_cast<std::size_t>(o);
    owners_[owner]->run(ex.isa, plan, options, layer.owners[owner], clamp, o == 0 ? shared : nullptr, x, expert,
                        weight, tokens, slots);
  });
  MoeTimes times;
  for (const auto& owner : owners_) {
    ex.counters.take(owner->counters);
    const auto total = [](const MoeTimes& t) { return t.gateUpNs + t.downNs + t.sharedNs; };
    if (total(owner->times) > total(times)) times = owner->times;
  }
  mmid::Stopwatch watch;
  ex.counters.add(Kernel::combine);
  const auto add = QK_PICK(ex.isa, addRow);
  const std::int64_t width = shape.hidden;
  constexpr std::int64_t tokensPerItem = 16;
  ex.pool.run((tokens + tokensPerItem - 1) / tokensPerItem, [&](std::int64_t item, int) {
    const std::int64_t last = std::min(tokens, (item + 1) * tokensPerItem);
    for (std::int64_t t = item * tokensPerItem; t < last; ++t) {
      float* const sum = out + t * width;
      std::fill(sum, sum + width, 0.0f);
      for (std::int64_t route = t * slots; route < (t + 1) * slots; ++route) {
        if (expert[route] < 0) continue;
        const auto owner = static_cast<std::size_t>(layer.ownerOf[static_cast<std::size_t>(expert[route])]);
        const std::int32_t row = owners_[owner]->routes.packedRow[static_cast<std::size_t>(route)];
        if (row >= 0) add(owners_[owner]->scratch.rows.as<float>() + row * width, width, sum);
      }
      if (shared != nullptr) add(owners_.front()->scratch.sharedRows.as<float>() + t * width, width, sum);
    }
  });
  times.combineNs = watch.lapNs();
  return times;
}

}  // namespace qk
