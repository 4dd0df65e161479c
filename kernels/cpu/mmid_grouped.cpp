// Owns the grouped plan: all experts' rows as items over the threads. It calls the same tile kernels on the same
// rows as the serial plan, so that the two differ in launches, memory traffic and balance, and in no bit.
#include <algorithm>

#include "cpu/mmid_parts.h"
#include "cpu/tile_matmul.h"
#include "qk/swiglu.h"

namespace qk::mmid {
namespace {

using Item = MoeScratch::Item;

constexpr std::int64_t blockRows = activationBlock;  // weight rows an item: requantising owns whole blocks of F
constexpr std::int64_t blockTiles = blockRows / tileRows;
constexpr std::int64_t mostRows = 64;                 // of a pass: for so many the tile kernels unpack weights once
constexpr std::int64_t passesPerItem = 4;
constexpr std::int64_t threadFloats = mostRows * blockRows;

// Rows of each pass over `rows` rows but the last: as few passes as there can be, evenly filled with whole token tiles.
std::int64_t passRows(std::int64_t rows) {
  constexpr std::int64_t tokenTile = 12;  // a multiple of the tile kernels' widths
  const std::int64_t passes = (rows + mostRows - 1) / mostRows;
  const std::int64_t even = (rows + passes - 1) / passes;
  return std::min(mostRows, (even + tokenTile - 1) / tokenTile * tokenTile);
}

// Items of one expert: the rows of a block of weights follow on each other, so that it is read from memory once.
void addItems(std::int64_t expert, const Rows& rows, std::int64_t weightRows, std::vector<Item>& items) {
  const auto e = static_cast<std::size_t>(expert);
  const std::int64_t blocks = (weightRows + blockRows - 1) / blockRows;
  const std::int64_t first = rows.bounds[e];
  const std::int64_t last = rows.bounds[e + 1];
  if (first == last) return;
  const std::int64_t pass = passRows(last - first);
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t row = first; row < last; row += passesPerItem * pass) {
      items.push_back({expert, row, std::min(passesPerItem * pass, last - row), pass, block});
    }
  }
}

// Runs fn(item, thread) for the items of all experts.
template <class Fn>
void runItems(Execution& ex, const MoeOptions& options, std::int64_t experts, const Rows& rows, std::int64_t weightRows,
              std::vector<Item>& items, const Fn& fn) {
  const auto drain = [&] {
    ex.pool.run(static_cast<std::int64_t>(items.size()), [&](std::int64_t i, int thread) {
      fn(items[static_cast<std::size_t>(i)], thread);
    });
    items.clear();
  };
  items.clear();
  for (std::int64_t e = 0; e < experts; ++e) {
    addItems(e, rows, weightRows, items);
    if (!options.persistentQueue && !items.empty()) drain();
  }
  if (options.persistentQueue) drain();
}

// gate and up of one block of F for some rows, SwiGLU and route weight, and the block's form for down.
void gateUpItem(const Execution& ex, TokenTiles tiles, const MoeWeights& weights, const Shape& shape, const Inputs& x,
                const Rows& rows, const Item& item, int thread, MoeScratch& scratch,
                MoeScratch::Hidden& hidden) {
  Inputs routed = x;
  routed.index = rows.token;
  const TileMatmul gate(ex.isa, weights.gate->matrix(item.expert), routed, tiles);
  const TileMatmul up(ex.isa, weights.up->matrix(item.expert), routed, tiles);
  const auto requantise = QK_PICK(ex.isa, quantizeRow);
  const std::int64_t firstTile = item.block * blockTiles;
  const std::int64_t width = std::min(blockRows, shape.inner - item.block * blockRows);
  const std::int64_t lastTile = firstTile + (width + tileRows - 1) / tileRows;
  float* const g = scratch.gate.as<float>() + thread * threadFloats;
  float* const u = scratch.up.as<float>() + thread * threadFloats;
  const std::int64_t end = item.firstRow + item.rows;
  for (std::int64_t first = item.firstRow; first < end; first += item.pass) {
    const std::int64_t count = std::min(item.pass, end - first);
    gate.run(firstTile, lastTile, first, count, g, blockRows);
    up.run(firstTile, lastTile, first, count, u, blockRows);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = first + i;
      const float weight = rows.weight != nullptr ? rows.weight[row] : 1.0f;
      float* const m = shape.downTakesInt8
                           ? g + i * blockRows
                           : hidden.values.as<float>() + row * shape.inner + item.block * blockRows;
      cpu::swiglu(ex.isa, g + i * blockRows, u + i * blockRows, width, weights.clamp, weight, m);
      if (shape.downTakesInt8) requantise(m, width, hidden.quantised.row(row) + item.block);
    }
  }
}

