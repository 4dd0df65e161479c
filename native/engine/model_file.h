// Owns what a model file means: its dimensions, its creation from a preset and a seed, and its description.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gguf_reader.h"
#include "qk/dimensions.h"

namespace qe {

// Dimensions and constants from the metadata; nothing is assumed, and every tensor of the model is checked against them.
// Throws std::runtime_error naming the file and the key, or the tensor with expected and found dimensions.
qk::Dimensions readDimensions(const Gguf& file);

struct CreateOptions {
  std::string preset = "unit";      // see presets.h
  std::string experts = "rocmfp2";  // see expertTypes in weights_generator.h
  // Type of attention, indexer, shared experts, embedding and output: see generatedDense in weights_generator.h. Empty
  // means q8_0 (in a stress model f32); another is recorded as qualify.dense.
  std::string dense;
  std::uint64_t seed = 0;
  std::filesystem::path out;
  int threads = 1;         // does not change a byte of the file
  bool stress = false;     // unstructured weights, every tensor F32, odd metadata; needs experts f32
  // False writes a file whose keys and indexer vectors are not rounded to FP8 and FP4: llama.cpp never rounds them, so
  // only on such a file can its logits be compared with ours. Recorded as qualify.key_round_trip, .indexer_round_trip.
  bool roundTrips = true;
  bool overwrite = false;  // false refuses when `out` exists
  const std::atomic<bool>* cancel = nullptr;  // set from anywhere: createModel throws and leaves no file
};

struct Created {
  std::uint64_t sizeBytes = 0;
  std::int64_t tensors = 0;
};

// Called from the calling thread, now and then.
using Progress = std::function<void(std::uint64_t doneBytes, std::uint64_t totalBytes)>;

// Writes a GGUF v3 file under a temporary name in the folder of `out`, syncs it and renames it; on any failure nothing
// stays behind. The bytes depend on (preset, experts, dense, seed, stress, roundTrips)
// alone. Memory stays below 64 MB whatever the size.
// Throws std::invalid_argument for an option that names nothing, std::runtime_error for the rest.
Created createModel(const CreateOptions& options, const Progress& progress = {});

struct TensorDescription {
  std::string name;
  std::string type;
  std::vector<std::int64_t> dims;
  std::uint64_t offsetBytes = 0;
  std::uint64_t sizeBytes = 0;
};

struct Description {
  std::uint64_t sizeBytes = 0;
  std::uint64_t alignment = 0;
  std::vector<MetadataEntry> metadata;
  std::vector<TensorDescription> tensors;
};

// Everything that `qualify model inspect` shows. Arrays longer than `arrayLimit` are cut there (0 keeps them whole).
Description describe(const Gguf& file, std::size_t arrayLimit = 0);

}  // namespace qe
