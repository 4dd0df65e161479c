// Holds the matmul to its definition: the same bits as the plain loops on every instruction set, width,
// thread count and cut.
#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <utility>

#include "cpu/packed_fold.h"
#include "qk/matmul.h"
#include "qk/reference_matmul.h"
#include "random_weights.h"

using namespace qk;
using namespace qk::test;

namespace {

constexpr float poison = std::numeric_limits<float>::quiet_NaN();

std::vector<float> exactOrder(const Matrix& w, const std::vector<float>& x, std::int64_t tokens) {
  std::vector<float> y;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const float* token = x.data() + t * w.cols;
    const auto blocks = reference::quantize(token, w.cols);
    for (std::int64_t r = 0; r < w.rows; ++r) {
      y.push_back(takesInt8(w.type) ? reference::dotExactOrder(w, r, blocks)
                                    : reference::dotExactOrder(w, r, token));
    }
  }
  return y;
}

std::vector<float> fast(ThreadPool& pool, Isa isa, const PackedWeights& w, const std::vector<float>& x,
                        std::int64_t tokens) {
  Counters counters;
  Execution ex{pool, isa, counters};
  const PackedMatrix m = w.matrix();
  Activations quantised;
  quantize(ex, x.data(), tokens, m.cols, m.cols, quantised);
  std::vector<float> y(static_cast<std::size_t>(tokens * m.rows), poison);
  matmul(ex, m, inputs(x.data(), m.cols, &quantised), tokens, y.data(), m.rows);
  return y;
}

// The smallest number of columns from `cols` on that the type takes.
std::int64_t wholeBlocks(Type type, std::int64_t cols) {
  const std::int64_t block = format(type).weights;
  return (cols + block - 1) / block * block;
}

void checkWeights(Random& random, const Weights& w, std::initializer_list<std::int64_t> widths) {
  ThreadPool pool(2);
  const std::int64_t cols = w.matrix.cols;
  const PackedWeights packed(pool, w.matrix);
  for (const std::int64_t tokens : widths) {
    const auto x = randomFloats(random, static_cast<std::size_t>(tokens * cols));
    const auto expected = exactOrder(w.matrix, x, tokens);
    for (const Isa isa : supportedIsas()) {
      INFO(name(isa) << " tokens " << tokens);
      CHECK(firstDifference(fast(pool, isa, packed, x, tokens), expected) == -1);
    }
  }
}

// Rows that fill no tile, K that ends inside of an activation block.
void checkType(Type type, std::int64_t rows, std::int64_t cols, std::initializer_list<std::int64_t> widths,
               ScaleSpread spread = ScaleSpread::mixed) {
  const std::uint64_t seed = std::random_device{}();
  cols = wholeBlocks(type, cols);
  INFO("seed " << seed << " type " << format(type).name << " " << rows << "x" << cols);
  Random random(seed);
  checkWeights(random, randomWeights(random, type, rows, cols, spread), widths);
}

// The bytes of a block that hold codes.
std::pair<std::int64_t, std::int64_t> codesOf(Type type) {
  const std::int64_t bytes = format(type).bytes;
  switch (type) {
    case Type::Q4_0:
    case Type::Q8_0:
      return {2, bytes};
    case Type::MXFP4:
      return {1, bytes};
    case Type::ROCmFP4_FAST:
      return {0, bytes - 1};
    case Type::Q2_K:
      return {0, bytes - 4};  // scales and minima too
    default:
      return {0, bytes - 2};
  }
}

// How many of the 128-blocks of packed weights are summed in 1, 2, 4 and 8 runs.
std::vector<int> countRuns(const PackedMatrix& w, std::int64_t blockBytes) {
  std::vector<int> count(9, 0);
  const std::int64_t blocks = (w.cols + 127) / 128;
  for (std::int64_t tile = 0; tile < w.tileCount(); ++tile) {
    for (std::int64_t b = 0; b < blocks; ++b)
      ++count[std::to_integer<std::size_t>(w.tiles[tile * w.tileBytes + blocks * blockBytes + b])];
  }
  return count;
}

}  // namespace

TEST_CASE("every weight type equals its plain loop to the bit at every width from 1 to 70") {
  for (const Type type : int8Types) {
    for (std::int64_t tokens = 1; tokens <= 70; ++tokens) checkType(type, 19, 160, {tokens});
  }
  for (const Type type : floatTypes) {
    for (std::int64_t tokens = 1; tokens <= 70; ++tokens) checkType(type, 19, 33, {tokens});
  }
}

