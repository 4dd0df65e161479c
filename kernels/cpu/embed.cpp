// Owns the lookup of a token's row.
//
// A copy: bytes of one row of the table read, 4 D written for each stream, no arithmetic; memory is the floor. Not
// measured by itself; the stage `other` holds it.
#include "qk/embed.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace qk::cpu {

void embed(const Matrix& table, std::int64_t token, std::int64_t streams, float* out) {
  if (token < 0 || token >= table.rows) {
    throw std::out_of_range("token " + std::to_string(token) + " is outside the vocabulary of " +
                            std::to_string(table.rows));
  }
  dequantize(table.type, table.row(token), table.cols, out);
  for (std::int64_t i = 1; i < streams; ++i) {
    std::memcpy(out + i * table.cols, out, static_cast<std::size_t>(table.cols) * sizeof(float));
  }
}

}  // namespace qk::cpu
