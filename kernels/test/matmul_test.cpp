// Holds the matmul to its definition: the same bits as the plain loops on every instruction set, width,
// thread count and cut.
#include <doctest/doctest.h>

#include <limits>

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

// Rows that fill no tile, K that ends inside of an activation block.
void checkType(Type type, std::int64_t rows, std::int64_t cols, std::initializer_list<std::int64_t> widths) {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed << " type " << format(type).name << " " << rows << "x" << cols);
  Random random(seed);
  ThreadPool pool(2);
  const Weights w = randomWeights(random, type, rows, cols);
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

TEST_CASE("extreme codes neither saturate nor overflow") {
  ThreadPool pool(1);
  for (const Type type : int8Types) {
    Random random(1);
    Weights w = randomWeights(random, type, 16, 256);
    for (const int code : {0x00, 0xff, 0x80, 0x7f}) {
      const Format& f = format(type);
      const std::int64_t scaleFirst = type == Type::Q4_0 || type == Type::Q8_0 ? 2 : 0;
      const std::int64_t scaleLast = scaleFirst == 0 ? 2 : 0;
      for (std::size_t at = 0; at < w.bytes.size(); at += static_cast<std::size_t>(f.bytes)) {
        std::memset(w.bytes.data() + at + scaleFirst, code,
                    static_cast<std::size_t>(f.bytes - scaleFirst - scaleLast));
      }
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
