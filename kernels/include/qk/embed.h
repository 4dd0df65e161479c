// Owns the way in: a token's row of the embedding table, in every stream.
#pragma once

#include <cstdint>

#include "qk/matrix.h"

namespace qk::cpu {

// out [streams][table.cols]. Throws std::out_of_range for a token outside [0, table.rows).
void embed(const Matrix& table, std::int64_t token, std::int64_t streams, float* out);

}  // namespace qk::cpu
