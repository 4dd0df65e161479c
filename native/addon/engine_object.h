// Owns the JavaScript object of one open engine: its requests in flight and the thread that computes them.
#pragma once

#include <napi.h>

#include <atomic>
#include <map>
#include <memory>

#include "engine/engine.h"
#include "environment.h"

namespace addon {

// What `open` made on the worker's thread.
struct OpenedEngine {
  std::shared_ptr<qe::Engine> engine;
  Worker* worker = nullptr;
};

class EngineObject : public Napi::ObjectWrap<EngineObject> {
 public:
  static Napi::Function define(Napi::Env env);
  // open(path, options): Promise<NativeEngine>
  static Napi::Value open(const Napi::CallbackInfo& info);

  explicit EngineObject(const Napi::CallbackInfo& info);
  ~EngineObject() override;

 private:
  struct Pending {
    Napi::Promise::Deferred deferred;
    Napi::FunctionReference onToken;
    std::shared_ptr<std::atomic<bool>> cancelled;
    std::unique_ptr<Napi::Error> thrown;  // by onToken; rejects the promise
  };

  Napi::Value complete(const Napi::CallbackInfo& info);
  Napi::Value logits(const Napi::CallbackInfo& info);
  void cancel(const Napi::CallbackInfo& info);
  Napi::Value counters(const Napi::CallbackInfo& info);
  Napi::Value memory(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);
  Napi::Value readVocabulary(const Napi::CallbackInfo& info);
  Napi::Value readContextTokens(const Napi::CallbackInfo& info);
  Napi::Value readIsa(const Napi::CallbackInfo& info);
  Napi::Value readThreads(const Napi::CallbackInfo& info);
  Napi::Value readSwitches(const Napi::CallbackInfo& info);
  Napi::Value readPlantedFault(const Napi::CallbackInfo& info);

  void requireOpen(Napi::Env env) const;
  // While something is pending, neither this object nor the event loop goes away.
  std::pair<std::int64_t, Pending&> begin(Napi::Env env);
  void finish(Napi::Env env, std::int64_t id, const MakeValue& make);
  void giveToken(Napi::Env env, std::int64_t id, std::int32_t token);
  void endWorker();

  std::shared_ptr<Dispatcher> dispatcher_;
  std::shared_ptr<Workers> workers_;
  std::shared_ptr<qe::Engine> engine_;
  Worker* worker_ = nullptr;  // null when closed
  std::map<std::int64_t, Pending> pending_;
  std::int64_t nextId_ = 1;
};

}  // namespace addon
