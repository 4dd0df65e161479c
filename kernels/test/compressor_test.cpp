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
