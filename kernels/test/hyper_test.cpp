#include "qk/hyper.h"

#include "operation_check.h"

using check::Doubles;
using check::Floats;

namespace {

struct Case {
  std::int64_t streams, hidden, tokens, rounds;
};

const std::vector<Case> kCases = {{4, 256, 1, 20}, {4, 96, 16, 20}, {4, 40, 37, 3},
                                  {2, 33, 5, 1},   {3, 16, 20, 2},  {8, 16, 18, 20},
                                  {4, 270, 19, 20}};  // two whole blocks of k, a part of one, and a tail

// Random parameters of a site and the streams of some tokens.
struct Site {
  Site(check::Random& random, const Case& c)
      : rows(c.streams * (2 + c.streams)),
        fn(random.normals(rows * c.streams * c.hidden, 1.0f / std::sqrt(static_cast<float>(c.hidden)))),
        scale(random.normals(3)),
        base(random.normals(rows)),
        h(random.normals(c.tokens * c.streams * c.hidden, 2)),
        site{c.streams, c.hidden, fn.data(), scale.data(), base.data(), c.rounds, 0.01f, 0.02f},
        wideFn(check::doubles(fn)),
        wideScale(check::doubles(scale)),
        wideBase(check::doubles(base)),
        wideH(check::doubles(h)),
        exact{c.streams,
              c.hidden,
              wideFn.data(),
              wideScale.data(),
              wideBase.data(),
              c.rounds,
              static_cast<double>(0.01f),
              static_cast<double>(0.02f)} {}
  std::int64_t rows;
  Floats fn, scale, base, h;
  qk::HyperSite site;
  Doubles wideFn, wideScale, wideBase, wideH;
  qk::reference::HyperSite exact;
};

// u, post and mix one after the other.
Floats pre(qk::Isa isa, const Case& c, const qk::HyperSite& site, const float* h, std::int64_t tokens) {
  Floats u = check::poisoned(tokens * c.hidden);
  Floats post = check::poisoned(tokens * c.streams);
  Floats mix = check::poisoned(tokens * c.streams * c.streams);
  qk::cpu::hyperPre(isa, site, h, tokens, u.data(), post.data(), mix.data());
  u.insert(u.end(), post.begin(), post.end());
  u.insert(u.end(), mix.begin(), mix.end());
  return u;
}

}  // namespace

TEST_CASE("hyperPre agrees with fp64 at any number of streams and tokens") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const Case& c : kCases) {
    const Site s(random, c);
    const Floats y =
        check::everywhere([&](qk::Isa isa) { return pre(isa, c, s.site, s.h.data(), c.tokens); });
    Doubles u(static_cast<std::size_t>(c.tokens * c.hidden));
    Doubles post(static_cast<std::size_t>(c.tokens * c.streams));
    Doubles mix(static_cast<std::size_t>(c.tokens * c.streams * c.streams));
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      qk::reference::hyperPre(s.exact, s.wideH.data() + t * c.streams * c.hidden, u.data() + t * c.hidden,
                              post.data() + t * c.streams, mix.data() + t * c.streams * c.streams);
    }
    u.insert(u.end(), post.begin(), post.end());
    u.insert(u.end(), mix.begin(), mix.end());
    CHECK(check::nmse(y, u) < 1e-12);
    CHECK(check::maxAbs(y, u) < 1e-4);
  }
}

TEST_CASE("a token's hyperPre does not depend on the tokens around it") {
  check::Random random;
  INFO("seed ", random.seed());
  const Case c = kCases[2];
  const Site s(random, c);
  const Floats all = pre(qk::bestIsa(), c, s.site, s.h.data(), c.tokens);
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    const Floats one = pre(qk::bestIsa(), c, s.site, s.h.data() + t * c.streams * c.hidden, 1);
    CHECK(check::sameBits(Floats(one.begin(), one.begin() + c.hidden),
                          Floats(all.begin() + t * c.hidden, all.begin() + (t + 1) * c.hidden)));
    const auto mixAll = all.end() - (c.tokens - t) * c.streams * c.streams;
    CHECK(check::sameBits(Floats(one.end() - c.streams * c.streams, one.end()),
                          Floats(mixAll, mixAll + c.streams * c.streams)));
  }
}

TEST_CASE("twenty Sinkhorn rounds make the mix doubly stochastic") {
  check::Random random;
  INFO("seed ", random.seed());
  const Case c = {4, 64, 3, 20};
  Site s(random, c);
  s.site.hyperEps = 1e-6f;
  const Floats y = pre(qk::bestIsa(), c, s.site, s.h.data(), c.tokens);
  const float* mix = y.data() + c.tokens * (c.hidden + 4);
  for (int t = 0; t < 3; ++t, mix += 16) {
    for (int i = 0; i < 4; ++i) {
      float row = 0;
      float column = 0;
      for (int j = 0; j < 4; ++j) {
        row += mix[4 * i + j];
        column += mix[4 * j + i];
      }
      CHECK(row == doctest::Approx(1).epsilon(0.05));
      CHECK(column == doctest::Approx(1).epsilon(1e-4));
    }
  }
}

TEST_CASE("hyperPost mixes from source row to destination column and agrees with fp64") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const Case& c : kCases) {
    const Floats y = random.normals(c.tokens * c.hidden);
    const Floats post = random.normals(c.tokens * c.streams);
    const Floats mix = random.normals(c.tokens * c.streams * c.streams);
    const Floats h = random.normals(c.tokens * c.streams * c.hidden);
    const Floats out = check::everywhere([&](qk::Isa isa) {
      Floats inPlace = h;
      qk::cpu::hyperPost(isa, c.streams, c.hidden, y.data(), post.data(), mix.data(), c.tokens,
                         inPlace.data());
      return inPlace;
    });
    Doubles exact = check::doubles(h);
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      qk::reference::hyperPost(c.streams, c.hidden, check::doubles(y).data() + t * c.hidden,
                               check::doubles(post).data() + t * c.streams,
                               check::doubles(mix).data() + t * c.streams * c.streams,
                               exact.data() + t * c.streams * c.hidden);
    }
    CHECK(check::nmse(out, exact) < 1e-13);
  }
  // One source stream, one destination: mix[0][1] moves stream 0 to stream 1.
  Floats h = {5, 7};
  const Floats mix = {0, 1, 0, 0};
  const Floats post = {0, 0};
  const float y = 3;
  qk::cpu::hyperPost(qk::Isa::portable, 2, 1, &y, post.data(), mix.data(), 1, h.data());
  CHECK(h == Floats{0, 5});
}

TEST_CASE("hyperHead agrees with fp64") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const Case& c : kCases) {
    const Site s(random, c);
    const Floats z = check::everywhere([&](qk::Isa isa) {
      Floats out = check::poisoned(c.tokens * c.hidden);
      qk::cpu::hyperHead(isa, s.site, s.h.data(), c.tokens, out.data());
      return out;
    });
    Doubles exact(z.size());
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      qk::reference::hyperHead(s.exact, s.wideH.data() + t * c.streams * c.hidden,
                               exact.data() + t * c.hidden);
    }
    CHECK(check::nmse(z, exact) < 1e-12);
  }
}

TEST_CASE("a number of streams beyond the limit is refused") {
  const qk::HyperSite site{9, 16, nullptr, nullptr, nullptr, 1, 0, 0};
  CHECK_THROWS_AS(qk::cpu::hyperPre(qk::Isa::portable, site, nullptr, 1, nullptr, nullptr, nullptr),
                  std::invalid_argument);
}
