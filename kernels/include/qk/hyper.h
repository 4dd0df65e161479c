// Owns manifold-constrained hyper-connections: n streams of D values per token that are reduced to the input
// of a sub-layer and take its output back; the mixing matrix is made doubly stochastic by Sinkhorn rounds.
#pragma once

#include <cstdint>

#include "qk/isa.h"

namespace qk {

inline constexpr std::int64_t kMaxStreams = 8;

// Parameters of one site. All pointers are to fp32 as the file holds them.
struct HyperSite {
  std::int64_t streams = 0;      // n
  std::int64_t hidden = 0;       // D
  const float* fn = nullptr;     // [n*(2+n)][n*D]; for the head [n][n*D]
  const float* scale = nullptr;  // [3]: pre, post, mix; for the head [1]
  const float* base = nullptr;   // [n*(2+n)]; for the head [n]
  std::int64_t sinkhornRounds = 0;
  float hyperEps = 0;
  float rmsEps = 0;  // inside r = 1/sqrt(mean(X^2) + eps)
};

}  // namespace qk

namespace qk::cpu {

// For `tokens` tokens, h [tokens][n][D] -> u [tokens][D] (sum_i pre_i h_i, not yet normed), post
// [tokens][n], mix [tokens][n*n] (row = source stream, column = destination). A token's bits do not depend
// on its neighbours; cost per token is lowest for ranges that are multiples of 16. The product with fn has
// the order of qk::cpu::dot over the n*D values.
void hyperPre(Isa isa, const HyperSite& site, const float* h, std::int64_t tokens, float* u, float* post,
              float* mix);

// h'_j = post_j * y + sum_i mix_ij h_i (fma, i ascending), in place in h [tokens][n][D]; y [tokens][D].
void hyperPost(Isa isa, std::int64_t streams, std::int64_t hidden, const float* y, const float* post,
               const float* mix, std::int64_t tokens, float* h);

// Head: z [tokens][D] = sum_i (sigmoid(m_i * scale + base_i) + hyperEps) h_i.
void hyperHead(Isa isa, const HyperSite& site, const float* h, std::int64_t tokens, float* z);

}  // namespace qk::cpu

namespace qk::reference {

struct HyperSite {
  std::int64_t streams = 0, hidden = 0;
  const double *fn = nullptr, *scale = nullptr, *base = nullptr;
  std::int64_t sinkhornRounds = 0;
  double hyperEps = 0, rmsEps = 0;
};

// One token each; shapes as above.
void hyperPre(const HyperSite& site, const double* h, double* u, double* post, double* mix);
void hyperPost(std::int64_t streams, std::int64_t hidden, const double* y, const double* post,
               const double* mix, double* h);
void hyperHead(const HyperSite& site, const double* h, double* z);

}  // namespace qk::reference
