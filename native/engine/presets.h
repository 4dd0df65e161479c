// Owns the sizes of the models that this project creates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qk/dimensions.h"

namespace qe {

//   preset    hidden  heads  layers  experts  vocabulary   size (rocmfp2)
//   unit         256   4x128     4    16 x 256       512   8.7 MB  tests, the fp64 oracle
//   mini        1024  16x128     6    64 x 512      4096   0.26 GB  the built-in matrices
//   small       2048  16x256     8   128 x 1024     8192   2.5 GB   CPU benchmarks, comparison with llama.cpp
//   flash-8     4096  64x512     8   256 x 2048    16384    20 GB   the real widths, eight layers
std::vector<std::string> presetNames();

// Throws std::invalid_argument naming the presets that exist.
qk::Dimensions presetDimensions(std::string_view name);

// The constants of the stress file: none of them the usual one, so that code that assumes instead of reading is caught.
// Epsilons 0.01, 3 Sinkhorn rounds, window 96, top-k 11, YaRN 4 x 2048, and a clamp that differs by layer and bites.
void makeOdd(qk::Dimensions& dimensions);

}  // namespace qe
