#include "haricot/base/kept_pieces.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

constexpr int kScannedMax = 16;
constexpr std::size_t kShareBeyond = 8;
// A smaller rest of a piece is freed with it.
constexpr std::size_t kRestBytesMin = std::size_t{192} * 1024;

}  // namespace

struct KeptPieces::Note {
  Note* newer;
  Note* older;
  std::size_t bytes;
  std::uint64_t age;  // Number of calls of age() when it was kept.
};

std::size_t& KeptPieces::counter_of(const Note& note) {
  const std::uint64_t ages = age_ - note.age;
  return ages < since_age_.size() ? since_age_[ages] : bytes_to_go_;
}

void KeptPieces::remove(const Note& note) {
  (note.newer != nullptr ? note.newer->older : newest_) = note.older;
  (note.older != nullptr ? note.older->newer : oldest_) = note.newer;
  counter_of(note) -= note.bytes;
}

KeptPieces::Piece KeptPieces::take(std::size_t bytes) {
  const std::size_t most = bytes + bytes / kShareBeyond;
  Note* note = newest_;
  for (int i = 0; note != nullptr && i < kScannedMax; ++i, note = note->older) {
    if (note->bytes < bytes || note->bytes > most) continue;
    remove(*note);
    return {note, note->bytes};
  }
  return {};
}

void KeptPieces::keep(void* memory, std::size_t bytes) {
  static_assert(sizeof(Note) <= kBytesMin);
  CHECK(bytes >= kBytesMin);
  Note* const note = new (memory) Note{nullptr, newest_, bytes, age_};
  (newest_ != nullptr ? newest_->newer : oldest_) = note;
  newest_ = note;
  since_age_[0] += bytes;
}

// Keeps the rest of the oldest piece.
void KeptPieces::push_back(void* memory, std::size_t bytes, std::uint64_t age) {
  Note* const note = new (memory) Note{oldest_, nullptr, bytes, age};
  (oldest_ != nullptr ? oldest_->older : newest_) = note;
  oldest_ = note;
  counter_of(*note) += bytes;
}

void KeptPieces::age() {
  ++age_;
  bytes_to_go_ += std::exchange(since_age_[1], std::exchange(since_age_[0], 0));
}

std::size_t KeptPieces::give_back(std::size_t bytes) {
  std::size_t gone = 0;
  while (gone < bytes && bytes_to_go_ > 0) {
    CHECK(oldest_ != nullptr && age_ - oldest_->age >= since_age_.size());
    const Note note = *oldest_;
    CHECK(note.older == nullptr);
    void* const memory = oldest_;
    remove(note);
    const std::size_t freed = std::min(bytes - gone, note.bytes);
    void* rest = nullptr;
    // Moves nothing: malloc shrinks a separate mapping in place.
    if (note.bytes - freed >= kRestBytesMin) rest = std::realloc(memory, note.bytes - freed);
    if (rest != nullptr) {
      push_back(rest, note.bytes - freed, note.age);
      gone += freed;
    } else {
      std::free(memory);
      gone += note.bytes;
    }
  }
  return gone;
}

}  // namespace haricot
