// Owns the escaping and the formats of numbers.
#include "json_line.h"

#include <cmath>
#include <cstdio>

namespace suite {
namespace {

void appendQuoted(std::string& out, std::string_view value) {
  out += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

void JsonLine::key(std::string_view name) {
  if (out_.size() > 1) out_ += ',';
  appendQuoted(out_, name);
  out_ += ':';
}

JsonLine& JsonLine::text(std::string_view name, std::string_view value) {
  key(name);
  appendQuoted(out_, value);
  return *this;
}

JsonLine& JsonLine::number(std::string_view name, double value) {
  key(name);
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  out_ += std::isfinite(value) ? digits : "null";
  return *this;
}

JsonLine& JsonLine::integer(std::string_view name, std::int64_t value) {
  key(name);
  out_ += std::to_string(value);
  return *this;
}

JsonLine& JsonLine::flag(std::string_view name, bool value) {
  key(name);
  out_ += value ? "true" : "false";
  return *this;
}

void JsonLine::print() {
  std::printf("%s}\n", out_.c_str());
  std::fflush(stdout);
}

}  // namespace suite
