#include "environment.h"

#include <exception>
#include <stdexcept>
#include <string>

namespace addon {

Worker& Workers::make() { return *workers_.emplace_back(std::make_unique<Worker>()); }

void Workers::end(const Worker* worker) {
  std::erase_if(workers_, [&](const std::unique_ptr<Worker>& held) { return held.get() == worker; });
}

void Environment::end() {
  workers->endAll();
  dispatcher->shut();
}

MakeValue failure(const std::exception& error) {
  const bool asked = dynamic_cast<const std::invalid_argument*>(&error) != nullptr;
  return [message = std::string(error.what()), asked](Napi::Env env) -> Napi::Value {
    const Napi::Error thrown = Napi::Error::New(env, message);
    if (asked) thrown.Set("code", Napi::String::New(env, "ERR_INVALID_ARG_VALUE"));
    throw thrown;
  };
}

void settle(Napi::Env env, const Napi::Promise::Deferred& deferred, const MakeValue& make) {
  const Napi::HandleScope scope(env);
  try {
    deferred.Resolve(make(env));
  } catch (const Napi::Error& error) {
    deferred.Reject(error.Value());
  } catch (const std::exception& error) {
    deferred.Reject(Napi::Error::New(env, error.what()).Value());
  }
}

Napi::Promise runOnce(Napi::Env env, std::function<MakeValue(const std::atomic<bool>&)> work) {
  const Environment& environment = Environment::of(env);
  const std::shared_ptr<Dispatcher> dispatcher = environment.dispatcher;
  const std::shared_ptr<Workers> workers = environment.workers;
  const auto deferred = Napi::Promise::Deferred::New(env);
  Worker* worker = &workers->make();
  dispatcher->hold(env);
  worker->submit([work = std::move(work), dispatcher, workers, worker, deferred] {
    MakeValue make;
    try {
      make = work(worker->closing());
    } catch (const std::exception& error) {
      make = failure(error);
    }
    dispatcher->post([make = std::move(make), dispatcher, workers, worker, deferred](Napi::Env jsEnv) {
      workers->end(worker);
      dispatcher->letGo(jsEnv);
      settle(jsEnv, deferred, make);
    });
  });
  return deferred.Promise();
}

}  // namespace addon