TEST_CASE("shapes: one row, whole tiles, several items of rows, one step of K, several blocks of K") {
  for (const Type type : int8Types) {
    for (const std::int64_t rows : {1, 16, 32, 150}) {
      for (const std::int64_t cols : {32, 128, 352}) checkType(type, rows, cols, {1, 9});
    }
  }
  for (const Type type : floatTypes) {
    for (const std::int64_t rows : {1, 16, 150}) checkType(type, rows, 7, {1, 9});
  }
}

TEST_CASE("scales near each other, far from each other and everything between give the rule's bits") {
  for (const Type type : int8Types) {
    for (const ScaleSpread spread : {ScaleSpread::narrow, ScaleSpread::mixed, ScaleSpread::wide})
      checkType(type, 48, 1024, {1, 5, 12, 13}, spread);
  }
}

TEST_CASE("blocks that are summed as integers, in runs and by the rule stand beside each other") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  ThreadPool pool(1);
  for (const Type type : {Type::ROCmFP2, Type::ROCmFP3}) {
    Weights w = randomWeights(random, type, 80, 4096, ScaleSpread::narrow);
    const std::int64_t bytes = format(type).bytes;
    const auto scaleByte = [&](std::int64_t row, std::int64_t group) -> std::byte& {
      return w.bytes[static_cast<std::size_t>(row * w.matrix.rowBytes() + (group / 2 + 1) * bytes - 2 + group % 2)];
    };
    for (std::int64_t block = 0; block < 32; ++block) {
      for (std::int64_t tile = 0; tile < 5; ++tile) {
        const std::int64_t row = 16 * tile + static_cast<std::int64_t>(random() % 16);
        const auto group = static_cast<std::int64_t>(random() % 8);
        switch (block % 8) {
          case 0:  // a row of zeros, as 0x00 and as bytes that decode to zero
            for (std::int64_t g = 0; g < 8; ++g) scaleByte(row, 8 * block + g) = std::byte(g % 2 == 0 ? 0 : 0x80);
            break;
          case 1:  // a step of several octaves between the halves, and between the quarters
            for (std::int64_t g = 4; g < 8; ++g) scaleByte(row, 8 * block + g) = std::byte{0x40};
            break;
          case 2:
            for (std::int64_t g = 2; g < 4; ++g) scaleByte(row, 8 * block + g) = std::byte{0x40};
            break;
          case 3:  // subnormal bytes only
            for (std::int64_t g = 0; g < 8; ++g) scaleByte(row, 8 * block + g) = static_cast<std::byte>(random() % 8);
            break;
          case 4:
            scaleByte(row, 8 * block + group) = static_cast<std::byte>(random() % 256);
            break;
          case 5:
            scaleByte(row, 8 * block + group) = std::byte{0};
            break;
          default:
            break;
        }
      }
    }
    const std::int64_t blockBytes = type == Type::ROCmFP2 ? 512 + 128 : 768 + 128;
    const auto runs = countRuns(PackedWeights(pool, w.matrix).matrix(), blockBytes);
    for (const std::size_t n : {1, 2, 4, 8}) CHECK(runs[n] > 0);
    INFO("type " << format(type).name);
    checkWeights(random, w, {1, 2, 6, 7, 12, 13, 64, 70});
  }
}

TEST_CASE("folding keeps the values of scales, the fewest runs that fit, and leaves what is not exact") {
  using Scales = std::array<std::byte, 128>;
  const auto filled = [](int byte) {
    Scales s;
    s.fill(static_cast<std::byte>(byte));
    return s;
  };
  Scales s = filled(0x21);
  CHECK(foldScales(s.data(), 63, 2) == 1);
  CHECK(s[0] == std::byte{9});            // numerator 9, lower bits of e = 4 are 0
  CHECK(s[16] == std::byte{9 | 1 << 6});  // upper bits of e
  CHECK(s[32] == std::byte{9});
  s = filled(0x21);
  s[5] = std::byte{0x37};  // 15 * 2^2 in the unit of 0x21
  CHECK(foldScales(s.data(), 63, 2) == 1);
  CHECK(s[5] == std::byte{60});
  s = filled(0x21);
  s[5] = std::byte{0x37};  // too large for levels of 4; alone in its pair still with one of e = 4
  Scales before = s;
  CHECK(foldScales(s.data(), 31, 4) == 8);
  CHECK(s == before);
  for (int g = 0; g < 4; ++g) s[static_cast<std::size_t>(16 * g + 5)] = std::byte{0x37};
  CHECK(foldScales(s.data(), 31, 4) == 2);
  s = filled(0x01);
  s[0] = std::byte{0x7e};  // 14 octaves: sums of fp32 are rounded
  before = s;
  CHECK(foldScales(s.data(), 63, 2) == 8);
  CHECK(s == before);
  s = filled(0);
  CHECK(foldScales(s.data(), 63, 2) == 1);
}

