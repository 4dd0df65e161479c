// Owns the cases of functions of elements and rows: exp and its kin, dot and sum, SwiGLU, RMSNorm, RoPE, round trips.
#include <algorithm>
#include <cmath>
#include <limits>

#include "case.h"
#include "qk/math.h"
#include "qk/rms_norm.h"
#include "qk/rope.h"
#include "qk/round_trip.h"
#include "qk/swiglu.h"

namespace suite {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Function = void (*)(qk::Isa, const float*, std::int64_t, float*);

double ulps(float x, double exact) {
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::fabs(static_cast<double>(x) - exact) / std::ldexp(1.0, exponent - 23);
}

void addFunction(Cases& cases, const std::string& name, Function function, float low, float high, double limitUlps,
                 double (*exact)(double)) {
  cases.push_back({"math", name, CaseClass::bounded, [=](Setup& setup) -> Run {
    const auto x = std::make_shared<Floats>(20001);
    for (float& value : *x) value = setup.random.uniform(low, high);
    for (std::size_t i = 0; i < 200; ++i) (*x)[i] = setup.random.uniform(std::max(low, -0.5f), 0.5f);
    Doubles expected;
    for (const float value : *x) expected.push_back(exact(static_cast<double>(value)));
    return [=](const Machine& machine, Check& check) {
      const auto n = static_cast<std::int64_t>(x->size());
      Destination y(n);
      function(machine.isa, x->data(), n, y.data());
      check.near("values", y, expected, {1e-13, kAny});
      double worst = 0;
      for (std::size_t i = 0; i < x->size(); ++i) {
        const double error = ulps(y.values()[i], expected[i]);
        if (!(error <= worst)) worst = error;
      }
      check.that(worst < limitUlps, "worst error " + std::to_string(worst) + " ulps");
      for (std::int64_t length = 0; length < 40; ++length) {
        Destination part(length);
        function(machine.isa, x->data(), length, part.data());
        check.bits(std::to_string(length) + " values", part, y.values().subspan(0, static_cast<std::size_t>(length)));
      }
    };
  }});
}

void addFunctions(Cases& cases) {
  addFunction(cases, "exp", qk::cpu::exp, -87.3f, 88.7f, 1.5, [](double x) { return std::exp(x); });
  addFunction(cases, "log1p on the unit", qk::cpu::log1pUnit, 0.0f, 1.0f, 3, [](double x) { return std::log1p(x); });
  addFunction(cases, "sigmoid", qk::cpu::sigmoid, -80.0f, 80.0f, 4, [](double x) { return 1 / (1 + std::exp(-x)); });
  addFunction(cases, "silu", qk::cpu::silu, -80.0f, 80.0f, 4, [](double x) { return x / (1 + std::exp(-x)); });
  addFunction(cases, "softplus", qk::cpu::softplus, -80.0f, 80.0f, 4,
              [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); });
  cases.push_back({"math", "exp at its ends", CaseClass::exact, [](Setup&) -> Run {
    return [](const Machine& machine, Check& check) {
      const Floats x = {0.0f, -0.0f, -kInfinity, kInfinity, -87.4f, -1000.0f, 88.73f, 1000.0f, kNan};
      Destination y(9);
      qk::cpu::exp(machine.isa, x.data(), 9, y.data());
      check.bits("exp", y.values().subspan(0, 8), Floats{1, 1, 0, kInfinity, 0, 0, kInfinity, kInfinity});
      check.that(std::isnan(y.data()[8]), "exp of NaN is not NaN");
    };
  }});
  cases.push_back({"math", "dot and sum in sixteen lanes", CaseClass::exact, [](Setup& setup) -> Run {
    const Floats a = setup.random.normals(1029), b = setup.random.normals(1029);
    return [=](const Machine& machine, Check& check) {
      for (const std::size_t n : {0, 1, 15, 16, 17, 100, 1024, 1029}) {
        float dots[16] = {}, sums[16] = {};
        for (std::size_t i = 0; i < n; ++i) {
          dots[i % 16] = std::fma(a[i], b[i], dots[i % 16]);
          sums[i % 16] += a[i];
        }
        for (std::size_t distance = 8; distance > 0; distance /= 2) {
          for (std::size_t lane = 0; lane < distance; ++lane) {
            dots[lane] += dots[lane + distance];
            sums[lane] += sums[lane + distance];
          }
        }
        const auto count = static_cast<std::int64_t>(n);
        const Floats got = {qk::cpu::dot(machine.isa, a.data(), b.data(), count), qk::cpu::sum(machine.isa, a.data(), count)};
        check.bits(std::to_string(n) + " values", got, Floats{dots[0], sums[0]});
      }
    };
  }});
}

void addSwiglu(Cases& cases, std::int64_t n) {
  cases.push_back({"swiglu", std::to_string(n) + " values", CaseClass::bounded, [=](Setup& setup) -> Run {
    const Floats gate = setup.random.normals(n, 8), up = setup.random.normals(n, 8);
    return [=](const Machine& machine, Check& check) {
      for (const auto& [limit, weight] : std::vector<std::pair<float, float>>{{10, 0.37f}, {1.5f, 1}, {kInfinity, 0.1f}}) {
        Doubles exact(gate.size());
        qk::reference::swiglu(doubles(gate).data(), doubles(up).data(), n, static_cast<double>(limit),
                              static_cast<double>(weight), exact.data());
        Destination out(n);
        qk::cpu::swiglu(machine.isa, gate.data(), up.data(), n, limit, weight, out.data());
        check.near("limit " + std::to_string(limit), out, exact, {1e-13, 1e-4});
      }
    };
  }});
}

