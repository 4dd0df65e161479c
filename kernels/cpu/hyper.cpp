// Owns the choice of instruction set for hyper.h.
#include "qk/hyper.h"

#include <stdexcept>
#include <string>

#include "cpu/simd/variants.h"

namespace qk::cpu {

namespace {

void checkStreams(std::int64_t streams) {
  if (streams < 1 || streams > kMaxStreams) {
    throw std::invalid_argument("hyper-connections with " + std::to_string(streams) + " streams: 1 to " +
                                std::to_string(kMaxStreams) + " are supported");
  }
}

}  // namespace

void hyperPre(Isa isa, const HyperSite& site, const float* h, std::int64_t tokens, float* u, float* post,
              float* mix) {
  checkStreams(site.streams);
  QK_PICK(isa, hyperPre)(site, h, tokens, u, post, mix);
}

void hyperPost(Isa isa, std::int64_t streams, std::int64_t hidden, const float* y, const float* post,
               const float* mix, std::int64_t tokens, float* h) {
  checkStreams(streams);
  QK_PICK(isa, hyperPost)(streams, hidden, y, post, mix, tokens, h);
}

void hyperHead(Isa isa, const HyperSite& site, const float* h, std::int64_t tokens, float* z) {
  checkStreams(site.streams);
  QK_PICK(isa, hyperHead)(site, h, tokens, z);
}

}  // namespace qk::cpu