// How out [tokens][D] is cut: one item owns a block of columns of a band of tokens, for all experts.
struct Cut {
  std::int64_t width;   // columns
  std::int64_t blocks;  // of columns
  std::int64_t bands;
  std::int64_t bandTokens;
};

// The cut with the least estimated time: rounds of items over the threads, and a part of an item for what threads
// wait at the end, times what an item takes. Every band unpacks the weights again, which is worth some rows of an
// expert; every block brings the hidden rows near again, which is worth some columns.
Cut cutOutput(const Shape& shape, const Rows& rows, std::int64_t tokens, std::int64_t threads) {
  constexpr double unpackRows = 6;
  constexpr double hiddenColumns = 20;
  constexpr double waitedItems = 0.2;
  constexpr std::int64_t widest = 1024;
  constexpr std::int64_t narrowest = 64;
  constexpr std::int64_t fewestBandTokens = 32;
  std::int64_t active = 0;
  for (std::size_t e = 1; e < rows.bounds.size(); ++e) active += rows.bounds[e] > rows.bounds[e - 1] ? 1 : 0;
  const double rowsEach = active > 0 ? static_cast<double>(rows.bounds.back()) / static_cast<double>(active) : 0;
  const std::int64_t mostBands = std::clamp<std::int64_t>(tokens / fewestBandTokens, 1, threads > 1 ? 2 * threads : 1);
  Cut best{};
  double least = 0;
  for (std::int64_t width = widest; width >= narrowest; width /= 2) {
    const std::int64_t blocks = (shape.hidden + width - 1) / width;
    for (std::int64_t bands = 1; bands <= mostBands; ++bands) {
      const std::int64_t rounds = (blocks * bands + threads - 1) / threads;
      const double item = (rowsEach / static_cast<double>(bands) + unpackRows) *
                          (static_cast<double>(std::min(width, shape.hidden)) + hiddenColumns);
      const double time = (static_cast<double>(rounds) + (threads > 1 ? waitedItems : 0)) * item;
      if (best.width != 0 && time >= least) continue;
      least = time;
      best = {width, blocks, bands, (tokens + bands - 1) / bands};
    }
  }
  return best;
}

// The first row of [first, last) whose token is `token` or later.
std::int64_t firstRowFrom(const Rows& rows, std::int64_t first, std::int64_t last, std::int64_t token) {
  if (rows.token == nullptr) return std::clamp(token, first, last);
  return std::lower_bound(rows.token + first, rows.token + last, token) - rows.token;
}

// The rows of one expert times one block of columns, added to the tokens of one band.
class DownCombine {
 public:
  DownCombine(const Execution& ex, TokenTiles tiles, const MoeWeights& weights, const Shape& shape, const Rows& rows,
              const MoeScratch::Hidden& hidden, std::int64_t tokens, MoeScratch& scratch, float* out)
      : isa_(ex.isa),
        tiles_(tiles),
        add_(QK_PICK(ex.isa, addRow)),
        weights_(weights),
        shape_(shape),
        rows_(rows),
        hidden_(hiddenInputs(shape, hidden)),
        tokens_(tokens),
        cut_(cutOutput(shape, rows, tokens, ex.pool.threads())),
        scratch_(scratch),
        out_(out) {}

  std::int64_t items() const { return cut_.blocks * cut_.bands; }

  void clear(std::int64_t item) const {
    const Place at = place(item);
    for (std::int64_t t = at.firstToken; t < at.lastToken; ++t) {
      float* const sum = out_ + t * shape_.hidden + at.column;
      std::fill(sum, sum + at.width, 0.0f);
    }
  }

  void add(std::int64_t item, std::int64_t expert, int thread) const {
    const Place at = place(item);
    const auto e = static_cast<std::size_t>(expert);
    std::int64_t first = rows_.bounds[e];
    std::int64_t last = rows_.bounds[e + 1];
    if (cut_.bands > 1) {
      first = firstRowFrom(rows_, first, last, at.firstToken);
      last = firstRowFrom(rows_, first, last, at.lastToken);
    }
    if (first == last) return;
    const TileMatmul down(isa_, weights_.down->matrix(expert), hidden_, tiles_);
    float* const y = scratch_.gate.as<float>() + thread * threadFloats;
    for (const std::int64_t pass = passRows(last - first); first < last; first += pass) {
      const std::int64_t count = std::min(pass, last - first);
      for (std::int64_t done = 0; done < at.width; done += blockRows) {
        addBlock(down, first, count, at.column + done, std::min(blockRows, at.width - done), y);
      }
    }
  }

