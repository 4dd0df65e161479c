#include "pieces.h"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

namespace qe {
namespace {

constexpr int kMostThreads = 32;

}  // namespace

PieceQueue::PieceQueue(std::vector<Cut> tensors, const std::atomic<bool>* cancel, std::string cancelled)
    : tensors_(std::move(tensors)), cancel_(cancel), cancelled_(std::move(cancelled)) {}

std::size_t PieceQueue::pieces() const {
  std::int64_t all = 0;
  for (const Cut& cut : tensors_) all += (cut.units + cut.perPiece - 1) / cut.perPiece;
  return static_cast<std::size_t>(all);
}

bool PieceQueue::next(Piece& piece) {
  const std::lock_guard lock(mutex_);
  if (failure_ || following_.tensor == tensors_.size()) return false;
  if (cancel_ != nullptr && cancel_->load()) {
    failure_ = std::make_exception_ptr(std::runtime_error(cancelled_));
    return false;
  }
  const Cut& cut = tensors_[following_.tensor];
  piece = following_;
  piece.count = std::min(cut.units - piece.first, cut.perPiece);
  ++following_.index;
  following_.first += piece.count;
  if (following_.first == cut.units) {
    ++following_.tensor;
    following_.first = 0;
  }
  return true;
}

void PieceQueue::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
}

void PieceQueue::run(int threads, const MakeWork& makeWork) {
  const auto work = [&](bool onCaller) {
    try {
      const auto workPiece = makeWork(onCaller);
      for (Piece piece; next(piece);) workPiece(piece);
    } catch (...) {
      fail(std::current_exception());
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int i = 1; i < std::min(threads, kMostThreads); ++i) helpers.emplace_back([&] { work(false); });
    work(true);
  }
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace qe
