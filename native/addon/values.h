// Owns the way of the engine's values into JavaScript. Numbers that a JavaScript number cannot hold become
// text.
#pragma once

#include <napi.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/model_file.h"
#include "engine/quantize_model.h"

namespace addon {

Napi::Value toValue(Napi::Env env, const qe::Result& result);
Napi::Value toValue(Napi::Env env, const qe::Description& description);
Napi::Value toValue(Napi::Env env, const qe::Quantized& made);
Napi::Value toValue(Napi::Env env, const std::vector<float>& values);
Napi::Value toValue(Napi::Env env, const std::vector<double>& values);
Napi::Value toValue(Napi::Env env, const std::map<std::string, std::string>& record);
Napi::Value toValue(Napi::Env env, const std::map<std::string, double>& record);
Napi::Value toValue(Napi::Env env, const std::map<std::string, std::uint64_t>& record);
Napi::Value toValue(Napi::Env env, const std::map<std::string, std::int64_t>& record);

}  // namespace addon
