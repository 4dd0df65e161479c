// Owns the parsing of the command line.
#include "options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string_view>

namespace suite {
namespace {

template <class Number>
Number parseNumber(std::string_view option, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument(std::string(option) + ": '" + std::string(text) + "' is not a number");
  return value;
}

qk::Isa parseIsa(std::string_view text) {
  for (const qk::Isa isa : allIsas) {
    if (qk::name(isa) == text) return isa;
  }
  throw std::invalid_argument("--isa: '" + std::string(text) + "' is none of portable, avx2, avx512");
}

}  // namespace

Options parseOptions(int argc, const char* const* argv) {
  Options options;
  options.seed = std::random_device{}();
  if (argc < 2) throw std::invalid_argument("a command is missing: test or bench");
  options.command = argv[1];
  if (options.command != "test" && options.command != "bench")
    throw std::invalid_argument("'" + options.command + "' is no command: test or bench");
  for (int i = 2; i < argc; ++i) {
    const std::string_view option = argv[i];
    const auto value = [&]() -> std::string_view {
      if (++i >= argc) throw std::invalid_argument(std::string(option) + " needs a value");
      return argv[i];
    };
    if (option == "--filter") options.filter = value();
    else if (option == "--seed") options.seed = parseNumber<std::uint64_t>(option, value());
    else if (option == "--threads") options.threads = parseNumber<int>(option, value());
    else if (option == "--isa") options.isas.push_back(parseIsa(value()));
    else if (option == "--thorough") options.thorough = true;
    else if (option == "--quick") options.quick = true;
    else throw std::invalid_argument("'" + std::string(option) + "' is no option");
  }
  if (options.threads < 0 || options.threads > 1024)
    throw std::invalid_argument("--threads: it must be from 1 to 1024");
  return options;
}

bool asksFor(const Options& options, qk::Isa isa) {
  return options.isas.empty() || std::find(options.isas.begin(), options.isas.end(), isa) != options.isas.end();
}

std::string supportedNames() {
  std::string names;
  for (const qk::Isa isa : allIsas) {
    if (qk::supported(isa)) names += std::string(names.empty() ? "" : " ") + std::string(qk::name(isa));
  }
  return names;
}

bool lacksIsa(const Options& options) {
  for (const qk::Isa isa : options.isas) {
    if (qk::supported(isa)) continue;
    std::fprintf(stderr, "qualify-kernels: this CPU or build cannot run %s; it runs %s\n",
                 std::string(qk::name(isa)).c_str(), supportedNames().c_str());
    return true;
  }
  return false;
}

}  // namespace suite
