// Every refusal says which field, what is allowed and what was found.
#include "arguments.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace addon {
namespace {

std::string found(const Napi::Value& value) {
  if (value.IsUndefined()) return "nothing";
  if (value.IsNumber() || value.IsBoolean() || value.IsNull()) return value.ToString().Utf8Value();
  if (value.IsString()) return std::string("\"").append(value.As<Napi::String>().Utf8Value()).append("\"");
  return value.IsArray()      ? "an array"
         : value.IsFunction() ? "a function"
         : value.IsObject()   ? "an object"
                              : "something else";
}

[[noreturn]] void refuse(const Napi::Value& value, const std::string& field, const std::string& wanted) {
  throw Napi::TypeError::New(value.Env(), field + " must be " + wanted + ", got " + found(value));
}

}  // namespace

Napi::Object readOptions(const Napi::CallbackInfo& info, std::size_t index, const char* name,
                         std::initializer_list<const char*> fields) {
  const Napi::Value value = info[index];
  if (!value.IsObject() || value.IsArray() || value.IsFunction()) refuse(value, name, "an object");
  const auto object = value.As<Napi::Object>();
  const Napi::Array names = object.GetPropertyNames();
  for (std::uint32_t i = 0; i < names.Length(); ++i) {
    const std::string given = names.Get(i).ToString().Utf8Value();
    const bool known =
        std::any_of(fields.begin(), fields.end(), [&](const char* field) { return given == field; });
    if (!known)
      throw Napi::TypeError::New(info.Env(), std::string(name) + "." + given + " is not an option");
  }
  return object;
}

std::string readText(const Napi::Value& value, const std::string& field) {
  if (!value.IsString()) refuse(value, field, "a string");
  std::string text = value.As<Napi::String>().Utf8Value();
  if (text.empty() || text.find('\0') != std::string::npos)
    refuse(value, field, "a string that is not empty and has no NUL");
  return text;
}

bool readFlag(const Napi::Value& value, const std::string& field) {
  if (!value.IsBoolean()) refuse(value, field, "true or false");
  return value.As<Napi::Boolean>().Value();
}

std::int64_t readInteger(const Napi::Value& value, const std::string& field, std::int64_t least,
                         std::int64_t most) {
  const std::string wanted = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!value.IsNumber()) refuse(value, field, wanted);
  const double number = value.As<Napi::Number>().DoubleValue();
  const bool inside = number >= static_cast<double>(least) && number <= static_cast<double>(most);
  if (!inside || number != std::floor(number)) refuse(value, field, wanted);
  return static_cast<std::int64_t>(number);
}

std::vector<std::int32_t> readTokenArray(const Napi::Value& value, const std::string& field) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_int32_array) {
    refuse(value, field, "an Int32Array");
  }
  const auto array = value.As<Napi::Int32Array>();
  std::vector<std::int32_t> tokens(array.ElementLength());
  if (!tokens.empty()) std::memcpy(tokens.data(), array.Data(), tokens.size() * sizeof(std::int32_t));
  return tokens;
}

std::vector<std::int64_t> readIntegers(const Napi::Value& value, const std::string& field,
                                       std::int64_t least, std::int64_t most) {
  if (!value.IsArray()) refuse(value, field, "an array of whole numbers");
  const auto array = value.As<Napi::Array>();
  std::vector<std::int64_t> numbers;
  for (std::uint32_t i = 0; i < array.Length(); ++i) {
    numbers.push_back(readInteger(array.Get(i), field + "[" + std::to_string(i) + "]", least, most));
  }
  return numbers;
}

Napi::Function readOptionalFunction(const Napi::Value& value, const std::string& field) {
  if (value.IsNull() || value.IsUndefined()) return {};
  if (!value.IsFunction()) refuse(value, field, "a function or null");
  return value.As<Napi::Function>();
}

}  // namespace addon
