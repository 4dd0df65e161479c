// Owns what belongs to one JavaScript environment: the way back to its thread, and the workers that must end
// with it.
#pragma once

#include <napi.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dispatcher.h"
#include "worker.h"

namespace addon {

// JavaScript thread only.
class Workers {
 public:
  Worker& make();
  // Closes and forgets a worker; nothing happens when it is gone already.
  void end(const Worker* worker);
  void endAll() { workers_.clear(); }

 private:
  std::vector<std::unique_ptr<Worker>> workers_;
};

struct Environment {
  explicit Environment(Napi::Env env) : dispatcher(std::make_shared<Dispatcher>(env)) {}
  static Environment& of(Napi::Env env) { return *env.GetInstanceData<Environment>(); }
  // Runs when the environment ends, before the dispatcher's channel goes.
  void end();

  std::shared_ptr<Dispatcher> dispatcher;
  std::shared_ptr<Workers> workers = std::make_shared<Workers>();
  Napi::FunctionReference engineConstructor;
};

// Makes a promise's value on the JavaScript thread; an exception of it rejects the promise.
using MakeValue = std::function<Napi::Value(Napi::Env)>;

// A MakeValue that throws an Error with this message; its code is ERR_INVALID_ARG_VALUE when what was asked for is
// wrong (std::invalid_argument).
MakeValue failure(const std::exception& error);
void settle(Napi::Env env, const Napi::Promise::Deferred& deferred, const MakeValue& make);

// Runs `work` on a thread of its own; an exception rejects the promise with its message. `work` should end
// early when the flag that it is given becomes true.
Napi::Promise runOnce(Napi::Env env, std::function<MakeValue(const std::atomic<bool>& closing)> work);

}  // namespace addon
