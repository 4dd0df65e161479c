// The GGUF reader against tens of thousands of damaged headers: each parses or is refused by name, soon, without memory that the
// file does not justify. FUZZ_SEED repeats a run, FUZZ_RUNS lengthens it. Sanitizers see what this file cannot.
#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/gguf_reader.h"
#include "engine/gguf_writer.h"
#include "engine/model_file.h"
#include "engine/tensor_layout.h"
#include "scratch_folder.h"

#ifdef __SANITIZE_ADDRESS__
// An allocation beyond this ends the process: a length that the file claims was believed.
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=64"; }
#endif

namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

std::uint64_t fromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t below(Random& random, std::uint64_t limit) { return limit == 0 ? 0 : random() % limit; }

// Every type of value that the writer knows, and two tensors: about 600 bytes, of which the header is most.
Bytes smallFile() {
  qe::GgufWriter writer;
  const std::array<std::int32_t, 3> integers = {-1, 0, 7};
  const std::array<float, 2> numbers = {0.5f, -2.0f};
  const std::array<std::string, 3> texts = {"", "b", "a longer text"};
  writer.text("general.architecture", "deepseek4");
  writer.boolean("yes", true);
  writer.count("count", 4000000000);
  writer.wide("wide", 1ULL << 40);
  writer.number("half", 0.5);
  writer.integers("integers", integers);
  writer.numbers("numbers", numbers);
  writer.texts("texts", texts);
  writer.count("general.alignment", 32);
  writer.tensor("a.weight", qk::Type::F32, {3, 2});
  writer.tensor("b.weight", qk::Type::Q8_0, {32, 1, 2});
  Bytes bytes = writer.header();
  bytes.resize(bytes.size() + writer.dataBytes());
  return bytes;
}

// Lengths, counts, dimensions and offsets are 64 bits wide: these are the ones at which sums and products overflow.
std::uint64_t extremeLength(Random& random) {
  constexpr std::array<std::uint64_t, 10> kLengths = {0,           1,           0x7f,        0xffff,
                                                      0x7fffffff,  0xffffffff,  1ULL << 40,  (1ULL << 61) - 1,
                                                      1ULL << 63, ~0ULL};
  return kLengths[below(random, kLengths.size())] - below(random, 3);
}

// One of: a flipped bit, a byte, an extreme length, bytes put in, bytes taken out, a cut, a part said twice.
void damage(Bytes& bytes, std::size_t headerBytes, Random& random) {
  const std::size_t limit = std::min(bytes.size(), headerBytes);
  const auto at = static_cast<std::ptrdiff_t>(below(random, limit));
  const auto length = static_cast<std::ptrdiff_t>(
      std::min<std::uint64_t>(1 + below(random, 24), bytes.size() - static_cast<std::size_t>(at)));
  switch (bytes.empty() ? 3 : below(random, 7)) {
    case 0: bytes[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1U << below(random, 8)); break;
    case 1: bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(random()); break;
    case 2: {
      const std::uint64_t value = extremeLength(random);
      std::memcpy(bytes.data() + at, &value, std::min(sizeof value, bytes.size() - static_cast<std::size_t>(at)));
      break;
    }
    case 3: {
      Bytes more(1 + below(random, 24));
      for (std::byte& b : more) b = static_cast<std::byte>(random());
      bytes.insert(bytes.begin() + at, more.begin(), more.end());
      break;
    }
    case 4: bytes.erase(bytes.begin() + at, bytes.begin() + at + length); break;
    case 5: bytes.resize(static_cast<std::size_t>(at)); break;
    default: {
      const Bytes part(bytes.begin() + at, bytes.begin() + at + length);
      const auto to = static_cast<std::ptrdiff_t>(below(random, limit));
      bytes.insert(bytes.begin() + to, part.begin(), part.end());
    }
  }
}

// Reads everything that a successful parse hands out.
std::uint64_t touch(const qe::Gguf& file) {
  std::uint64_t sum = 0;
  for (const qe::Tensor& tensor : file.tensors()) {
    for (std::uint64_t i = 0; i < tensor.sizeBytes; ++i) sum += std::to_integer<std::uint64_t>(tensor.data[i]);
    if (tensor.type != qk::Type::I32) sum += tensor.floats().size();
  }
  return sum + qe::describe(file).tensors.size();
}

