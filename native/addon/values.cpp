#include "values.h"

#include <cstring>
#include <type_traits>

#include "arguments.h"

namespace addon {
namespace {

template <typename Array, typename T>
Array copyArray(Napi::Env env, const std::vector<T>& values) {
  auto array = Array::New(env, values.size());
  if (!values.empty()) std::memcpy(array.Data(), values.data(), values.size() * sizeof(T));
  return array;
}

template <typename T>
Napi::Value toRecord(Napi::Env env, const std::map<std::string, T>& record) {
  Napi::Object object = Napi::Object::New(env);
  for (const auto& [key, value] : record)
    object.Set(key, Napi::Number::New(env, static_cast<double>(value)));
  return object;
}

Napi::Value scalarValue(Napi::Env env, const qe::Scalar& scalar) {
  return std::visit(
      [env](const auto& value) -> Napi::Value {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) return Napi::Boolean::New(env, value);
        if constexpr (std::is_same_v<T, std::string>) return Napi::String::New(env, value);
        if constexpr (std::is_same_v<T, double>) return Napi::Number::New(env, value);
        if constexpr (std::is_same_v<T, std::int64_t>) {
          if (value > kMostInteger || value < -kMostInteger)
            return Napi::String::New(env, std::to_string(value));
          return Napi::Number::New(env, static_cast<double>(value));
        }
      },
      scalar);
}

Napi::Value entryValue(Napi::Env env, const qe::MetadataEntry& entry) {
  if (!entry.isArray) return scalarValue(env, entry.values.front());
  Napi::Array array = Napi::Array::New(env, entry.values.size());
  for (std::uint32_t i = 0; i < entry.values.size(); ++i) array.Set(i, scalarValue(env, entry.values[i]));
  return array;
}

Napi::Object tensorValue(Napi::Env env, const qe::TensorDescription& tensor) {
  Napi::Array dimensions = Napi::Array::New(env, tensor.dims.size());
  for (std::uint32_t i = 0; i < tensor.dims.size(); ++i) {
    dimensions.Set(i, Napi::Number::New(env, static_cast<double>(tensor.dims[i])));
  }
  Napi::Object object = Napi::Object::New(env);
  object.Set("name", tensor.name);
  object.Set("type", tensor.type);
  object.Set("dimensions", dimensions);
  object.Set("offsetBytes", static_cast<double>(tensor.offsetBytes));
  object.Set("sizeBytes", static_cast<double>(tensor.sizeBytes));
  return object;
}

const char* stopReasonName(qe::StopReason reason) {
  switch (reason) {
    case qe::StopReason::Limit: return "limit";
    case qe::StopReason::Stop: return "stop";
    case qe::StopReason::Cancelled: return "cancelled";
  }
  return "cancelled";
}

}  // namespace

Napi::Value toValue(Napi::Env env, const std::vector<float>& values) {
  return copyArray<Napi::Float32Array>(env, values);
}

Napi::Value toValue(Napi::Env env, const std::vector<double>& values) {
  return copyArray<Napi::Float64Array>(env, values);
}

Napi::Value toValue(Napi::Env env, const std::map<std::string, double>& record) {
  return toRecord(env, record);
}
Napi::Value toValue(Napi::Env env, const std::map<std::string, std::uint64_t>& record) {
  return toRecord(env, record);
}
Napi::Value toValue(Napi::Env env, const std::map<std::string, std::int64_t>& record) {
  return toRecord(env, record);
}

Napi::Value toValue(Napi::Env env, const std::map<std::string, std::string>& record) {
  Napi::Object object = Napi::Object::New(env);
  for (const auto& [key, value] : record) object.Set(key, value);
  return object;
}

Napi::Value toValue(Napi::Env env, const qe::Result& result) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("cacheN", static_cast<double>(result.cacheTokens));
  object.Set("promptN", static_cast<double>(result.evaluatedTokens));
  object.Set("promptMs", result.promptMs);
  object.Set("promptCpuMs", result.promptCpuMs);
  object.Set("predictedMs", result.predictedMs);
  object.Set("predictedCpuMs", result.predictedCpuMs);
  object.Set("tokens", copyArray<Napi::Int32Array>(env, result.tokens));
  object.Set("logits", toValue(env, result.logits));
  object.Set("nonFiniteLogits", static_cast<double>(result.nonFiniteLogits));
  object.Set("stages", toValue(env, result.stages));
  object.Set("stopReason", stopReasonName(result.stopReason));
  return object;
}

Napi::Value toValue(Napi::Env env, const qe::Description& description) {
  Napi::Object metadata = Napi::Object::New(env);
  for (const qe::MetadataEntry& entry : description.metadata)
    metadata.Set(entry.key, entryValue(env, entry));
  Napi::Array tensors = Napi::Array::New(env, description.tensors.size());
  for (std::uint32_t i = 0; i < description.tensors.size(); ++i) {
    tensors.Set(i, tensorValue(env, description.tensors[i]));
  }
  Napi::Object object = Napi::Object::New(env);
  object.Set("sizeBytes", static_cast<double>(description.sizeBytes));
  object.Set("alignment", static_cast<double>(description.alignment));
  object.Set("metadata", metadata);
  object.Set("tensors", tensors);
  return object;
}

Napi::Value toValue(Napi::Env env, const qe::Quantized& made) {
  Napi::Array quantized = Napi::Array::New(env, made.quantized.size());
  for (std::uint32_t i = 0; i < made.quantized.size(); ++i) {
    const qe::QuantizedTensor& tensor = made.quantized[i];
    Napi::Object object = Napi::Object::New(env);
    object.Set("name", tensor.name);
    object.Set("from", tensor.from);
    object.Set("to", tensor.to);
    object.Set("fromBytes", static_cast<double>(tensor.fromBytes));
    object.Set("toBytes", static_cast<double>(tensor.toBytes));
    object.Set("nmse", tensor.nmse);
    object.Set("weighted", tensor.weighted);
    quantized.Set(i, object);
  }
  Napi::Object object = Napi::Object::New(env);
  object.Set("sizeBytes", static_cast<double>(made.sizeBytes));
  object.Set("tensors", static_cast<double>(made.tensors));
  object.Set("quantized", quantized);
  return object;
}

}  // namespace addon
