// Owns the module `engine.node`: what it exports and how it ends. The surface is described in
// src/engine/addon.ts.
#include <napi.h>

#include "arguments.h"
#include "engine/model_file.h"
#include "engine/quantize_model.h"
#include "engine/timings.h"
#include "engine/value_check.h"
#include "engine_object.h"
#include "environment.h"
#include "qk/isa.h"
#include "values.h"

namespace addon {
namespace {

// Progress goes to JavaScript at most this often.
constexpr double kProgressEveryMs = 50;

std::vector<std::string> cpuFeatures() {
  std::vector<std::string> found;
#ifdef __x86_64__
#define QUALIFY_CPU_FEATURE(name) \
  if (__builtin_cpu_supports(name)) found.emplace_back(name)
  QUALIFY_CPU_FEATURE("sse4.2");
  QUALIFY_CPU_FEATURE("avx");
  QUALIFY_CPU_FEATURE("avx2");
  QUALIFY_CPU_FEATURE("fma");
  QUALIFY_CPU_FEATURE("bmi2");
  QUALIFY_CPU_FEATURE("avx512f");
  QUALIFY_CPU_FEATURE("avx512bw");
  QUALIFY_CPU_FEATURE("avx512dq");
  QUALIFY_CPU_FEATURE("avx512vl");
  QUALIFY_CPU_FEATURE("avx512vnni");
  QUALIFY_CPU_FEATURE("avx512vbmi");
#undef QUALIFY_CPU_FEATURE
#endif
  return found;
}

Napi::Value cpu(const Napi::CallbackInfo& info) {
  const std::vector<std::string> found = cpuFeatures();
  Napi::Array features = Napi::Array::New(info.Env(), found.size());
  for (std::uint32_t i = 0; i < found.size(); ++i) features.Set(i, found[i]);
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("isa", std::string(qk::name(qk::bestIsa())));
  object.Set("features", features);
  return object;
}

qe::CreateOptions readCreateOptions(const Napi::CallbackInfo& info) {
  const Napi::Object given = readOptions(
      info, 0, "options", {"preset", "experts", "dense", "seed", "out", "threads", "stress", "roundTrips"});
  qe::CreateOptions options;
  options.preset = readText(given.Get("preset"), "options.preset");
  options.experts = readText(given.Get("experts"), "options.experts");
  if (!given.Get("dense").IsNull()) options.dense = readText(given.Get("dense"), "options.dense");
  options.seed = static_cast<std::uint64_t>(readInteger(given.Get("seed"), "options.seed", 0, kMostInteger));
  options.out = readText(given.Get("out"), "options.out");
  options.threads = static_cast<int>(readInteger(given.Get("threads"), "options.threads", 1, 1024));
  options.stress = readFlag(given.Get("stress"), "options.stress");
  options.roundTrips = readFlag(given.Get("roundTrips"), "options.roundTrips");
  return options;
}

// Calls a JavaScript function with (doneBytes, totalBytes). An exception of it is reported as uncaught by
// Node.
qe::Progress makeProgress(const std::shared_ptr<Dispatcher>& dispatcher, const Napi::Function& listener) {
  // The worker may hold the last copy, but a reference may only go on the JavaScript thread. At exit, where
  // no task runs any more, it goes with the environment.
  const std::shared_ptr<Napi::FunctionReference> onProgress(
      new Napi::FunctionReference(Napi::Persistent(listener)),
      [dispatcher](Napi::FunctionReference* reference) {
        dispatcher->post([reference](Napi::Env) { delete reference; });
      });
  auto lastMs = std::make_shared<double>(0);
  return [dispatcher, onProgress, lastMs](std::uint64_t doneBytes, std::uint64_t totalBytes) {
    const double nowMs = qe::wallMs();
    if (doneBytes < totalBytes && nowMs - *lastMs < kProgressEveryMs) return;
    *lastMs = nowMs;
    dispatcher->post([onProgress, doneBytes, totalBytes](Napi::Env env) {
      const Napi::HandleScope scope(env);
      onProgress->Call({Napi::Number::New(env, static_cast<double>(doneBytes)),
                        Napi::Number::New(env, static_cast<double>(totalBytes))});
    });
  };
}

Napi::Value createModel(const Napi::CallbackInfo& info) {
  const qe::CreateOptions options = readCreateOptions(info);
  const Napi::Function onProgress = readOptionalFunction(info[1], "onProgress");
  qe::Progress progress;
  if (!onProgress.IsEmpty()) {
    progress = makeProgress(Environment::of(info.Env()).dispatcher, onProgress);
  }
  return runOnce(info.Env(), [options, progress](const std::atomic<bool>& closing) -> MakeValue {
    qe::CreateOptions cancellable = options;
    cancellable.cancel = &closing;
    const qe::Created created = qe::createModel(cancellable, progress);
    return [created](Napi::Env env) -> Napi::Value {
      Napi::Object object = Napi::Object::New(env);
      object.Set("sizeBytes", static_cast<double>(created.sizeBytes));
      object.Set("tensors", static_cast<double>(created.tensors));
      return object;
    };
  });
}

qe::QuantizeOptions readQuantizeOptions(const Napi::CallbackInfo& info) {
  const Napi::Object given =
      readOptions(info, 0, "options", {"in", "out", "experts", "dense", "importance", "threads"});
  qe::QuantizeOptions options;
  options.in = readText(given.Get("in"), "options.in");
  options.out = readText(given.Get("out"), "options.out");
  options.experts = readText(given.Get("experts"), "options.experts");
  if (!given.Get("dense").IsNull()) options.dense = readText(given.Get("dense"), "options.dense");
  if (!given.Get("importance").IsNull()) {
    options.importance = readText(given.Get("importance"), "options.importance");
  }
  options.threads = static_cast<int>(readInteger(given.Get("threads"), "options.threads", 1, 1024));
  return options;
}

Napi::Value quantizeModel(const Napi::CallbackInfo& info) {
  const qe::QuantizeOptions options = readQuantizeOptions(info);
  const Napi::Function onProgress = readOptionalFunction(info[1], "onProgress");
  qe::Progress progress;
  if (!onProgress.IsEmpty()) {
    progress = makeProgress(Environment::of(info.Env()).dispatcher, onProgress);
  }
  return runOnce(info.Env(), [options, progress](const std::atomic<bool>& closing) -> MakeValue {
    qe::QuantizeOptions cancellable = options;
    cancellable.cancel = &closing;
    auto made = std::make_shared<const qe::Quantized>(qe::quantizeModel(cancellable, progress));
    return [made](Napi::Env env) { return toValue(env, *made); };
  });
}

Napi::Value inspectModel(const Napi::CallbackInfo& info) {
  const std::string path = readText(info[0], "path");
  const bool values = !info[1].IsUndefined() && readFlag(info[1], "values");
  return runOnce(info.Env(), [path, values](const std::atomic<bool>&) -> MakeValue {
    const qe::Gguf file(path);
    if (values) qe::requireFinite(file);
    auto description = std::make_shared<const qe::Description>(qe::describe(file));
    return [description](Napi::Env env) { return toValue(env, *description); };
  });
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  auto* environment =
      new Environment(env);  // owned by the environment's instance data from the next line on
  env.SetInstanceData(environment);
  environment->engineConstructor = Napi::Persistent(EngineObject::define(env));
  env.AddCleanupHook([environment] { environment->end(); });
  exports.Set("cpu", Napi::Function::New<cpu>(env, "cpu"));
  exports.Set("createModel", Napi::Function::New<createModel>(env, "createModel"));
  exports.Set("quantizeModel", Napi::Function::New<quantizeModel>(env, "quantizeModel"));
  exports.Set("inspectModel", Napi::Function::New<inspectModel>(env, "inspectModel"));
  exports.Set("open", Napi::Function::New<EngineObject::open>(env, "open"));
  return exports;
}

}  // namespace
}  // namespace addon

static Napi::Object initialiseModule(Napi::Env env, Napi::Object exports) {
  return addon::initialise(env, exports);
}
NODE_API_MODULE(engine, initialiseModule)
