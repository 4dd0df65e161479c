// Owns the evaluation of one chunk: tokens in, rows into the state, logits of the wanted positions out.
#pragma once

#include <atomic>
#include <exception>

#include "attention_block.h"
#include "expert_block.h"
#include "hyper_block.h"
#include "switches.h"

namespace qe {

// A request was cancelled while a chunk ran; the state ends with the last slice that was evaluated whole.
class Cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "the request was cancelled"; }
};

enum class LogitRows { None, Last, All };

class Forward {
 public:
  // All must outlive the object; owners is null when the experts are not divided.
  Forward(const Model& model, const Switches& switches, qk::Execution execution, qk::Owners* owners,
          PlantedFault& planted);

  // Evaluates `count` tokens at position state.length() and appends them. logits: [count][V] for All, [V]
  // for Last. Throws Cancelled; after any exception the state is as it was, or holds the first slices of the chunk.
  void run(State& state, const std::int32_t* tokens, std::int64_t count, LogitRows wanted, float* logits,
           StageClock& clock, const std::atomic<bool>& cancelled);
  std::int64_t bytes() const;

 private:
  // Tokens that go through the layers together, of a chunk of `count` tokens that begins at `start`.
  std::int64_t sliceTokens(std::int64_t start, std::int64_t count) const;
  // A slice of the chunk through all layers; its rows are written but not yet appended.
  void evaluate(State& state, const Run& run, qk::MoePlan plan, const std::int32_t* tokens, LogitRows wanted,
                float* logits, const std::atomic<bool>& cancelled);
  void writeLogits(const Run& run, const float* streams, std::int64_t rows, float* logits);

  const Model& model_;
  const Switches& switches_;
  qk::Execution execution_;
  std::int64_t mostTokens_;  // of a slice, by memory
  HyperBlock hyper_;
  AttentionBlock attention_;
  ExpertBlock experts_;
  Operand headInput_;
  Scratch<float> streams_;
};

}  // namespace qe