TEST_CASE("fixed token tiles give the bits of adaptive ones and write nothing else") {
  Random random(11);
  ThreadPool pool(1);
  Counters counters;
  for (const Type type : {Type::ROCmFP2, Type::MXFP4, Type::F16}) {
    const Weights w = randomWeights(random, type, 40, 256);
    const PackedWeights packed(pool, w.matrix);
    for (const std::int64_t tokens : {1, 9, 65, 70}) {
      const auto x = randomFloats(random, static_cast<std::size_t>(tokens * 256));
      const auto expected = exactOrder(w.matrix, x, tokens);
      for (const Isa isa : supportedIsas()) {
        Execution ex{pool, isa, counters};
        Activations quantised;
        quantize(ex, x.data(), tokens, 256, 256, quantised);
        const PackedMatrix m = packed.matrix();
        std::vector<float> y(static_cast<std::size_t>(tokens * 40 + 64), poison);
        matmul(ex, m, inputs(x.data(), 256, &quantised), tokens, y.data(), 40, TokenTiles::fixed);
        for (std::int64_t i = 0; i < 64; ++i) CHECK(std::isnan(y[static_cast<std::size_t>(tokens * 40 + i)]));
        y.resize(static_cast<std::size_t>(tokens * 40));
        INFO(name(isa) << " type " << format(type).name << " tokens " << tokens);
        CHECK(firstDifference(y, expected) == -1);
      }
    }
  }
}

TEST_CASE("extreme codes neither saturate nor overflow") {
  ThreadPool pool(1);
  for (const Type type : int8Types) {
    Random random(1);
    Weights w = randomWeights(random, type, 16, 256);
    for (const int code : {0x00, 0xff, 0x80, 0x7f}) {
      const Format& f = format(type);
      const auto [first, last] = codesOf(type);
      for (std::size_t at = 0; at < w.bytes.size(); at += static_cast<std::size_t>(f.bytes))
        std::memset(w.bytes.data() + at + first, code, static_cast<std::size_t>(last - first));
      std::vector<float> x(256, 3.0f);
      for (std::size_t i = 0; i < 128; ++i) x[i] = -3.0f;
      const PackedWeights packed(pool, w.matrix);
      const auto expected = exactOrder(w.matrix, x, 1);
      for (const Isa isa : supportedIsas()) {
        INFO(name(isa) << " type " << f.name << " code " << code);
        CHECK(firstDifference(fast(pool, isa, packed, x, 1), expected) == -1);
      }
    }
  }
}

TEST_CASE("thread count and company of other tokens do not change a token's bits") {
  Random random(7);
  for (const Type type : {Type::ROCmFP3, Type::Q8_0, Type::F16}) {
    const Weights w = randomWeights(random, type, 300, 192);
    const std::int64_t tokens = 131;
    const auto x = randomFloats(random, static_cast<std::size_t>(tokens * 192));
    ThreadPool one(1);
    const PackedWeights packed(one, w.matrix);
    const auto whole = fast(one, bestIsa(), packed, x, tokens);
    for (const int threads : {2, 3}) {
      ThreadPool pool(threads);
      const PackedWeights packedByMany(pool, w.matrix);
      CHECK(firstDifference(fast(pool, bestIsa(), packedByMany, x, tokens), whole) == -1);
    }
    for (std::int64_t t = 0; t < tokens; t += 13) {
      const std::vector<float> alone(x.begin() + t * 192, x.begin() + (t + 1) * 192);
      const std::vector<float> expected(whole.begin() + t * 300, whole.begin() + (t + 1) * 300);
      CHECK(firstDifference(fast(one, bestIsa(), packed, alone, 1), expected) == -1);
    }
  }
}

