// Owns work on the tensors of a file in pieces: cut in file order, handed to threads, ended by the first failure.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace qe {

// Units [first, first + count) of one tensor; `index` counts the pieces of all tensors.
struct Piece {
  std::size_t tensor = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::size_t index = 0;
};

// How a tensor is cut: `units` of blocks, rows or bytes, at most `perPiece` of them at once. Both at least 1.
struct Cut {
  std::int64_t units = 0;
  std::int64_t perPiece = 0;
};

class PieceQueue {
 public:
  // Makes the work of one thread, which owns its buffers; `onCaller` for the thread that called run().
  using MakeWork = std::function<std::function<void(const Piece&)>(bool onCaller)>;

  // `cancel` (may be null) ends the work with a std::runtime_error of the message `cancelled`.
  PieceQueue(std::vector<Cut> tensors, const std::atomic<bool>* cancel, std::string cancelled);

  std::size_t pieces() const;
  // Works all pieces on up to `threads` threads (32 at most, so that their buffers stay small), the caller's among
  // them. Rethrows the first exception of a piece; no other piece is begun after it.
  void run(int threads, const MakeWork& makeWork);

 private:
  bool next(Piece& piece);
  void fail(std::exception_ptr failure);

  std::vector<Cut> tensors_;
  const std::atomic<bool>* cancel_;
  std::string cancelled_;
  std::mutex mutex_;
  Piece following_;  // its count is not used
  std::exception_ptr failure_;
};

}  // namespace qe
