// The life of an engine object. Everything here runs on the JavaScript thread, except the jobs given to the
// worker.
#include "engine_object.h"

#include <exception>

#include "arguments.h"
#include "values.h"

namespace addon {
namespace {

constexpr int kMostThreads = 1024;
constexpr std::int64_t kMostContext = 1 << 24;
constexpr int kMostSlots = 1024;

qe::OpenOptions readOpenOptions(const Napi::CallbackInfo& info) {
  const Napi::Object given =
      readOptions(info, 1, "options", {"threads", "cpus", "contextTokens", "cacheSlots", "isa", "plantedFault"});
  qe::OpenOptions options;
  options.threads = static_cast<int>(readInteger(given.Get("threads"), "options.threads", 1, kMostThreads));
  if (!given.Get("cpus").IsNull()) {
    for (const std::int64_t cpu : readIntegers(given.Get("cpus"), "options.cpus", 0, kMostThreads * 8)) {
      options.cpus.push_back(static_cast<int>(cpu));
    }
  }
  options.contextTokens = readInteger(given.Get("contextTokens"), "options.contextTokens", 1, kMostContext);
  options.cacheSlots =
      static_cast<int>(readInteger(given.Get("cacheSlots"), "options.cacheSlots", 0, kMostSlots));
  if (given.Has("plantedFault")) {
    const std::string fault = readText(given.Get("plantedFault"), "options.plantedFault");
    try {
      options.plantedFault = qe::faultNamed(fault);
    } catch (const std::invalid_argument& error) {
      throw Napi::RangeError::New(info.Env(), std::string("options.plantedFault: ") + error.what());
    }
  }
  if (given.Get("isa").IsNull()) return options;
  const std::string isa = readText(given.Get("isa"), "options.isa");
  for (const qk::Isa candidate : {qk::Isa::portable, qk::Isa::avx2, qk::Isa::avx512}) {
    if (isa == qk::name(candidate)) options.isa = candidate;
  }
  if (!options.isa) {
    throw Napi::TypeError::New(info.Env(),
                               "options.isa must be avx512, avx2, portable or null, got \"" + isa + "\"");
  }
  return options;
}

qe::Request readRequest(const Napi::CallbackInfo& info) {
  const Napi::Object given =
      readOptions(info, 0, "request", {"tokens", "generatedTokens", "chunk", "reuseCache", "stopTokens"});
  qe::Request request;
  request.tokens = readTokenArray(given.Get("tokens"), "request.tokens");
  request.generatedTokens =
      readInteger(given.Get("generatedTokens"), "request.generatedTokens", 0, kMostContext);
  request.chunk = readInteger(given.Get("chunk"), "request.chunk", 1, kMostContext);
  request.reuseCache = readFlag(given.Get("reuseCache"), "request.reuseCache");
  for (const std::int64_t token :
       readIntegers(given.Get("stopTokens"), "request.stopTokens", 0, INT32_MAX)) {
    request.stopTokens.push_back(static_cast<std::int32_t>(token));
  }
  return request;
}

// Runs on the worker; what it returns runs on the JavaScript thread.
template <typename Compute>
MakeValue attempt(const Compute& compute) {
  try {
    return compute();
  } catch (const std::exception& error) {
    return failure(error);
  }
}

}  // namespace

Napi::Function EngineObject::define(Napi::Env env) {
  using Self = EngineObject;
  return DefineClass(env, "NativeEngine",
                     {
                         InstanceAccessor<&Self::readVocabulary>("vocabulary", napi_enumerable),
                         InstanceAccessor<&Self::readContextTokens>("contextTokens", napi_enumerable),
                         InstanceAccessor<&Self::readIsa>("isa", napi_enumerable),
                         InstanceAccessor<&Self::readThreads>("threads", napi_enumerable),
                         InstanceAccessor<&Self::readSwitches>("switches", napi_enumerable),
                         InstanceAccessor<&Self::readPlantedFault>("plantedFault", napi_enumerable),
                         InstanceMethod<&Self::complete>("complete"),
                         InstanceMethod<&Self::cancel>("cancel"),
                         InstanceMethod<&Self::counters>("counters"),
                         InstanceMethod<&Self::logits>("logits"),
                         InstanceMethod<&Self::memory>("memory"),
                         InstanceMethod<&Self::close>("close"),
                     });
}

Napi::Value EngineObject::open(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string path = readText(info[0], "path");
  const qe::OpenOptions options = readOpenOptions(info);
  const Environment& environment = Environment::of(env);
  const std::shared_ptr<Dispatcher> dispatcher = environment.dispatcher;
  const std::shared_ptr<Workers> workers = environment.workers;
  const auto deferred = Napi::Promise::Deferred::New(env);
  Worker* worker = &workers->make();
  dispatcher->hold(env);
  worker->submit([path, options, dispatcher, workers, worker, deferred] {
    auto opened = std::make_shared<OpenedEngine>();
    const MakeValue make = attempt([&]() -> MakeValue {
      *opened = {std::make_shared<qe::Engine>(path, options, qe::Switches::fromEnvironment()), worker};
      return [opened](Napi::Env jsEnv) -> Napi::Value {
        return Environment::of(jsEnv).engineConstructor.New(
            {Napi::External<OpenedEngine>::New(jsEnv, opened.get())});
      };
    });
    dispatcher->post([make, opened, dispatcher, workers, worker, deferred](Napi::Env jsEnv) {
      dispatcher->letGo(jsEnv);
      if (opened->engine == nullptr) workers->end(worker);
      settle(jsEnv, deferred, make);
    });
  });
  return deferred.Promise();
}

EngineObject::EngineObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<EngineObject>(info),
      dispatcher_(Environment::of(info.Env()).dispatcher),
      workers_(Environment::of(info.Env()).workers) {
  if (!info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "engines are made by open()");
  const OpenedEngine& opened = *info[0].As<Napi::External<OpenedEngine>>().Data();
  engine_ = opened.engine;
  worker_ = opened.worker;
}

EngineObject::~EngineObject() { endWorker(); }

void EngineObject::endWorker() {
  for (auto& [id, pending] : pending_) *pending.cancelled = true;
  if (worker_ != nullptr) workers_->end(worker_);
  worker_ = nullptr;
}

void EngineObject::close(const Napi::CallbackInfo&) { endWorker(); }

void EngineObject::requireOpen(Napi::Env env) const {
  if (worker_ == nullptr) throw Napi::Error::New(env, "the engine is closed");
}

std::pair<std::int64_t, EngineObject::Pending&> EngineObject::begin(Napi::Env env) {
  if (pending_.empty()) Ref();
  dispatcher_->hold(env);
  const std::int64_t id = nextId_++;
  const auto [entry, inserted] = pending_.try_emplace(
      id,
      Pending{Napi::Promise::Deferred::New(env), {}, std::make_shared<std::atomic<bool>>(false), nullptr});
  return {id, entry->second};
}

void EngineObject::finish(Napi::Env env, std::int64_t id, const MakeValue& make) {
  const auto entry = pending_.find(id);
  const Pending pending = std::move(entry->second);
  pending_.erase(entry);
  dispatcher_->letGo(env);
  settle(env, pending.deferred, [&](Napi::Env jsEnv) -> Napi::Value {
    if (pending.thrown != nullptr) throw *pending.thrown;
    return make(jsEnv);
  });
  if (pending_.empty()) Unref();
}

void EngineObject::giveToken(Napi::Env env, std::int64_t id, std::int32_t token) {
  Pending& pending = pending_.at(id);
  if (pending.thrown != nullptr) return;
  const Napi::HandleScope scope(env);
  try {
    pending.onToken.Call({Napi::Number::New(env, token)});
  } catch (const Napi::Error& error) {
    pending.thrown = std::make_unique<Napi::Error>(error);
    *pending.cancelled = true;
  }
}

Napi::Value EngineObject::complete(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const qe::Stopwatch arrived;
  requireOpen(env);
  auto request = std::make_shared<const qe::Request>(readRequest(info));
  const Napi::Function onToken = readOptionalFunction(info[1], "onToken");
  try {
    engine_->check(*request);
  } catch (const std::exception& error) {
    throw Napi::RangeError::New(env, error.what());
  }
  const auto [id, pending] = begin(env);
  if (!onToken.IsEmpty()) pending.onToken = Napi::Persistent(onToken);
  const bool wantsTokens = !onToken.IsEmpty();
  // Waking the worker is part of the prefill; waiting for an earlier request is not.
  const bool waits = pending_.size() > 1;
  worker_->submit([this, request, wantsTokens, arrived, waits, id = id, engine = engine_, dispatcher = dispatcher_,
                   cancelled = pending.cancelled] {
    std::function<void(std::int32_t)> give;
    if (wantsTokens) {
      give = [&](std::int32_t token) {
        dispatcher->post([this, id, token](Napi::Env jsEnv) { giveToken(jsEnv, id, token); });
      };
    }
    const MakeValue make = attempt([&]() -> MakeValue {
      auto result = std::make_shared<const qe::Result>(
          engine->complete(*request, give, *cancelled, waits ? qe::Stopwatch() : arrived));
      return [result](Napi::Env jsEnv) { return toValue(jsEnv, *result); };
    });
    dispatcher->post([this, id, make](Napi::Env jsEnv) { finish(jsEnv, id, make); });
  });
  Napi::Object answer = Napi::Object::New(env);
  answer.Set("id", Napi::Number::New(env, static_cast<double>(id)));
  answer.Set("result", pending.deferred.Promise());
  return answer;
}

Napi::Value EngineObject::logits(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  requireOpen(env);
  qe::Request request;
  request.tokens = readTokenArray(info[0], "tokens");
  const Napi::Object given = readOptions(info, 1, "options", {"chunk", "reference"});
  request.chunk = readInteger(given.Get("chunk"), "options.chunk", 1, kMostContext);
  const bool reference = readFlag(given.Get("reference"), "options.reference");
  try {
    engine_->check(request);
  } catch (const std::exception& error) {
    throw Napi::RangeError::New(env, error.what());
  }
  const auto [id, pending] = begin(env);
  worker_->submit([this, request, reference, id = id, engine = engine_, dispatcher = dispatcher_,
                   cancelled = pending.cancelled] {
    const MakeValue make = attempt([&]() -> MakeValue {
      if (reference) {
        auto rows = std::make_shared<const std::vector<double>>(engine->referenceLogits(request.tokens));
        return [rows](Napi::Env jsEnv) { return toValue(jsEnv, *rows); };
      }
      auto rows = std::make_shared<const std::vector<float>>(
          engine->logits(request.tokens, request.chunk, *cancelled));
      return [rows](Napi::Env jsEnv) { return toValue(jsEnv, *rows); };
    });
    dispatcher->post([this, id, make](Napi::Env jsEnv) { finish(jsEnv, id, make); });
  });
  return pending.deferred.Promise();
}

void EngineObject::cancel(const Napi::CallbackInfo& info) {
  const auto entry = pending_.find(readInteger(info[0], "id", 0, kMostInteger));
  if (entry != pending_.end()) *entry->second.cancelled = true;
}

Napi::Value EngineObject::counters(const Napi::CallbackInfo& info) {
  return toValue(info.Env(), engine_->counters());
}

Napi::Value EngineObject::memory(const Napi::CallbackInfo& info) {
  return toValue(info.Env(), engine_->memory());
}

Napi::Value EngineObject::readVocabulary(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(engine_->vocabulary()));
}

Napi::Value EngineObject::readContextTokens(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(engine_->contextTokens()));
}

Napi::Value EngineObject::readIsa(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), engine_->isa());
}

Napi::Value EngineObject::readThreads(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), engine_->threads());
}

Napi::Value EngineObject::readSwitches(const Napi::CallbackInfo& info) {
  return toValue(info.Env(), engine_->switches().effective());
}

Napi::Value EngineObject::readPlantedFault(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), std::string(qe::faultName(engine_->plantedFault())));
}

}  // namespace addon
