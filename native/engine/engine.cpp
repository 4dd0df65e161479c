// Requests: what is checked before any work, chunked prefill, greedy decode, and what is told about them.
#include "engine.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <stdexcept>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "forward.h"
#include "prefix_cache.h"
#include "qk/argmax.h"
#include "qk/owners.h"

namespace qe {
namespace {

const Switches& useful(const Switches& switches) {
  switches.requireUse();
  return switches;
}

qk::Isa chooseIsa(const std::optional<qk::Isa>& wanted) {
  if (!wanted) return qk::bestIsa();
  if (!qk::supported(*wanted)) {
    throw std::invalid_argument("this CPU lacks " + std::string(qk::name(*wanted)) +
                                "; leave isa null to use " + std::string(qk::name(qk::bestIsa())));
  }
  return *wanted;
}

// What the prefix cache may hold: much beside a small model's sequences, little beside a large model.
std::int64_t mostCacheBytes(const Model& model) {
  constexpr std::int64_t least = std::int64_t{32} << 20;
  return std::max(least, model.fileBytes() / 16);
}

// Keeps the process at what it uses. By default the C library takes ever larger blocks from its own heap once
// one of them was freed, and does not give back what is freed inside.
void boundHeap() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

void trimHeap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Null when the experts are not divided.
std::unique_ptr<qk::Owners> makeOwners(const Switches& switches, const OpenOptions& options) {
  if (switches.owners == 1) return nullptr;
  try {
    return std::make_unique<qk::Owners>(static_cast<int>(switches.owners), options.threads, options.cpus);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("DFLASH_MOE_OWNERS=" + std::to_string(switches.owners) + ": " + error.what());
  }
}

OwnerOptions ownerOptions(const Switches& switches, const qk::Owners* owners) {
  OwnerOptions options;
  if (owners == nullptr) return options;
  options.owners = owners->count();
  options.rate = static_cast<double>(owners->threadsOf(0)) / owners->threadsOf(1);
  if (switches.expertBudgetMiB) options.budgetBytes = *switches.expertBudgetMiB << 20;
  if (switches.hotnessCsv) options.hotnessCsv = *switches.hotnessCsv;
  return options;
}

// Greedy. A logit that is no number ranks below all others: such rows are told of by `nonFiniteLogits`, so that whoever
// compares outputs learns why they are worth nothing.
std::int64_t choose(const float* row, std::int64_t width) {
  try {
    return qk::cpu::argmax(row, width);
  } catch (const std::domain_error&) {
    const auto below = [](float a, float b) { return std::isnan(a) ? !std::isnan(b) : a < b; };
    return std::max_element(row, row + width, below) - row;
  }
}

std::int64_t countNonFinite(const std::vector<float>& values) {
  return std::count_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
}

// Requests and tokens, beside the kernels' own counters.
struct Served {
  std::uint64_t prefillChunks = 0;
  std::uint64_t prefillTokens = 0;
  std::uint64_t decodeSteps = 0;
  std::uint64_t cacheHits = 0;
  std::uint64_t cacheTokens = 0;
};

}  // namespace

struct Engine::Parts {
  Parts(const std::filesystem::path& path, const OpenOptions& openOptions, const Switches& openSwitches)
      : options(openOptions),
        switches(useful(openSwitches)),
        isa(chooseIsa(openOptions.isa)),
        isaName(qk::name(isa)),
        pool(openOptions.threads, openOptions.cpus),
        owners(makeOwners(openSwitches, openOptions)),
        model(path, pool, ownerOptions(openSwitches, owners.get())),
        planted{openOptions.plantedFault},
        forward(model, switches, qk::Execution{pool, isa, kernels}, owners.get(), planted),
        cache(openOptions.cacheSlots, mostCacheBytes(model),
              [this] { return std::make_unique<State>(model.dimensions(), options.contextTokens); }) {
    pool.pinCaller();
    if (options.contextTokens < 1) throw std::invalid_argument("contextTokens must be at least 1");
    if (options.contextTokens > model.dimensions().contextLength) {
      throw std::invalid_argument("contextTokens " + std::to_string(options.contextTokens) +
                                  " is more than the " + std::to_string(model.dimensions().contextLength) +
                                  " tokens of the model");
    }
    trimHeap();
    publish();
  }

