// Owns the cases of hyper-connections and of the compressor.
#include <algorithm>
#include <cmath>

#include "case.h"
#include "qk/compressor.h"
#include "qk/hyper.h"
#include "qk/rms_norm.h"
#include "qk/rope.h"
#include "qk/round_trip.h"

namespace suite {
namespace {

struct HyperShape {
  std::int64_t streams, hidden, tokens, rounds;
};

// Random parameters of a site and the streams of some tokens, in fp32 and fp64.
struct Site {
  Site(Random& random, const HyperShape& c)
      : rows(c.streams * (2 + c.streams)),
        fn(random.normals(rows * c.streams * c.hidden, 1.0f / std::sqrt(static_cast<float>(c.hidden)))),
        scale(random.normals(3)),
        base(random.normals(rows)),
        h(random.normals(c.tokens * c.streams * c.hidden, 2)),
        y(random.normals(c.tokens * c.hidden)),
        site{c.streams, c.hidden, fn.data(), scale.data(), base.data(), c.rounds, 0.01f, 0.02f},
        wideFn(doubles(fn)),
        wideScale(doubles(scale)),
        wideBase(doubles(base)),
        wideH(doubles(h)),
        exact{c.streams, c.hidden, wideFn.data(), wideScale.data(), wideBase.data(), c.rounds,
              static_cast<double>(0.01f), static_cast<double>(0.02f)} {}
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  std::int64_t rows;
  Floats fn, scale, base, h, y;
  qk::HyperSite site;
  Doubles wideFn, wideScale, wideBase, wideH;
  qk::reference::HyperSite exact;
};

void addHyper(Cases& cases, const HyperShape& c) {
  const std::string name = std::to_string(c.streams) + " streams of " + std::to_string(c.hidden) + ", " +
                           std::to_string(c.tokens) + " tokens, " + std::to_string(c.rounds) + " rounds";
  cases.push_back({"hyper", name, CaseClass::bounded, [=](Setup& setup) -> Run {
    const auto s = std::make_shared<Site>(setup.random, c);
    const std::int64_t n = c.streams, nd = n * c.hidden;
    Doubles u(static_cast<std::size_t>(c.tokens * c.hidden)), post(static_cast<std::size_t>(c.tokens * n)),
        mix(static_cast<std::size_t>(c.tokens * n * n)), z(u.size()), after = s->wideH;
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      const double* h = s->wideH.data() + t * nd;
      qk::reference::hyperPre(s->exact, h, u.data() + t * c.hidden, post.data() + t * n, mix.data() + t * n * n);
      qk::reference::hyperHead(s->exact, h, z.data() + t * c.hidden);
    }
    return [=](const Machine& machine, Check& check) {
      Destination gotU(c.tokens * c.hidden), gotPost(c.tokens * n), gotMix(c.tokens * n * n), gotZ(c.tokens * c.hidden);
      qk::cpu::hyperPre(machine.isa, s->site, s->h.data(), c.tokens, gotU.data(), gotPost.data(), gotMix.data());
      check.near("pre u", gotU, u, {1e-12, 1e-3});
      check.near("pre post", gotPost, post, {1e-12, 1e-5});
      check.near("pre mix", gotMix, mix, {1e-12, 1e-5});
      qk::cpu::hyperHead(machine.isa, s->site, s->h.data(), c.tokens, gotZ.data());
      check.near("head", gotZ, z, {1e-12, 1e-3});
      // The fp64 of post starts at the same fp32 post and mix.
      Destination h(c.tokens * nd);
      std::copy(s->h.begin(), s->h.end(), h.data());
      qk::cpu::hyperPost(machine.isa, n, c.hidden, s->y.data(), gotPost.data(), gotMix.data(), c.tokens, h.data());
      Doubles exact = s->wideH;
      const Doubles y = doubles(s->y), p = doubles(gotPost.values()), m = doubles(gotMix.values());
      for (std::int64_t t = 0; t < c.tokens; ++t) {
        qk::reference::hyperPost(n, c.hidden, y.data() + t * c.hidden, p.data() + t * n, m.data() + t * n * n,
                                 exact.data() + t * nd);
      }
      check.near("post", h, exact, {1e-13, 1e-4});
      for (const std::int64_t t : {std::int64_t{0}, c.tokens / 2, c.tokens - 1}) {
        Destination alone(c.hidden), alonePost(n), aloneMix(n * n);
        qk::cpu::hyperPre(machine.isa, s->site, s->h.data() + t * nd, 1, alone.data(), alonePost.data(), aloneMix.data());
        check.bits("token " + std::to_string(t) + " alone", alone,
                   gotU.values().subspan(static_cast<std::size_t>(t * c.hidden), static_cast<std::size_t>(c.hidden)));
      }
    };
  }});
}

struct Sequence {
  qk::CompressorShape shape;
  std::int64_t tokens;
  Floats k, gate, ape;
  Doubles z() const {
    Doubles values = doubles(gate);
    for (std::int64_t i = 0; i < tokens * shape.width(); ++i) {
      const std::int64_t slot = i / shape.width() % shape.ratio;
      values[static_cast<std::size_t>(i)] +=
          static_cast<double>(ape[static_cast<std::size_t>(slot * shape.width() + i % shape.width())]);
    }
    return values;
  }
  void append(qk::CompressorState& state, std::int64_t count) const {
    const std::int64_t at = state.position() * shape.width();
    state.append(k.data() + at, gate.data() + at, ape.data(), count);
  }
};

void addCompressor(Cases& cases, qk::CompressorShape shape) {
  const std::string name = "ratio " + std::to_string(shape.ratio) + ", " + std::to_string(shape.dim) + " wide";
  cases.push_back({"compressor", name, CaseClass::bounded, [=](Setup& setup) -> Run {
    auto s = std::make_shared<Sequence>(Sequence{shape, 3 * shape.ratio + 1, {}, {}, {}});
    s->k = setup.random.normals(s->tokens * shape.width());
    s->gate = setup.random.normals(s->tokens * shape.width(), 3);
    s->ape = setup.random.normals(shape.ratio * shape.width());
    return [=](const Machine& machine, Check& check) {
      qk::CompressorState whole(shape);
      s->append(whole, s->tokens);
      check.that(whole.entries() == 3, "3 blocks are not 3 entries");
      for (std::int64_t j = 0; j < 3; ++j) {
        Destination out(shape.dim);
        qk::cpu::compressorPool(machine.isa, whole, j, out.data());
        Doubles exact(static_cast<std::size_t>(shape.dim));
        qk::reference::compressorPool(shape, doubles(s->k).data(), s->z().data(), j, exact.data());
        check.near("entry " + std::to_string(j), out, exact, {1e-12, 1e-5});
        // The same bits whatever the chunks, with rows dropped as soon as they are not needed.
        for (const std::int64_t chunk : {std::int64_t{1}, std::int64_t{3}, shape.ratio, shape.ratio + 1}) {
          qk::CompressorState state(shape);
          while (state.entries() <= j) {
            if (state.entries() <= j - 1) state.drop();
            s->append(state, std::min(chunk, s->tokens - state.position()));
          }
          Destination again(shape.dim);
          if (state.entries() - 1 != j) continue;
          qk::cpu::compressorPool(machine.isa, state, j, again.data());
          check.bits("entry " + std::to_string(j) + " in chunks of " + std::to_string(chunk), again, out.values());
        }
      }
    };
  }});
}

void addEntry(Cases& cases, qk::cpu::EntryKind kind, bool roundTrip) {
  const std::string name = std::string(kind == qk::cpu::EntryKind::attention ? "attention" : "indexer") + " entry" +
                           (roundTrip ? ", rounded" : "");
  cases.push_back({"compressor", name, CaseClass::bounded, [=](Setup& setup) -> Run {
    const qk::CompressorShape shape{4, 128};
    auto s = std::make_shared<Sequence>(Sequence{shape, 16, setup.random.normals(16 * shape.width()),
                                                 setup.random.normals(16 * shape.width(), 3),
                                                 setup.random.normals(4 * shape.width())});
    const Floats norm = setup.random.normals(128);
    const std::vector<double> frequencies = {0.9, 0.3, 0.1, 0.01};
    Doubles exact(128);
    qk::reference::compressorPool(shape, doubles(s->k).data(), s->z().data(), 3, exact.data());
    qk::reference::rmsNorm(exact.data(), 1, 128, doubles(norm).data(), static_cast<double>(0.01f), exact.data());
    qk::reference::rope(exact.data(), 1, 128, frequencies, 12, false);
    if (kind == qk::cpu::EntryKind::indexer) {
      qk::reference::hadamard(exact.data(), 128);
      if (roundTrip) qk::reference::roundTripE2m1(exact.data(), 128);
    } else if (roundTrip) {
      qk::reference::roundTripE4m3(exact.data(), 120);
    }
    return [=](const Machine& machine, Check& check) {
      qk::CompressorState state(shape);
      s->append(state, 16);
      qk::RopeTable table(frequencies);
      table.extend(16);
      Destination out(128);
      qk::cpu::compressorEntry(machine.isa, state, 3, {norm.data(), 0.01f, 8, kind, roundTrip}, table.row(12), out.data());
      // One step of E2M1 is large: a value within rounding of a tie may take the other level.
      const bool coarse = roundTrip && kind == qk::cpu::EntryKind::indexer;
      check.near("entry", out, exact, {coarse ? 2e-2 : roundTrip ? 1e-3 : 1e-12, roundTrip ? 100 : 1e-4, 1e-2});
    };
  }});
}

}  // namespace

void addHyperCases(Cases& cases, bool thorough) {
  for (const HyperShape& c : std::vector<HyperShape>{
           {4, 256, 1, 20}, {4, 96, 16, 20}, {4, 40, 37, 3}, {2, 33, 5, 1}, {3, 16, 20, 2}, {8, 16, 18, 20}})
    addHyper(cases, c);
  if (thorough) addHyper(cases, {4, 4096, 33, 20});
  for (const qk::CompressorShape& shape : std::vector<qk::CompressorShape>{{4, 128}, {4, 33}, {128, 128}, {128, 24}})
    addCompressor(cases, shape);
  for (const auto kind : {qk::cpu::EntryKind::attention, qk::cpu::EntryKind::indexer}) {
    for (const bool roundTrip : {false, true}) addEntry(cases, kind, roundTrip);
  }
}

}  // namespace suite
