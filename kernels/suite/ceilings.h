// Owns the ceilings of this machine: what a loop of nothing but the instruction in question reaches, and how fast
// memory is read.
#pragma once

#include "measure.h"
#include "qk/isa.h"
#include "qk/thread_pool.h"

namespace suite {

// Billions of multiplications and additions of int8 a second: dpbusd on avx512; maddubs and an int16 addition on avx2,
// which is what codes of few bits allow at best; a plain loop on portable.
Ceiling int8Ceiling(qk::Isa isa, qk::ThreadPool& pool);
// Billions of multiplications and additions of fp32 a second, fused where the set has it.
Ceiling floatCeiling(qk::Isa isa, qk::ThreadPool& pool);
// Billions of bytes a second, read once each from more memory than any cache holds.
Ceiling memoryCeiling(qk::ThreadPool& pool, bool quick);

}  // namespace suite
