// The exact-order reference of the quantised matmul against fp64 products of decoded weights and activations: it decodes
// with code of its own, so the two agree only when both read the format alike.
#include <doctest/doctest.h>

#include <random>

#include "qk/reference_matmul.h"
#include "random_weights.h"

namespace {

using namespace qk::test;
using qk::Type;

constexpr Type kTypes[] = {Type::ROCmFP2, Type::ROCmFP3, Type::ROCmFP4, Type::ROCmFP4_FAST,
                           Type::Q4_0,    Type::Q8_0,    Type::Q2_K,    Type::MXFP4};

double errorOf(const Weights& exact, const Weights& plain, Random& random) {
  const std::int64_t cols = plain.matrix.cols;
  const std::vector<float> x = randomFloats(random, static_cast<std::size_t>(cols));
  const auto blocks = qk::reference::quantize(x.data(), cols);
  const std::vector<double> rounded = qk::reference::dequantize(blocks, cols);
  std::vector<float> found;
  std::vector<double> wanted;
  for (std::int64_t row = 0; row < plain.matrix.rows; ++row) {
    found.push_back(qk::reference::dotExactOrder(exact.matrix, row, blocks));
    wanted.push_back(qk::reference::dot(plain.matrix, row, rounded.data()));
  }
  return normalisedError(found, wanted);
}

}  // namespace

TEST_CASE("the exact-order dot of every quantised type is the dot of the decoded values up to fp32 rounding") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed ", seed);
  Random random(seed);
  for (const Type type : kTypes) {
    for (const ScaleSpread spread : {ScaleSpread::mixed, ScaleSpread::narrow, ScaleSpread::wide}) {
      CAPTURE(qk::format(type).name);
      const Weights w = randomWeights(random, type, 9, 1536, spread);
      CHECK(errorOf(w, w, random) < 1e-11);
      // Teeth: one other scale byte in the file is seen.
      Weights other = w;
      other.matrix.data = other.bytes.data();
      const bool scaleFirst = type == Type::MXFP4 || type == Type::Q4_0 || type == Type::Q8_0 || type == Type::Q2_K;
      const auto at = static_cast<std::size_t>(scaleFirst ? 0 : qk::format(type).bytes - 1);
      for (std::size_t block = 0; block < other.bytes.size(); block += static_cast<std::size_t>(qk::format(type).bytes)) {
        other.bytes[block + at] ^= std::byte{1};
      }
      CHECK(errorOf(other, w, random) > 1e-8);
    }
  }
}
