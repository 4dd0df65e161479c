// Owns the reading of arguments from JavaScript: everything wrong with one is a TypeError that names the
// field.
#pragma once

#include <napi.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace addon {

// Largest whole number that a JavaScript number holds exactly.
constexpr std::int64_t kMostInteger = 9007199254740991;

// An argument that is an object and has no field besides `fields`; a misspelt option throws.
Napi::Object readOptions(const Napi::CallbackInfo& info, std::size_t index, const char* name,
                         std::initializer_list<const char*> fields);

std::string readText(const Napi::Value& value, const std::string& field);
bool readFlag(const Napi::Value& value, const std::string& field);
std::int64_t readInteger(const Napi::Value& value, const std::string& field, std::int64_t least,
                         std::int64_t most);
std::vector<std::int32_t> readTokenArray(const Napi::Value& value, const std::string& field);  // Int32Array
std::vector<std::int64_t> readIntegers(const Napi::Value& value, const std::string& field,
                                       std::int64_t least, std::int64_t most);
// Null and undefined give an empty function.
Napi::Function readOptionalFunction(const Napi::Value& value, const std::string& field);

}  // namespace addon