 private:
  // y: room for the rows' block of columns.
  void addBlock(const TileMatmul& down, std::int64_t first, std::int64_t count, std::int64_t column,
                std::int64_t width, float* y) const {
    const std::int64_t firstTile = column / tileRows;
    down.run(firstTile, firstTile + (width + tileRows - 1) / tileRows, first, count, y, blockRows);
    for (std::int64_t i = 0; i < count; ++i) {
      add_(y + i * blockRows, width, out_ + rows_.tokenOf(first + i) * shape_.hidden + column);
    }
  }

  struct Place {
    std::int64_t column, width;
    std::int64_t firstToken, lastToken;
  };
  Place place(std::int64_t item) const {
    // Bands of one block are neighbours: they read the same weights at the same time.
    const std::int64_t column = item / cut_.bands * cut_.width;
    const std::int64_t token = std::min(tokens_, item % cut_.bands * cut_.bandTokens);
    return {column, std::min(cut_.width, shape_.hidden - column), token,
            std::min(tokens_, token + cut_.bandTokens)};
  }

  Isa isa_;
  TokenTiles tiles_;
  decltype(QK_PICK(Isa{}, addRow)) add_;
  const MoeWeights& weights_;
  const Shape& shape_;
  const Rows& rows_;
  Inputs hidden_;
  std::int64_t tokens_;
  Cut cut_;
  MoeScratch& scratch_;
  float* out_;
};

}  // namespace

void reserveHidden(const Shape& shape, std::int64_t rows, MoeScratch::Hidden& hidden) {
  if (shape.downTakesInt8) {
    hidden.quantised.resize(rows, shape.inner);
  } else {
    hidden.values.reserve(static_cast<std::size_t>(rows * shape.inner) * sizeof(float));
  }
}

Inputs hiddenInputs(const Shape& shape, const MoeScratch::Hidden& hidden) {
  return shape.downTakesInt8 ? inputs(nullptr, shape.inner, &hidden.quantised)
                             : inputs(hidden.values.as<float>(), shape.inner, nullptr);
}

void groupedGateUp(Execution& ex, const MoeOptions& options, const MoeWeights& weights, const Shape& shape, const Inputs& x,
                   const Rows& rows, MoeScratch& scratch, MoeScratch::Hidden& hidden) {
  reserveHidden(shape, rows.bounds.back(), hidden);
  reserveGateUp(ex.pool.threads() * threadFloats, scratch);
  runItems(ex, options, shape.experts, rows, shape.inner, scratch.items, [&](const Item& item, int thread) {
    gateUpItem(ex, options.tiles(), weights, shape, x, rows, item, thread, scratch, hidden);
  });
}

void groupedDown(Execution& ex, const MoeOptions& options, const MoeWeights& weights, const Shape& shape, const Rows& rows,
                 const MoeScratch::Hidden& hidden, MoeScratch& scratch, float* y) {
  const Inputs in = hiddenInputs(shape, hidden);
  runItems(ex, options, shape.experts, rows, shape.hidden, scratch.items, [&](const Item& item, int) {
    const PackedMatrix down = weights.down->matrix(item.expert);
    const TileMatmul kernel(ex.isa, down, in, options.tiles());
    const std::int64_t firstTile = item.block * blockTiles;
    const std::int64_t lastTile = std::min(down.tileCount(), firstTile + blockTiles);
    const std::int64_t end = item.firstRow + item.rows;
    for (std::int64_t first = item.firstRow; first < end; first += item.pass) {
      kernel.run(firstTile, lastTile, first, std::min(item.pass, end - first),
                 y + first * shape.hidden + item.block * blockRows, shape.hidden);
    }
  });
}

void groupedDownCombine(Execution& ex, const MoeOptions& options, const MoeWeights& weights, const Shape& shape,
                        const Rows& rows, const MoeScratch::Hidden& hidden, std::int64_t tokens, bool fresh,
                        MoeScratch& scratch, float* out) {
  reserveGateUp(ex.pool.threads() * threadFloats, scratch);
  const DownCombine part(ex, options.tiles(), weights, shape, rows, hidden, tokens, scratch, out);
  if (options.persistentQueue) {
    ex.pool.run(part.items(), [&](std::int64_t item, int thread) {
      if (fresh) part.clear(item);
      for (std::int64_t e = 0; e < shape.experts; ++e) part.add(item, e, thread);
    });
    return;
  }
  if (fresh) ex.pool.run(part.items(), [&](std::int64_t item, int) { part.clear(item); });
  for (std::int64_t e = 0; e < shape.experts; ++e) {
    if (rows.bounds[static_cast<std::size_t>(e)] == rows.bounds[static_cast<std::size_t>(e) + 1]) continue;
    ex.pool.run(part.items(), [&](std::int64_t item, int thread) { part.add(item, e, thread); });
  }
}

}  // namespace qk::mmid