// Without sanitizers the kernel refuses what would be too much: an allocation then throws std::bad_alloc, which no test expects.
class LittleMemory {
 public:
  LittleMemory() {
#ifndef __SANITIZE_ADDRESS__
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    struct rlimit little = before_;
    little.rlim_cur = pages * 4096 + (64ULL << 20);
    REQUIRE(setrlimit(RLIMIT_AS, &little) == 0);
#endif
  }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;
  ~LittleMemory() {
#ifndef __SANITIZE_ADDRESS__
    setrlimit(RLIMIT_AS, &before_);
#endif
  }

 private:
  struct rlimit before_{};
};

}  // namespace

TEST_CASE("a header damaged in any way parses or is refused by name, soon and in little memory") {
  const std::uint64_t seed = fromEnvironment("FUZZ_SEED", std::random_device{}());
  const std::uint64_t runs = fromEnvironment("FUZZ_RUNS", 24000);
  MESSAGE("FUZZ_SEED=", seed, " FUZZ_RUNS=", runs);
  const ScratchFolder folder;
  const Bytes whole = smallFile();
  const std::size_t headerBytes = qe::Gguf(folder.write("whole.gguf", whole)).dataOffsetBytes();
  const LittleMemory little;
  Random random(seed);
  std::uint64_t parsed = 0;
  std::uint64_t refused = 0;
  std::uint64_t touched = 0;
  double slowestMs = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    Bytes bytes = whole;
    for (std::uint64_t times = 1 + below(random, 3); times > 0; --times) damage(bytes, headerBytes, random);
    const auto path = folder.write("damaged.gguf", bytes);
    const auto began = std::chrono::steady_clock::now();
    try {
      const qe::Gguf file(path);
      touched += touch(file);
      ++parsed;
    } catch (const std::runtime_error& error) {
      const bool named = std::string(error.what()).find("damaged.gguf: ") != std::string::npos;
      INFO("run ", run, ": ", error.what());
      REQUIRE(named);
      ++refused;
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    slowestMs = std::max(slowestMs, took.count());
  }
  MESSAGE(parsed, " parsed, ", refused, " refused, slowest ", slowestMs, " ms");
  CHECK(parsed > runs / 100);
  CHECK(touched > 0);
  CHECK(refused > runs / 4);
  CHECK(slowestMs < 2000);
}

TEST_CASE("a model with a damaged header is understood or refused, and its tensors stay inside the file") {
  const std::uint64_t seed = fromEnvironment("FUZZ_SEED", std::random_device{}());
  const std::uint64_t runs = std::min<std::uint64_t>(fromEnvironment("FUZZ_RUNS", 24000) / 24, 100000);
  MESSAGE("FUZZ_SEED=", seed, " runs ", runs);
  const ScratchFolder folder;
  const auto path = folder / "unit.gguf";
  qe::CreateOptions options;
  options.seed = 1;
  options.out = path;
  qe::createModel(options);
  const std::size_t headerBytes = qe::Gguf(path).dataOffsetBytes();
  Random random(seed);
  std::uint64_t understood = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const std::uint64_t value = below(random, 2) == 0 ? extremeLength(random) : random();
    const std::size_t bytes = std::array<std::size_t, 3>{1, 4, 8}[below(random, 3)];
    const PatchedBytes patch(path, below(random, headerBytes - bytes), &value, bytes);
    INFO("run ", run);
    try {
      const qe::Gguf file(path);
      for (const qe::TensorSpec& spec : qe::tensorLayout(qe::readDimensions(file))) {
        const qe::Tensor& tensor = file.tensor(spec.name);
        REQUIRE(tensor.offsetBytes + tensor.sizeBytes <= file.sizeBytes());
      }
      ++understood;
    } catch (const std::runtime_error& error) {
      INFO(error.what());
      REQUIRE(std::string(error.what()).find("unit.gguf: ") != std::string::npos);
      ++refused;
    }
  }
  MESSAGE(understood, " understood, ", refused, " refused");
  CHECK(understood > 0);
  CHECK(refused > 0);
}