  // Makes counters and memory visible to other threads.
  void publish() {
    std::map<std::string, std::uint64_t> counted = {
        {"prefill.chunks", served.prefillChunks}, {"prefill.tokens", served.prefillTokens},
        {"decode.steps", served.decodeSteps},     {"cache.hits", served.cacheHits},
        {"cache.tokens", served.cacheTokens},
    };
    for (std::size_t i = 0; i < qk::kernelCount; ++i) {
      const auto kernel = static_cast<qk::Kernel>(i);
      counted[std::string(qk::name(kernel))] = kernels.of(kernel);
    }
    if (!planted.is(Fault::None)) counted["fault.struck"] = planted.struck;
    std::map<std::string, std::int64_t> held = {
        {"weights", model.weightBytes()}, {"cache", cache.bytes()}, {"workspace", forward.bytes()}};
    for (std::int64_t o = 0; owners != nullptr && o < owners->count(); ++o) {
      held["experts.owner" + std::to_string(o)] = model.ownedBytes(o);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    publishedCounters = std::move(counted);
    publishedMemory = std::move(held);
  }

  void prefill(State& state, const Request& request, Result& result, const std::atomic<bool>& cancelled);
  void decode(State& state, const Request& request, Result& result,
              const std::function<void(std::int32_t)>& onToken, const std::atomic<bool>& cancelled);

  const OpenOptions options;
  const Switches switches;
  const qk::Isa isa;
  const std::string isaName;
  qk::ThreadPool pool;
  const std::unique_ptr<qk::Owners> owners;
  const Model model;
  qk::Counters kernels;
  Served served;
  PlantedFault planted;
  Forward forward;
  PrefixCache cache;

  mutable std::mutex mutex;
  std::map<std::string, std::uint64_t> publishedCounters;
  std::map<std::string, std::int64_t> publishedMemory;
};

Engine::Engine(const std::filesystem::path& path, const OpenOptions& options, const Switches& switches)
    : parts_((boundHeap(), std::make_unique<Parts>(path, options, switches))) {}

Engine::~Engine() = default;

std::int64_t Engine::vocabulary() const { return parts_->model.dimensions().vocabulary; }
std::int64_t Engine::contextTokens() const { return parts_->options.contextTokens; }
int Engine::threads() const { return parts_->pool.threads(); }
const std::string& Engine::isa() const { return parts_->isaName; }
const Switches& Engine::switches() const { return parts_->switches; }
Fault Engine::plantedFault() const { return parts_->planted.fault; }
const qk::Placement& Engine::placement() const { return parts_->model.placement(); }

void Engine::check(const Request& request) const {
  if (request.tokens.empty()) throw std::invalid_argument("tokens must not be empty");
  if (request.chunk < 1) throw std::invalid_argument("chunk must be at least 1");
  if (request.generatedTokens < 0) throw std::invalid_argument("generatedTokens must not be negative");
  const auto prompt = static_cast<std::int64_t>(request.tokens.size());
  if (request.generatedTokens > contextTokens() - prompt) {
    throw std::invalid_argument(
        "tokens: a prompt of " + std::to_string(prompt) + " and " + std::to_string(request.generatedTokens) +
        " generated tokens do not fit into a context of " + std::to_string(contextTokens()));
  }
  for (std::size_t i = 0; i < request.tokens.size(); ++i) {
    if (request.tokens[i] < 0 || request.tokens[i] >= vocabulary()) {
      throw std::invalid_argument("tokens[" + std::to_string(i) + "] is " +
                                  std::to_string(request.tokens[i]) + ", outside a vocabulary of " +
                                  std::to_string(vocabulary()));
    }
  }
}

void Engine::Parts::prefill(State& state, const Request& request, Result& result,
                            const std::atomic<bool>& cancelled) {
  const auto total = static_cast<std::int64_t>(request.tokens.size());
  result.logits.resize(static_cast<std::size_t>(model.dimensions().vocabulary));
  StageClock clock;
  while (state.length() < total) {
    const std::int64_t count = std::min(request.chunk, total - state.length());
    const bool last = state.length() + count == total;
    forward.run(state, request.tokens.data() + state.length(), count,
                last ? LogitRows::Last : LogitRows::None, result.logits.data(), clock, cancelled);
    result.evaluatedTokens += count;
    ++served.prefillChunks;
    served.prefillTokens += static_cast<std::uint64_t>(count);
  }
  clock.stop();
  result.stages = clock.ms();
}

void Engine::Parts::decode(State& state, const Request& request, Result& result,
                           const std::function<void(std::int32_t)>& onToken,
                           const std::atomic<bool>& cancelled) {
  const auto width = static_cast<std::size_t>(model.dimensions().vocabulary);
  StageClock clock;
  for (std::int64_t step = 0; step < request.generatedTokens; ++step) {
    if (step > 0) {
      result.logits.resize(result.logits.size() + width);
      float* row = result.logits.data() + result.logits.size() - width;
      try {
        forward.run(state, &result.tokens.back(), 1, LogitRows::Last, row, clock, cancelled);
      } catch (const Cancelled&) {
        result.logits.resize(result.logits.size() - width);
        throw;
      }
      ++served.decodeSteps;
    }
    const float* row = result.logits.data() + result.logits.size() - width;
    const auto token = static_cast<std::int32_t>(choose(row, static_cast<std::int64_t>(width)));
    result.tokens.push_back(token);
    if (onToken) onToken(token);
    if (std::find(request.stopTokens.begin(), request.stopTokens.end(), token) != request.stopTokens.end()) {
      result.stopReason = StopReason::Stop;
      return;
    }
  }
}

Result Engine::complete(const Request& request, const std::function<void(std::int32_t)>& onToken,
                        const std::atomic<bool>& cancelled, const Stopwatch& arrived) {
  check(request);
  Result result;
  if (cancelled) {
    result.stopReason = StopReason::Cancelled;
    return result;
  }
  State& state = parts_->cache.acquire(request.tokens, request.reuseCache);
  result.cacheTokens = state.length();
  if (result.cacheTokens > 0) {
    ++parts_->served.cacheHits;
    parts_->served.cacheTokens += static_cast<std::uint64_t>(result.cacheTokens);
  }
  try {
    parts_->prefill(state, request, result, cancelled);
    result.promptMs = arrived.ms();
    result.promptCpuMs = arrived.cpuMs();
  } catch (const Cancelled&) {
    result.promptMs = arrived.ms();
    result.promptCpuMs = arrived.cpuMs();
    result.logits.clear();
    result.stopReason = StopReason::Cancelled;
  }
  if (result.stopReason != StopReason::Cancelled) {
    const Stopwatch predicted;
    try {
      parts_->decode(state, request, result, onToken, cancelled);
    } catch (const Cancelled&) {
      result.stopReason = StopReason::Cancelled;
    }
    result.predictedMs = predicted.ms();
    result.predictedCpuMs = predicted.cpuMs();
  }
  result.nonFiniteLogits = countNonFinite(result.logits);
  parts_->publish();
  return result;
}

std::vector<float> Engine::logits(const std::vector<std::int32_t>& tokens, std::int64_t chunk,
                                  const std::atomic<bool>& cancelled) {
  Request request;
  request.tokens = tokens;
  request.chunk = chunk;
  check(request);
  State state(parts_->model.dimensions(), static_cast<std::int64_t>(tokens.size()));
  std::vector<float> rows(tokens.size() * static_cast<std::size_t>(vocabulary()));
  StageClock clock;
  while (state.length() < static_cast<std::int64_t>(tokens.size())) {
    const std::int64_t count = std::min(chunk, static_cast<std::int64_t>(tokens.size()) - state.length());
    parts_->forward.run(state, tokens.data() + state.length(), count, LogitRows::All,
                        rows.data() + state.length() * vocabulary(), clock, cancelled);
  }
  parts_->publish();
  return rows;
}

std::vector<double> Engine::referenceLogits(const std::vector<std::int32_t>& tokens) {
  Request request;
  request.tokens = tokens;
  check(request);
  return qk::reference::Model(parts_->model.dimensions(), parts_->model.referenceWeights()).forward(tokens);
}

std::map<std::string, std::uint64_t> Engine::counters() const {
  const std::lock_guard<std::mutex> lock(parts_->mutex);
  return parts_->publishedCounters;
}

std::map<std::string, std::int64_t> Engine::memory() const {
  const std::lock_guard<std::mutex> lock(parts_->mutex);
  return parts_->publishedMemory;
}

}  // namespace qe
