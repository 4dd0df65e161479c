#include "dispatcher.h"

namespace addon {

Dispatcher::Dispatcher(Napi::Env env) : channel_(Channel::New(env, "qualify engine", 0, 1)) {
  channel_.Unref(env);
}

void Dispatcher::post(Task task) {
  auto owned = std::make_unique<Task>(std::move(task));
  // The lock keeps the channel from being torn down between the look at `open_` and the call.
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_ && channel_.NonBlockingCall(owned.get()) == napi_ok) owned.release();
}

void Dispatcher::hold(Napi::Env env) {
  if (held_++ == 0) channel_.Ref(env);
}

void Dispatcher::letGo(Napi::Env env) {
  if (--held_ == 0) channel_.Unref(env);
}

void Dispatcher::shut() {
  const std::lock_guard<std::mutex> lock(mutex_);
  open_ = false;
}

void Dispatcher::call(Napi::Env env, Napi::Function, std::nullptr_t*, Task* task) {
  const std::unique_ptr<Task> owned(task);
  // A null environment means that the channel is being emptied at exit.
  if (static_cast<napi_env>(env) != nullptr) (*owned)(env);
}

}  // namespace addon