TEST_CASE("only fp32 rounding separates a kernel from fp64 on the same int8 activations") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  ThreadPool pool(1);
  const std::int64_t rows = 64, cols = 1024, tokens = 5;
  for (const Type type : int8Types) {
    const Weights w = randomWeights(random, type, rows, cols);
    const auto x = randomFloats(random, static_cast<std::size_t>(tokens * cols));
    std::vector<double> onSame;
    std::vector<double> onOriginal;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::vector<double> original(x.begin() + t * cols, x.begin() + (t + 1) * cols);
      const auto same = reference::dequantize(reference::quantize(x.data() + t * cols, cols), cols);
      for (std::int64_t r = 0; r < rows; ++r) {
        onSame.push_back(reference::dot(w.matrix, r, same.data()));
        onOriginal.push_back(reference::dot(w.matrix, r, original.data()));
      }
    }
    const auto y = fast(pool, bestIsa(), PackedWeights(pool, w.matrix), x, tokens);
    INFO("type " << format(type).name);
    CHECK(normalisedError(y, onSame) < 1e-10);
    CHECK(normalisedError(y, onOriginal) < 5e-4);
  }
}

TEST_CASE("strided and indexed inputs and strided outputs touch only their own elements") {
  Random random(3);
  ThreadPool pool(1);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  const std::int64_t cols = 64, rows = 20, stride = 100, yStride = 31;
  for (const Type type : {Type::Q4_0, Type::F32}) {
    const Weights w = randomWeights(random, type, rows, cols);
    const PackedWeights packed(pool, w.matrix);
    const auto x = randomFloats(random, 4 * stride);
    Activations quantised;
    quantize(ex, x.data(), 4, cols, stride, quantised);
    const std::int32_t index[] = {3, 1, 1};
    Inputs in = inputs(x.data(), stride, &quantised);
    in.index = index;
    std::vector<float> y(3 * yStride, poison);
    matmul(ex, packed.matrix(), in, 3, y.data(), yStride);
    for (std::int64_t t = 0; t < 3; ++t) {
      const std::vector<float> token(x.begin() + index[t] * stride, x.begin() + index[t] * stride + cols);
      const auto expected = exactOrder(w.matrix, token, 1);
      for (std::int64_t r = 0; r < yStride; ++r) {
        const float got = y[static_cast<std::size_t>(t * yStride + r)];
        if (r < rows) {
          CHECK(sameBits(got, expected[static_cast<std::size_t>(r)]));
        } else {
          CHECK(std::isnan(got));
        }
      }
    }
  }
}

TEST_CASE("shapes and inputs that cannot be multiplied are refused") {
  Random random(4);
  ThreadPool pool(1);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  Weights odd = randomWeights(random, Type::Q8_0, 2, 64);
  odd.matrix.cols = 48;
  CHECK_THROWS_WITH_AS(PackedWeights(pool, odd.matrix), doctest::Contains("multiple of 32 columns, not 48"),
                       std::invalid_argument);
  odd = randomWeights(random, Type::Q2_K, 2, 512);
  odd.matrix.cols = 384;
  CHECK_THROWS_WITH_AS(PackedWeights(pool, odd.matrix), doctest::Contains("multiple of 256 columns, not 384"),
                       std::invalid_argument);
  const Weights w = randomWeights(random, Type::Q8_0, 2, 64);
  const PackedWeights packed(pool, w.matrix);
  const std::vector<float> x(64, 1.0f);
  std::vector<float> y(2);
  CHECK_THROWS_AS(matmul(ex, packed.matrix(), inputs(x.data(), 64, nullptr), 1, y.data(), 2),
                  std::invalid_argument);
  CHECK_THROWS_AS(PackedWeights(pool, Matrix{Type::I32, 2, 64, w.bytes.data()}), std::invalid_argument);
}

TEST_CASE("a matmul is counted under the name of its weight type") {
  Random random(5);
  ThreadPool pool(1);
  Counters counters;
  Execution ex{pool, bestIsa(), counters};
  const Weights w = randomWeights(random, Type::ROCmFP2, 16, 32);
  const PackedWeights packed(pool, w.matrix);
  const std::vector<float> x(32, 1.0f);
  Activations quantised;
  quantize(ex, x.data(), 1, 32, 32, quantised);
  std::vector<float> y(16);
  matmul(ex, packed.matrix(), inputs(x.data(), 32, &quantised), 1, y.data(), 16);
  CHECK(counters.of(Kernel::matmulROCmFP2) == 1);
  CHECK(counters.of(Kernel::quantize) == 1);
  CHECK(counters.of(Kernel::matmulQ8_0) == 0);
  CHECK(name(Kernel::matmulROCmFP2) == "matmul.rocmfp2");
}
