// Owns the speed of attention: the selected rows streamed against every visible row under a mask.
#include <cstring>

#include "../test/random_weights.h"
#include "bench.h"
#include "qk/aligned_buffer.h"
#include "qk/attention.h"

namespace suite {

void benchAttention(const Bench& bench) {
  if (!bench.wants("attention")) return;
  struct Shape {
    const char* name;
    std::int64_t heads, dim, window, selected;
  };
  for (const Shape& shape : {Shape{"mini", 16, 128, 128, 64}, Shape{"small", 32, 256, 128, 256}}) {
    qk::test::Random random(1);
    const std::int64_t n = shape.window + shape.selected;
    const auto floats = [&](std::int64_t count) { return qk::test::randomFloats(random, static_cast<std::size_t>(count)); };
    const std::vector<float> q = floats(shape.heads * shape.dim), sinks = floats(shape.heads);
    // Rows of 2048 entries (8192 tokens at ratio 4), of which every eighth is read.
    qk::AlignedBuffer rows(static_cast<std::size_t>(2048 * shape.dim) * sizeof(float));
    const std::vector<float> values = floats(2048 * shape.dim);
    std::memcpy(rows.data(), values.data(), rows.bytes() < values.size() * 4 ? rows.bytes() : values.size() * 4);
    std::vector<const float*> keys;
    for (std::int64_t j = 0; j < n; ++j) keys.push_back(rows.as<float>() + (j * 7 % 2048) * shape.dim);
    std::vector<float> scratch(static_cast<std::size_t>(qk::cpu::attentionScratch(shape.heads, shape.dim, n)));
    std::vector<float> out(q.size());
    const std::vector<double> wideQ(q.begin(), q.end()), wideSinks(sinks.begin(), sinks.end()),
        wideRows(values.begin(), values.end());
    std::vector<const double*> wideKeys;
    for (std::int64_t j = 0; j < n; ++j) wideKeys.push_back(wideRows.data() + (j * 7 % 2048) * shape.dim);
    std::vector<double> wideOut(q.size());
    measure(bench,
            {"attention", std::string(shape.name) + ", " + std::to_string(n) + " keys, one token", Bound::float32,
             4.0 * static_cast<double>(n * shape.heads * shape.dim), 1, "reference"},
            {{[&] {
               qk::cpu::attention(bench.isa, q.data(), keys.data(), n, shape.heads, shape.dim, sinks.data(), 0.088f,
                                  scratch.data(), out.data());
             }},
             {[&] {
               qk::reference::attention(wideQ.data(), wideKeys.data(), n, shape.heads, shape.dim, wideSinks.data(), 0.088,
                                        wideOut.data());
             }}});
  }
}

}  // namespace suite
