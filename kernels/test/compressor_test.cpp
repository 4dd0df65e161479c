#include "qk/compressor.h"

#include "operation_check.h"
#include "qk/rms_norm.h"
#include "qk/rope.h"
#include "qk/round_trip.h"

using check::Doubles;
using check::Floats;

namespace {

// (k, gate) rows of a sequence, and its positional bias.
struct Sequence {
  Sequence(check::Random& random, qk::CompressorShape s, std::int64_t n)
      : shape(s),
        tokens(n),
        k(random.normals(n * s.width())),
        gate(random.normals(n * s.width(), 3)),
        ape(random.normals(s.ratio * s.width())) {}
  void appendTo(qk::CompressorState& state, std::int64_t count) const {
    const std::int64_t at = state.position() * shape.width();
    state.append(k.data() + at, gate.data() + at, ape.data(), count);
  }
  Doubles z() const {
    Doubles values = check::doubles(gate);
    for (std::int64_t i = 0; i < tokens * shape.width(); ++i) {
      const std::int64_t slot = i / shape.width() % shape.ratio;
      values[static_cast<std::size_t>(i)] +=
          static_cast<double>(ape[static_cast<std::size_t>(slot * shape.width() + i % shape.width())]);
    }
    return values;
  }
  qk::CompressorShape shape;
  std::int64_t tokens;
  Floats k, gate, ape;
};

Floats pool(qk::Isa isa, const qk::CompressorState& state, std::int64_t j) {
  Floats out = check::poisoned(state.shape().dim);
  qk::cpu::compressorPool(isa, state, j, out.data());
  return out;
}

const std::vector<qk::CompressorShape> kShapes = {{4, 128}, {4, 33}, {128, 128}, {128, 24}};

}  // namespace

TEST_CASE("pooling agrees with fp64, the first block without a block before it included") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const qk::CompressorShape& shape : kShapes) {
    const Sequence s(random, shape, 3 * shape.ratio + 1);
    qk::CompressorState state(shape);
    s.appendTo(state, s.tokens);
    REQUIRE(state.entries() == 3);
    for (std::int64_t j = 0; j < 3; ++j) {
      const Floats y = check::everywhere([&](qk::Isa isa) { return pool(isa, state, j); });
      Doubles exact(y.size());
      qk::reference::compressorPool(shape, check::doubles(s.k).data(), s.z().data(), j, exact.data());
      CHECK(check::nmse(y, exact) < 1e-12);
      CHECK(check::maxAbs(y, exact) < 1e-5);
    }
  }
}

TEST_CASE(
    "an entry has the same bits whatever the chunks, with rows dropped as soon as they are not needed") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const qk::CompressorShape& shape : kShapes) {
    const Sequence s(random, shape, 3 * shape.ratio + 2);
    qk::CompressorState whole(shape);
    s.appendTo(whole, s.tokens);
    for (const std::int64_t chunk :
         {std::int64_t{1}, std::int64_t{3}, std::int64_t{7}, shape.ratio, shape.ratio + 1}) {
      qk::CompressorState state(shape);
      std::int64_t j = 0;
      while (state.position() < s.tokens) {
        s.appendTo(state, std::min(chunk, s.tokens - state.position()));
        for (; j < state.entries(); ++j) {
          CHECK(check::sameBits(pool(qk::bestIsa(), state, j), pool(qk::bestIsa(), whole, j)));
        }
        state.drop();
        CHECK(state.position() - state.firstRow() < 2 * shape.ratio);
      }
      CHECK(j == 3);
    }
  }
}

TEST_CASE("going back and on again gives the same bits; going back too far is refused") {
  check::Random random;
  INFO("seed ", random.seed());
  const qk::CompressorShape shape{4, 32};
  const Sequence s(random, shape, 40);
  qk::CompressorState whole(shape);
  s.appendTo(whole, 40);
  qk::CompressorState state = whole;
  for (const std::int64_t position : {39, 22, 5, 0}) {
    state.truncate(position);
    CHECK(state.position() == position);
    CHECK(state.entries() == position / 4);
    qk::CompressorState again = state;
    s.appendTo(again, 40 - position);
    for (std::int64_t j = 0; j < 10; ++j) {
      CHECK(check::sameBits(pool(qk::bestIsa(), again, j), pool(qk::bestIsa(), whole, j)));
    }
  }
  whole.drop();
  CHECK(whole.firstRow() == 36);
  CHECK_THROWS_AS(whole.truncate(39), std::out_of_range);
  CHECK_THROWS_AS(whole.truncate(41), std::out_of_range);
  whole.truncate(40);
}

