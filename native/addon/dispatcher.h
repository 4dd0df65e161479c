// Owns the way from any thread back to the JavaScript thread of one environment.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>

namespace addon {

class Dispatcher {
 public:
  using Task = std::function<void(Napi::Env)>;

  explicit Dispatcher(Napi::Env env);

  // Runs a task on the JavaScript thread, in the order of the calls of a thread. Dropped after shut. Any
  // thread.
  void post(Task task);

  // JavaScript thread only. The event loop stays alive while something is held.
  void hold(Napi::Env env);
  void letGo(Napi::Env env);
  // No task runs after this.
  void shut();

 private:
  static void call(Napi::Env env, Napi::Function callback, std::nullptr_t* context, Task* task);
  using Channel = Napi::TypedThreadSafeFunction<std::nullptr_t, Task, &Dispatcher::call>;

  std::mutex mutex_;
  bool open_ = true;
  int held_ = 0;
  Channel channel_;
};

}  // namespace addon
