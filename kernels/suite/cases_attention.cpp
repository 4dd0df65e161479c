// Owns the cases of sparse attention: every path against fp64, the sink, the window's ends, and independence of heads.
#include <cmath>

#include "attention_paths.h"

namespace suite {
namespace {

// n keys in the order window oldest .. newest, then compressed ascending.
std::shared_ptr<AttentionInput> makeInput(Setup& setup, std::int64_t heads, std::int64_t dim, std::int64_t n, float sharpness) {
  auto in = std::make_shared<AttentionInput>();
  in->heads = heads;
  in->dim = dim;
  in->q = setup.random.normals(heads * dim, sharpness);
  in->rows = setup.random.normals(n * dim);
  in->sinks = setup.random.normals(heads);
  in->scale = 1 / std::sqrt(static_cast<float>(dim));
  return in;
}

Doubles exactly(const AttentionInput& in) {
  const Doubles rows = doubles(in.rows);
  std::vector<const double*> keys;
  for (std::int64_t j = 0; j < in.n(); ++j) keys.push_back(rows.data() + j * in.dim);
  Doubles out(in.q.size());
  qk::reference::attention(doubles(in.q).data(), keys.data(), in.n(), in.heads, in.dim, doubles(in.sinks).data(),
                           static_cast<double>(in.scale), out.data());
  return out;
}

void addShape(Cases& cases, std::int64_t heads, std::int64_t dim, std::vector<std::int64_t> counts, float sharpness,
              Limits limits, const std::string& note) {
  const std::string name = std::to_string(heads) + " heads of " + std::to_string(dim) + ", " +
                           (counts.size() > 1 ? std::to_string(counts.front()) + " to " : "") +
                           std::to_string(counts.back()) + " keys" + note;
  cases.push_back({"attention", name, CaseClass::bounded, [=](Setup& setup) -> Run {
    std::vector<std::shared_ptr<AttentionInput>> inputs;
    std::vector<Doubles> expected;
    for (const std::int64_t n : counts) {
      inputs.push_back(makeInput(setup, heads, dim, n, sharpness));
      expected.push_back(exactly(*inputs.back()));
    }
    return [=](const Machine& machine, Check& check) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        for (const AttentionRoute& path : attentionRoutes()) {
          Destination out(heads * dim);
          path.run(machine, *inputs[i], out);
          // All exact paths have one name here, so that they are also held to each other's bits.
          const std::string what = (path.exact ? "exact" : path.name) + ", " + std::to_string(inputs[i]->n()) + " keys";
          check.near(what, out, expected[i], limits);
        }
      }
    };
  }});
}

void addProperties(Cases& cases) {
  cases.push_back({"attention", "the sink takes weight and gives no value", CaseClass::bounded, [](Setup& setup) -> Run {
    auto in = makeInput(setup, 3, 64, 1, 0);
    in->sinks = {0, 1000, -1000};
    Doubles expected;
    for (const double share : {0.5, 0.0, 1.0}) {
      for (const float value : in->rows) expected.push_back(share * static_cast<double>(value));
    }
    return [=](const Machine& machine, Check& check) {
      for (const AttentionRoute& path : attentionRoutes()) {
        Destination out(3 * 64);
        path.run(machine, *in, out);
        check.near(path.exact ? "exact" : path.name, out, expected, {1e-12, 1e-6});
      }
    };
  }});
  cases.push_back({"attention", "a head does not depend on the heads beside it", CaseClass::exact, [](Setup& setup) -> Run {
    const auto in = makeInput(setup, 21, 64, 50, 1);
    return [=](const Machine& machine, Check& check) {
      for (const AttentionRoute& path : attentionRoutes()) {
        Destination all(21 * 64);
        path.run(machine, *in, all);
        for (std::int64_t h = 0; h < 21; ++h) {
          AttentionInput one = *in;
          one.heads = 1;
          one.q.assign(in->q.begin() + h * 64, in->q.begin() + (h + 1) * 64);
          one.sinks = {in->sinks[static_cast<std::size_t>(h)]};
          Destination out(64);
          path.run(machine, one, out);
          check.bits(path.name + ", head " + std::to_string(h), out, all.values().subspan(static_cast<std::size_t>(h * 64), 64));
        }
      }
    };
  }});
  cases.push_back({"attention", "a NaN in a key reaches every head", CaseClass::exact, [](Setup& setup) -> Run {
    const auto in = makeInput(setup, 4, 32, 20, 1);
    in->rows[7 * 32 + 3] = std::numeric_limits<float>::quiet_NaN();
    return [=](const Machine& machine, Check& check) {
      for (const AttentionRoute& path : attentionRoutes()) {
        Destination out(4 * 32);
        path.run(machine, *in, out);
        for (const float value : out.values()) check.that(std::isnan(value), path.name + ": a NaN was lost");
      }
    };
  }});
}

}  // namespace

void addAttentionCases(Cases& cases, bool thorough) {
  const Limits precise{1e-12, 1e-5};
  std::vector<std::int64_t> few;
  for (std::int64_t n = 1; n <= 35; ++n) few.push_back(n);
  addShape(cases, 5, 32, few, 1, precise, "");
  addShape(cases, 1, 16, few, 1, precise, "");
  addShape(cases, 17, 33, {8, 64, 65}, 1, precise, "");
  addShape(cases, 16, 128, {127, 128, 129, 200, 640}, 1, precise, "");
  addShape(cases, 64, 512, {130}, 1, precise, "");
  addShape(cases, 16, 64, {40, 300}, 300, {1e-9, 1e-2}, ", scores far apart");
  if (thorough) addShape(cases, 64, 512, {128, 640, 1152}, 1, precise, "");
  addProperties(cases);
}

}  // namespace suite