TEST_CASE("rows written in parts are those that were appended") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const qk::CompressorShape& shape : kShapes) {
    const Sequence s(random, shape, 2 * shape.ratio + 3);
    qk::CompressorState whole(shape);
    s.appendTo(whole, s.tokens);
    qk::CompressorState parts(shape);
    s.appendTo(parts, 2);
    parts.extend(s.tokens - 2);
    std::copy(s.k.begin() + 2 * shape.width(), s.k.end(), parts.k(2));
    std::copy(s.gate.begin() + 2 * shape.width(), s.gate.end(), parts.z(2));
    parts.addBias(s.ape.data(), 5, s.tokens - 5);
    parts.addBias(s.ape.data(), 2, 3);
    for (std::int64_t j = 0; j < 2; ++j) {
      CHECK(check::sameBits(pool(qk::bestIsa(), parts, j), pool(qk::bestIsa(), whole, j)));
    }
  }
}

TEST_CASE("dropped rows leave checkpoints: back at a multiple of 128 the entries have the same bits") {
  check::Random random;
  INFO("seed ", random.seed());
  for (const qk::CompressorShape& shape : {qk::CompressorShape{4, 32}, qk::CompressorShape{128, 24}}) {
    const Sequence s(random, shape, 1100);
    qk::CompressorState whole(shape);
    s.appendTo(whole, s.tokens);
    const auto continues = [&](qk::CompressorState state) {
      const std::int64_t from = state.entries();
      s.appendTo(state, s.tokens - state.position());
      bool same = state.entries() == whole.entries();
      for (std::int64_t j = from; j < whole.entries(); ++j) {
        same = same && check::sameBits(pool(qk::bestIsa(), state, j), pool(qk::bestIsa(), whole, j));
      }
      return same;
    };
    for (const std::int64_t step : {1, 7, 128, 129, 400}) {
      qk::CompressorState state(shape);
      while (state.position() < 1000) {
        s.appendTo(state, std::min(step, 1000 - state.position()));
        if (state.position() - state.firstRow() > 200) state.drop(150);
      }
      CHECK(state.position() - state.firstRow() <= 200 + shape.ratio);
      for (const std::int64_t back : {1000, 999, 860, 700, 640, 513, 384, 129, 128, 127, 0}) {
        INFO("ratio ", shape.ratio, " step ", step, " back ", back);
        const std::int64_t reachable = state.reachable(back);
        CHECK(reachable <= back);
        CHECK((reachable == back || reachable == back / 128 * 128));
        if (back >= 850 + shape.ratio) CHECK(reachable == back);
        qk::CompressorState copy(shape);
        s.appendTo(copy, 3);
        copy.copyPrefix(state, reachable);
        CHECK(copy.position() == reachable);
        CHECK(continues(copy));
        if (reachable < back) CHECK_THROWS_AS(copy.copyPrefix(state, back), std::out_of_range);
        // and the copy can go back again, to where the state it came from could
        copy.truncate(copy.reachable(reachable / 2));
        CHECK(continues(copy));
        state.truncate(reachable);
        CHECK(continues(state));
      }
      // What was saved of another continuation is not taken.
      s.appendTo(state, 127);
      std::vector<float> other(static_cast<std::size_t>(600 * shape.width()), 1.0f);
      state.append(other.data(), other.data(), s.ape.data(), 600);
      state.drop(10);
      state.truncate(state.reachable(127));
      CHECK(continues(state));
    }
  }
}

TEST_CASE("a finished entry is normed, rotated at its block's first token and rounded for its kind") {
  check::Random random;
  INFO("seed ", random.seed());
  const qk::CompressorShape shape{4, 128};
  const Sequence s(random, shape, 16);
  const Floats norm = random.normals(128);
  qk::CompressorState state(shape);
  s.appendTo(state, 16);
  const std::vector<double> frequencies = {0.9, 0.3, 0.1, 0.01};
  qk::RopeTable table(frequencies);
  table.extend(16);
  for (const auto kind : {qk::cpu::EntryKind::attention, qk::cpu::EntryKind::indexer}) {
    for (const bool roundTrip : {false, true}) {
      const qk::cpu::CompressorFinish finish{norm.data(), 0.01f, 8, kind, roundTrip};
      const Floats y = check::everywhere([&](qk::Isa isa) {
        Floats out = check::poisoned(128);
        qk::cpu::compressorEntry(isa, state, 3, finish, table.row(12), out.data());
        return out;
      });
      Doubles exact(128);
      qk::reference::compressorPool(shape, check::doubles(s.k).data(), s.z().data(), 3, exact.data());
      qk::reference::rmsNorm(exact.data(), 1, 128, check::doubles(norm).data(), static_cast<double>(0.01f),
                             exact.data());
      qk::reference::rope(exact.data(), 1, 128, frequencies, 12, false);
      if (kind == qk::cpu::EntryKind::attention) {
        if (roundTrip) qk::reference::roundTripE4m3(exact.data(), 120);
      } else {
        qk::reference::hadamard(exact.data(), 128);
        if (roundTrip) qk::reference::roundTripE2m1(exact.data(), 128);
      }
      // A value within rounding of a tie may take the other level: one step of E2M1 is large, so few may
      // differ.
      CHECK(check::nmse(y, exact) < (roundTrip ? 1e-3 : 1e-12));
    }
  }
}
