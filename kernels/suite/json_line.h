// Owns the writing of one JSON object on one line: what the suite tells its caller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace suite {

// Keys in the order of the calls. A number that is not finite becomes null.
class JsonLine {
 public:
  explicit JsonLine(std::string_view type) { text("type", type); }
  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& number(std::string_view key, double value);
  JsonLine& integer(std::string_view key, std::int64_t value);
  JsonLine& flag(std::string_view key, bool value);
  // Writes the line to stdout and flushes it, so that a reader sees cases as they come.
  void print();

 private:
  void key(std::string_view name);
  std::string out_ = "{";
};

}  // namespace suite