void addRows(Cases& cases, bool thorough) {
  for (const std::int64_t n : {1, 7, 16, 100, 512, thorough ? 7168 : 1024}) {
    for (const bool weighted : {false, true}) {
      cases.push_back({"rms norm", std::to_string(n) + (weighted ? " values, weighted" : " values"), CaseClass::bounded,
                       [=](Setup& setup) -> Run {
        const Floats x = setup.random.normals(3 * n, 3), weight = setup.random.normals(n);
        Doubles exact(x.size());
        const Doubles wide = doubles(weight);
        qk::reference::rmsNorm(doubles(x).data(), 3, n, weighted ? wide.data() : nullptr, static_cast<double>(0.01f),
                               exact.data());
        return [=](const Machine& machine, Check& check) {
          Destination out(3 * n), inPlace(3 * n);
          const float* w = weighted ? weight.data() : nullptr;
          qk::cpu::rmsNorm(machine.isa, x.data(), 3, n, w, 0.01f, out.data());
          check.near("rows", out, exact, {1e-13, 1e-4});
          std::copy(x.begin(), x.end(), inPlace.data());
          qk::cpu::rmsNorm(machine.isa, inPlace.data(), 3, n, w, 0.01f, inPlace.data());
          check.bits("in place", inPlace, out.values());
        };
      }});
    }
  }
  for (const bool inverse : {false, true}) {
    cases.push_back({"rope", inverse ? "inverse" : "forward", CaseClass::bounded, [=](Setup& setup) -> Run {
      std::vector<double> frequencies;
      for (int i = 0; i < 32; ++i) frequencies.push_back(std::pow(10000.0, -i / 32.0));
      const Floats x = setup.random.normals(5 * 128);
      return [=](const Machine& machine, Check& check) {
        qk::RopeTable table(frequencies);
        table.extend(10);
        table.extend(5000);
        for (const std::int64_t position : {0, 1, 9, 10, 4999}) {
          Doubles exact = doubles(x);
          qk::reference::rope(exact.data(), 5, 128, frequencies, position, inverse);
          Destination out(5 * 128);
          std::copy(x.begin(), x.end(), out.data());
          qk::cpu::rope(machine.isa, out.data(), 5, 128, 64, table.row(position),
                        inverse ? qk::cpu::Rotation::inverse : qk::cpu::Rotation::forward);
          check.near("position " + std::to_string(position), out, exact, {1e-13, 1e-5});
        }
      };
    }});
  }
}

void addRoundTrip(Cases& cases, const std::string& name, void (*fast)(qk::Isa, float*, std::int64_t),
                  void (*exact)(double*, std::int64_t), std::vector<std::int64_t> sizes) {
  cases.push_back({"round trip", name, CaseClass::exact, [=](Setup& setup) -> Run {
    std::vector<Floats> inputs, outputs;
    for (const float sigma : {0.0f, 1e-37f, 1e-6f, 1e-3f, 1.0f, 300.0f, 1e20f}) {
      for (const std::int64_t n : sizes) {
        inputs.push_back(setup.random.normals(n, sigma));
        // Values that lie on ties of the finest levels.
        if (sigma == 1.0f) {
          for (std::size_t i = 0; i < inputs.back().size(); i += 3) inputs.back()[i] = std::round(inputs.back()[i] * 8) / 4;
        }
        Doubles wide = doubles(inputs.back());
        exact(wide.data(), n);
        outputs.emplace_back(wide.begin(), wide.end());
        for (float& value : outputs.back()) value += 0.0f;  // the sign of a zero is not specified
      }
    }
    return [=](const Machine& machine, Check& check) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto n = static_cast<std::int64_t>(inputs[i].size());
        Destination x(n);
        std::copy(inputs[i].begin(), inputs[i].end(), x.data());
        fast(machine.isa, x.data(), n);
        for (std::int64_t j = 0; j < n; ++j) x.data()[j] += 0.0f;
        check.bits("input " + std::to_string(i), x, outputs[i]);
      }
    };
  }});
}

void addHadamard(Cases& cases) {
  for (const std::int64_t n : {32, 64, 128}) {
    cases.push_back({"round trip", "hadamard " + std::to_string(n), CaseClass::bounded, [=](Setup& setup) -> Run {
      const Floats x = setup.random.normals(n);
      Doubles exact = doubles(x);
      qk::reference::hadamard(exact.data(), n);
      return [=](const Machine& machine, Check& check) {
        Destination y(n);
        std::copy(x.begin(), x.end(), y.data());
        qk::cpu::hadamard(machine.isa, y.data(), n);
        check.near("values", y, exact, {1e-13, 1e-5});
        qk::cpu::hadamard(machine.isa, y.data(), n);
        check.near("and back", y, doubles(x), {1e-13, 1e-5});
      };
    }});
  }
}

}  // namespace

void addElementCases(Cases& cases, bool thorough) {
  addFunctions(cases);
  for (const std::int64_t n : {1, 15, 31, 512}) addSwiglu(cases, n);
  addRows(cases, thorough);
  addRoundTrip(cases, "E4M3 of attention keys", qk::cpu::roundTripE4m3, qk::reference::roundTripE4m3, {64, 448, 192, 33});
  addRoundTrip(cases, "E2M1 of the indexer", qk::cpu::roundTripE2m1, qk::reference::roundTripE2m1, {32, 128});
  addHadamard(cases);
}

}  // namespace suite
