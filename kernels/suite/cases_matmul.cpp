// Owns the cases of activations in int8 and of the matmul: bits against the exact order, and against fp64 by limits.
#include <cstring>
#include <limits>

#include "case.h"
#include "qk/matmul.h"
#include "qk/quantize.h"
#include "qk/reference_matmul.h"

namespace suite {
namespace {

using qk::Type;

constexpr Type kQuantised[] = {Type::ROCmFP2, Type::ROCmFP3,      Type::ROCmFP4, Type::ROCmFP4_FAST,
                               Type::Q8_0,    Type::Q4_0,         Type::Q2_K,    Type::MXFP4};
constexpr Type kFloats[] = {Type::F32, Type::F16, Type::BF16};

std::string nameOf(Type type) { return std::string(qk::format(type).name); }

struct Product {
  qk::test::Weights weights;
  qk::PackedWeights packed;
  Floats x;
  std::int64_t tokens;
};

// Random blocks; or, as a model has them, normal values rounded by the quantiser of the type.
std::shared_ptr<Product> makeProduct(Setup& setup, Type type, std::int64_t rows, std::int64_t cols,
                                     std::int64_t tokens, bool natural = false) {
  auto made = std::make_shared<Product>();
  made->weights = qk::test::randomWeights(setup.random.engine(), type, rows, cols);
  if (natural) {
    const Floats values = setup.random.normals(rows * cols, 0.05f);
    qk::quantize(type, values.data(), rows * cols, made->weights.bytes.data());
  }
  made->packed = qk::PackedWeights(setup.pool, made->weights.matrix);
  made->x = setup.random.normals(tokens * cols);
  made->tokens = tokens;
  return made;
}

// The exact order for the tokens [0, tokens) and the given rows.
Floats exactOrder(qk::ThreadPool& pool, const Product& product, std::int64_t everyRow) {
  const qk::Matrix& w = product.weights.matrix;
  Floats y(static_cast<std::size_t>(product.tokens * w.rows), 0.0f);
  pool.run(product.tokens, [&](std::int64_t t, int) {
    const float* token = product.x.data() + t * w.cols;
    const auto blocks = qk::reference::quantize(token, w.cols);
    for (std::int64_t r = 0; r < w.rows; r += everyRow) {
      y[static_cast<std::size_t>(t * w.rows + r)] = qk::takesInt8(w.type)
                                                        ? qk::reference::dotExactOrder(w, r, blocks)
                                                        : qk::reference::dotExactOrder(w, r, token);
    }
  });
  return y;
}

void multiply(qk::ThreadPool& pool, qk::Isa isa, const Product& product, std::int64_t tokens, Destination& y) {
  qk::Counters counters;
  qk::Execution ex{pool, isa, counters};
  qk::Activations quantised;
  const qk::PackedMatrix w = product.packed.matrix();
  qk::quantize(ex, product.x.data(), tokens, w.cols, w.cols, quantised);
  qk::matmul(ex, w, qk::inputs(product.x.data(), w.cols, &quantised), tokens, y.data(), w.rows);
}

void addExact(Cases& cases, Type type, std::int64_t rows, std::int64_t cols, std::int64_t tokens,
              std::vector<std::int64_t> widths, std::int64_t everyRow = 1) {
  const std::string name = nameOf(type) + " " + std::to_string(rows) + " x " + std::to_string(cols) + ", " +
                           (widths.size() > 1 ? std::to_string(widths.front()) + " to " : "") +
                           std::to_string(widths.back()) + " tokens";
  cases.push_back({"matmul", name, CaseClass::exact, [=](Setup& setup) -> Run {
    const auto product = makeProduct(setup, type, rows, cols, tokens);
    const auto expected = std::make_shared<Floats>(exactOrder(setup.pool, *product, everyRow));
    return [=](const Machine& machine, Check& check) {
      for (const std::int64_t width : widths) {
        for (qk::ThreadPool* pool : {&machine.one, &machine.many}) {
          if (!check.passed()) return;
          Destination y(width * rows);
          multiply(*pool, machine.isa, *product, width, y);
          Floats wanted(expected->begin(), expected->begin() + width * rows);
          // Rows that were not computed in the exact order need only be written.
          for (std::int64_t i = 0; i < width * rows && everyRow > 1; ++i) {
            if (i % rows % everyRow != 0) wanted[static_cast<std::size_t>(i)] = y.data()[i];
          }
          check.bits(std::to_string(width) + " tokens, " + std::to_string(pool->threads()) + " threads", y, wanted);
          for (const float value : y.values()) {
            if (std::bit_cast<std::uint32_t>(value) == poisonBits) check.that(false, "an output was not written");
          }
        }
      }
    };
  }});
}

// NMSE 1e-10 on the same int8 activations (only fp32 rounding remains), 5e-4 on the original ones; 1e-12 for floats.
void addBounded(Cases& cases, Type type) {
  cases.push_back({"matmul", nameOf(type) + " against fp64", CaseClass::bounded, [=](Setup& setup) -> Run {
    const std::int64_t rows = 48, cols = 1024, tokens = 5;
    const auto product = makeProduct(setup, type, rows, cols, tokens, true);
    auto same = std::make_shared<Doubles>(), original = std::make_shared<Doubles>();
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::span<const float> token(product->x.data() + t * cols, static_cast<std::size_t>(cols));
      const Doubles wide = doubles(token);
      const Doubles rounded = qk::reference::dequantize(qk::reference::quantize(token.data(), cols), cols);
      for (std::int64_t r = 0; r < rows; ++r) {
        same->push_back(qk::reference::dot(product->weights.matrix, r, qk::takesInt8(type) ? rounded.data() : wide.data()));
        original->push_back(qk::reference::dot(product->weights.matrix, r, wide.data()));
      }
    }
    return [=](const Machine& machine, Check& check) {
      Destination y(tokens * rows);
      multiply(machine.one, machine.isa, *product, tokens, y);
      const double any = std::numeric_limits<double>::infinity();
      check.near("on the original activations", y, *original, {5e-4, any, 1e-3});
      check.near("on the same activations", y, *same, {qk::takesInt8(type) ? 1e-10 : 1e-11, any});
    };
  }});
}

void addQuantise(Cases& cases) {
  for (const std::int64_t cols : {1, 31, 128, 129, 160, 1024, 4096}) {
    cases.push_back({"quantise", std::to_string(cols) + " values a token", CaseClass::exact, [=](Setup& setup) -> Run {
      const std::int64_t tokens = 9;
      const auto x = std::make_shared<Floats>(setup.random.normals(tokens * cols));
      // Magnitudes from subnormal to near the end, a block of zeros, and one poisoned token.
      for (std::int64_t t = 0; t < tokens; ++t) {
        const float factor = std::vector<float>{1, 1e-30f, 1e30f, 1e-40f, 0, 127, 1e-3f, 1, 3e38f}[static_cast<std::size_t>(t)];
        for (std::int64_t i = 0; i < cols; ++i) {
          float& value = (*x)[static_cast<std::size_t>(t * cols + i)];
          value = t == 8 ? std::copysign(factor, value) : value * factor;
        }
      }
      (*x)[static_cast<std::size_t>(7 * cols)] = std::numeric_limits<float>::quiet_NaN();
      return [=](const Machine& machine, Check& check) {
        qk::Counters counters;
        qk::Execution ex{machine.many, machine.isa, counters};
        qk::Activations got;
        qk::quantize(ex, x->data(), tokens, cols, cols, got);
        for (std::int64_t t = 0; t < tokens; ++t) {
          const auto expected = qk::reference::quantize(x->data() + t * cols, cols);
          for (std::size_t b = 0; b < expected.size(); ++b) {
            const qk::ActivationBlock& block = got.row(t)[b];
            const std::string where = "token " + std::to_string(t) + " block " + std::to_string(b) + ": ";
            check.that(std::memcmp(block.q, expected[b].q, sizeof block.q) == 0, where + "codes differ");
            check.that(std::memcmp(block.negatedSum16, expected[b].negatedSum16, sizeof block.negatedSum16) == 0 &&
                           std::memcmp(block.negatedSum32, expected[b].negatedSum32, sizeof block.negatedSum32) == 0,
                       where + "group sums differ");
            check.that(qk::test::sameBits(block.scale, expected[b].scale) ||
                           (std::isnan(block.scale) && std::isnan(expected[b].scale)),
                       where + "the scale differs");
          }
        }
      };
    }});
  }
}

}  // namespace

void addMatmulCases(Cases& cases, bool thorough) {
  addQuantise(cases);
  std::vector<std::int64_t> widths;
  for (std::int64_t width = 1; width <= 33; ++width) widths.push_back(width);
  widths.insert(widths.end(), {47, 48, 63, 64, 65, 67});
  for (const Type type : kQuantised) {
    addExact(cases, type, 41, type == Type::Q2_K ? 256 : 288, 67, widths);  // a short tile and a short block
    addExact(cases, type, 256, 4096, 9, {1, 9}, thorough ? 1 : 37);
    addBounded(cases, type);
  }
  addExact(cases, Type::Q2_K, 20, 768, 9, {1, 9});
  for (const Type type : kFloats) {
    addExact(cases, type, 41, 70, 67, widths);
    addBounded(cases, type);
  }
  if (thorough) {
    for (const Type type : kQuantised) addExact(cases, type, 2048, 4096, 192, {192}, 64);
  }
}

}  // namespace suite
