#include "qk/math.h"

#include "operation_check.h"
#include "qk/swiglu.h"

using check::Floats;

namespace {

using Function = void (*)(qk::Isa, const float*, std::int64_t, float*);

Floats apply(Function function, qk::Isa isa, const Floats& x) {
  Floats y = check::poisoned(static_cast<std::int64_t>(x.size()));
  function(isa, x.data(), static_cast<std::int64_t>(x.size()), y.data());
  return y;
}

// The largest distance from the exact function over x, the same bits everywhere.
template <typename Exact>
double worstUlps(Function function, const Floats& x, Exact exact) {
  const Floats y = check::everywhere([&](qk::Isa isa) { return apply(function, isa, x); });
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = check::ulps(y[i], exact(static_cast<double>(x[i])));
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

Floats spread(check::Random& random, float low, float high) {
  Floats x;
  for (int i = 0; i < 20001; ++i) x.push_back(random.uniform(low, high));
  return x;
}

const float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE(
    "exp, log1p, sigmoid, silu and softplus are near the exact functions and have the same bits "
    "everywhere") {
  check::Random random;
  INFO("seed ", random.seed());
  CHECK(worstUlps(qk::cpu::exp, spread(random, -87.3f, 88.7f), [](double x) { return std::exp(x); }) < 1.5);
  CHECK(worstUlps(qk::cpu::exp, spread(random, -0.5f, 0.5f), [](double x) { return std::exp(x); }) < 1.5);
  CHECK(worstUlps(qk::cpu::log1pUnit, spread(random, 0.0f, 1.0f), [](double x) { return std::log1p(x); }) <
        3);
  CHECK(worstUlps(qk::cpu::log1pUnit, spread(random, 0.0f, 1e-6f), [](double x) { return std::log1p(x); }) <
        3);
  CHECK(worstUlps(qk::cpu::sigmoid, spread(random, -80.0f, 80.0f),
                  [](double x) { return 1 / (1 + std::exp(-x)); }) < 4);
  CHECK(worstUlps(qk::cpu::silu, spread(random, -80.0f, 80.0f),
                  [](double x) { return x / (1 + std::exp(-x)); }) < 4);
  CHECK(worstUlps(qk::cpu::softplus, spread(random, -80.0f, 80.0f),
                  [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }) < 4);
}

TEST_CASE("exp is exact at 0, saturates at its ends and keeps NaN") {
  const Floats x = {0.0f, -0.0f, -kInfinity, kInfinity, -87.4f, -1000.0f, 88.73f, 1000.0f, kNan};
  const Floats y = check::everywhere([&](qk::Isa isa) {
    Floats result = apply(qk::cpu::exp, isa, x);
    CHECK(std::isnan(result.back()));
    result.pop_back();
    return result;
  });
  CHECK(y == Floats{1, 1, 0, kInfinity, 0, 0, kInfinity, kInfinity});
}

TEST_CASE("a function of a vector is the function of its elements, whatever the length") {
  check::Random random;
  INFO("seed ", random.seed());
  const Floats x = random.normals(70, 5);
  for (const Function function : {qk::cpu::exp, qk::cpu::sigmoid, qk::cpu::silu, qk::cpu::softplus}) {
    const Floats whole = apply(function, qk::bestIsa(), x);
    for (std::size_t n = 0; n <= x.size(); ++n) {
      const Floats part =
          apply(function, qk::bestIsa(), Floats(x.begin(), x.begin() + static_cast<std::int64_t>(n)));
      CHECK(check::sameBits(part, Floats(whole.begin(), whole.begin() + static_cast<std::int64_t>(n))));
    }
  }
}

TEST_CASE("dot and sum follow their stated order of sixteen lanes") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const std::int64_t n : {1, 15, 16, 17, 100, 1024}) {
    const Floats a = random.normals(n);
    const Floats b = random.normals(n);
    float dots[16] = {};
    float sums[16] = {};
    for (std::size_t i = 0; i < a.size(); ++i) {
      dots[i % 16] = std::fma(a[i], b[i], dots[i % 16]);
      sums[i % 16] += a[i];
    }
    for (std::size_t distance = 8; distance > 0; distance /= 2) {
      for (std::size_t l = 0; l < distance; ++l) {
        dots[l] += dots[l + distance];
        sums[l] += sums[l + distance];
      }
    }
    for (const qk::Isa isa : check::isas()) {
      CHECK(qk::cpu::dot(isa, a.data(), b.data(), n) == dots[0]);
      CHECK(qk::cpu::sum(isa, a.data(), n) == sums[0]);
    }
  }
}

TEST_CASE("swiglu clamps, weights and agrees with fp64") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const std::int64_t n : {1, 31, 512}) {
    const Floats gate = random.normals(n, 8);
    const Floats up = random.normals(n, 8);
    const Floats y = check::everywhere([&](qk::Isa isa) {
      Floats out = check::poisoned(n);
      qk::cpu::swiglu(isa, gate.data(), up.data(), n, 10, 0.37f, out.data());
      return out;
    });
    check::Doubles exact(y.size());
    qk::reference::swiglu(check::doubles(gate).data(), check::doubles(up).data(), n, 10,
                          static_cast<double>(0.37f), exact.data());
    CHECK(check::nmse(y, exact) < 1e-13);
  }
  const float gate[4] = {20, 10, -20, 1};
  const float up[4] = {20, -20, 1, kNan};
  float y[4];
  qk::cpu::swiglu(qk::bestIsa(), gate, up, 4, 10, 1, y);
  CHECK(y[0] == doctest::Approx(99.9954602));
  CHECK(y[1] == doctest::Approx(-99.9954602));
  CHECK(std::fabs(y[2]) < 1e-6f);  // the gate has no lower bound
  CHECK(std::isnan(y[3]));
}
