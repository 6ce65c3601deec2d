#include "haricot/base/memory.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

// Head of a slab, in front of its first piece. It ends with the prefix of that piece.
constexpr std::size_t kHeadBytes = 64;
constexpr std::size_t kEvenBytes = 16;
constexpr std::size_t kEvenBytesMax = 512;
constexpr std::size_t kClassesPerDoubling = 8;
constexpr std::size_t kSmallestDoubling = 9;  // 2^9 is 512.
// Large enough that malloc maps every slab separately.
constexpr std::size_t kSlabBytes = std::size_t{256} * 1024;
constexpr std::size_t kLargeBytes = std::size_t{16} * 1024;
constexpr std::size_t kLargerBytes = std::size_t{32} * 1024;
constexpr std::uint32_t kManyPieces = 16;
constexpr std::uint32_t kFewPieces = 8;
constexpr std::size_t kCarvedBytes = std::size_t{16} * 1024;

void* next_free(const void* piece) {
  void* next = nullptr;
  std::memcpy(static_cast<void*>(&next), piece, sizeof next);
  return next;
}

void set_next_free(void* piece, void* next) {
  std::memcpy(piece, static_cast<const void*>(&next), sizeof next);
}

constexpr int kScannedMax = 16;
constexpr std::size_t kShareBeyond = 8;
// A smaller rest of a piece is freed with it.
constexpr std::size_t kRestBytesMin = std::size_t{192} * 1024;

}  // namespace

// Slabs ------------------------------------------------------------------------------------------

Slabs::~Slabs() {
  bytes_to_go_ = empty_bytes_;
  give_back(empty_bytes_);
}

// Class 0 takes up to 16 bytes with the prefix, class 31 up to 512, class 32 up to 576.
std::size_t Slabs::class_of(std::size_t bytes) {
  CHECK(takes(bytes));
  const std::size_t below = bytes + kPrefixBytes - 1;
  if (below < kEvenBytesMax) return below / kEvenBytes;
  const auto doubling = static_cast<std::size_t>(std::bit_width(below)) - 1;
  const std::size_t eighth = (below >> (doubling - 3)) % kClassesPerDoubling;
  return kEvenClasses + (doubling - kSmallestDoubling) * kClassesPerDoubling + eighth;
}

std::size_t Slabs::bytes_of(std::size_t class_number) {
  if (class_number < kEvenClasses) return (class_number + 1) * kEvenBytes;
  const std::size_t above = class_number - kEvenClasses;
  const std::size_t doubling = kSmallestDoubling + above / kClassesPerDoubling;
  return (kClassesPerDoubling + 1 + above % kClassesPerDoubling) << (doubling - 3);
}

std::uint32_t Slabs::pieces_of(std::size_t class_number) {
  const std::size_t bytes = bytes_of(class_number);
  if (bytes > kLargerBytes) return kFewPieces;
  if (bytes > kLargeBytes) return kManyPieces;
  return static_cast<std::uint32_t>((kSlabBytes - kHeadBytes) / bytes);
}

void Slabs::push_front(List& list, Slab& slab) {
  slab.previous = nullptr;
  slab.next = list.first;
  (list.first != nullptr ? list.first->previous : list.last) = &slab;
  list.first = &slab;
}

void Slabs::remove(List& list, Slab& slab) {
  (slab.previous != nullptr ? slab.previous->next : list.first) = slab.next;
  (slab.next != nullptr ? slab.next->previous : list.last) = slab.previous;
}

// Returns a slab without pieces in use, new or empty; null without memory.
Slabs::Slab* Slabs::take_slab(std::size_t class_number) {
  Slab* slab = empty_[class_number].first;
  if (slab != nullptr) {
    remove(empty_[class_number], *slab);
    empty_bytes_ -= bytes_taken_by(*slab);
    least_empty_bytes_ = std::min(least_empty_bytes_, empty_bytes_);
    bytes_to_go_ = std::min(bytes_to_go_, empty_bytes_);
    return slab;
  }
  static_assert(sizeof(Slab) + kPrefixBytes <= kHeadBytes);
  const std::uint32_t pieces = pieces_of(class_number);
  void* const memory = std::malloc(kHeadBytes + pieces * bytes_of(class_number));
  if (memory == nullptr) return nullptr;
  return new (memory)
      Slab{nullptr, nullptr, nullptr, 0, 0, 0, pieces, static_cast<std::uint32_t>(class_number)};
}

bool Slabs::take_more(Slab& slab) {
  const std::size_t bytes = bytes_of(slab.class_number);
  const auto carved = static_cast<std::uint32_t>(std::max<std::size_t>(kCarvedBytes / bytes, 1));
  const std::uint32_t more = std::min(carved, slab.pieces - slab.taken);
  if (taken_bytes_max_ < taken_bytes_ || taken_bytes_max_ - taken_bytes_ < more * bytes) {
    return false;
  }
  slab.taken += more;
  taken_bytes_ += more * bytes;
  return true;
}

// Returns a piece that was never in use. Requires: there is one. Returns null beyond the limit.
void* Slabs::new_piece(Slab& slab) {
  if (slab.touched == slab.taken && !take_more(slab)) return nullptr;
  char* const piece =
      reinterpret_cast<char*>(&slab) + kHeadBytes + slab.touched * bytes_of(slab.class_number);
  ++slab.touched;
  new (static_cast<void*>(piece - kPrefixBytes)) Slab* {&slab};
  return piece;
}

// Returns the first piece of a slab without pieces in use; null without memory.
void* Slabs::first_piece(std::size_t class_number) {
  Slab* const slab = take_slab(class_number);
  if (slab == nullptr) return nullptr;
  void* piece = slab->free;
  if (piece != nullptr) {
    slab->free = next_free(piece);
  } else {
    piece = new_piece(*slab);
  }
  if (piece == nullptr) {  // The slab is new, and the limit allows none of its pieces.
    std::free(slab);
    return nullptr;
  }
  slab->used = 1;
  push_front(usable_[class_number], *slab);
  return piece;
}

void* Slabs::allocate(std::size_t bytes) {
  const std::size_t class_number = class_of(bytes);
  List& usable = usable_[class_number];
  Slab* const slab = usable.first;
  if (slab == nullptr) [[unlikely]]
    return first_piece(class_number);
  void* piece = slab->free;
  if (piece != nullptr) [[likely]] {
    slab->free = next_free(piece);
  } else {
    piece = new_piece(*slab);
    if (piece == nullptr) return nullptr;
  }
  ++slab->used;
  if (slab->used == slab->pieces) remove(usable, *slab);
  return piece;
}

void Slabs::free(void* piece) {
  Slab& slab = **std::launder(
      reinterpret_cast<Slab**>(static_cast<void*>(static_cast<char*>(piece) - kPrefixBytes)));
  const std::size_t class_number = slab.class_number;
  CHECK(slab.used > 0);
  if (slab.used == slab.pieces) push_front(usable_[class_number], slab);
  set_next_free(piece, slab.free);
  slab.free = piece;
  if (--slab.used > 0) return;
  remove(usable_[class_number], slab);
  push_front(empty_[class_number], slab);
  empty_bytes_ += bytes_taken_by(slab);
}

void Slabs::age() {
  bytes_to_go_ = least_empty_bytes_;
  least_empty_bytes_ = empty_bytes_;
}

// Frees the slabs that were used longest ago, first those of the large classes.
void Slabs::give_back(std::size_t bytes) {
  for (std::size_t number = kClasses; number > 0 && bytes_to_go_ > 0 && bytes > 0;) {
    List& empty = empty_[number - 1];
    Slab* const slab = empty.last;
    if (slab == nullptr) {
      --number;
      continue;
    }
    remove(empty, *slab);
    const std::size_t gone = bytes_taken_by(*slab);
    std::free(slab);
    taken_bytes_ -= gone;
    empty_bytes_ -= gone;
    least_empty_bytes_ = std::min(least_empty_bytes_, empty_bytes_);
    bytes_to_go_ -= std::min(bytes_to_go_, gone);
    bytes -= std::min(bytes, gone);
  }
}

// KeptPieces -------------------------------------------------------------------------------------

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

// Memory -----------------------------------------------------------------------------------------

// Prefix of a piece outside of the slabs. `slab` is null; a piece of a slab has the slab's address
// there.
struct Memory::Prefix {
  std::size_t counted_bytes;
  void* slab;
};

constinit Slabs Memory::slabs_;
constinit KeptPieces Memory::kept_;
constinit bool Memory::uses_slabs_ = false;
constinit std::size_t Memory::mapped_bytes_ = 0;
constinit std::size_t Memory::limit_ = Memory::kNoLimit;
constinit std::size_t Memory::ceiling_ = Memory::kNoLimit;
constinit bool Memory::has_refused_ = false;
constinit bool Memory::was_short_ = false;

void Memory::Bounded::enter(std::size_t share_beyond) {
  ceiling_ = limit_ + kOwnBytes + (share_beyond > 0 ? limit_ / share_beyond : 0);
  limit_slabs();
}

void Memory::limit_slabs() {
  slabs_.limit(ceiling_ - std::min(ceiling_, mapped_bytes_));
}

void Memory::Bounded::leave() {
  ceiling_ = kNoLimit;
  slabs_.limit(kNoLimit);
}

// A sanitizer sees more if malloc serves each piece.
void Memory::use_slabs() {
#if !defined(__SANITIZE_ADDRESS__)
  uses_slabs_ = true;
#endif
}

std::size_t Memory::used_bytes() {
  if (limit_ == kNoLimit) return 0;
  const std::size_t all = slabs_.taken_bytes() + mapped_bytes_ - kept_.bytes();
  return all - std::min(all, kOwnBytes);
}

bool Memory::has_reached_limit() {
  return slabs_.taken_bytes() + mapped_bytes_ >= limit_ + kOwnBytes;
}

Memory::Prefix* Memory::prefix_of(void* piece) {
  return std::launder(
      reinterpret_cast<Prefix*>(static_cast<void*>(static_cast<char*>(piece) - sizeof(Prefix))));
}

void* Memory::allocate_by_itself(std::size_t bytes) {
  if (bytes > SIZE_MAX - sizeof(Prefix)) return nullptr;
  const std::size_t all = bytes + sizeof(Prefix);
  if (!Slabs::takes(bytes)) {
    const KeptPieces::Piece kept = kept_.take(all);
    if (kept.memory != nullptr) return new (kept.memory) Prefix{kept.bytes, nullptr} + 1;
  }
  if (ceiling_ != kNoLimit) [[unlikely]] {
    const std::size_t taken = slabs_.taken_bytes() + mapped_bytes_;
    if (taken > ceiling_ || ceiling_ - taken < all) return nullptr;
  }
  void* const memory = std::malloc(all);
  if (memory == nullptr) return nullptr;
  mapped_bytes_ += all;
  return new (memory) Prefix{all, nullptr} + 1;
}

void* Memory::try_to_allocate(std::size_t bytes) {
  return uses_slabs_ && Slabs::takes(bytes) ? slabs_.allocate(bytes) : allocate_by_itself(bytes);
}

void* Memory::allocate(std::size_t bytes) {
  void* const piece = try_to_allocate(bytes);
  return piece != nullptr ? piece : allocate_at_last(bytes);
}

void* Memory::allocate_at_last(std::size_t bytes) {
  void* piece = nullptr;
  if (kept_bytes() > 0) {
    give_all_back();
    if (ceiling_ != kNoLimit) limit_slabs();
    piece = try_to_allocate(bytes);
  }
  if (piece == nullptr) (ceiling_ != kNoLimit ? has_refused_ : was_short_) = true;
  return piece;
}

void Memory::free(void* piece) {
  if (piece == nullptr) return;
  Prefix* const prefix = prefix_of(piece);
  if (prefix->slab != nullptr) {
    slabs_.free(piece);
    return;
  }
  const std::size_t bytes = prefix->counted_bytes;
  if (bytes == 0) [[unlikely]]  // From another thread.
    return std::free(prefix);
  if (!Slabs::takes(bytes - sizeof(Prefix))) {
    kept_.keep(prefix, bytes);
    return;
  }
  mapped_bytes_ -= bytes;
  std::free(prefix);
}

void* Memory::allocate_uncounted(std::size_t bytes) {
  if (bytes > SIZE_MAX - sizeof(Prefix)) return nullptr;
  void* const memory = std::malloc(bytes + sizeof(Prefix));
  return memory == nullptr ? nullptr : new (memory) Prefix{0, nullptr} + 1;
}

bool Memory::is_uncounted(const void* piece) {
  const Prefix* const prefix = prefix_of(const_cast<void*>(piece));
  return prefix->slab == nullptr && prefix->counted_bytes == 0;
}

void Memory::free_uncounted(void* piece) {
  std::free(prefix_of(piece));
}

void Memory::age() {
  slabs_.age();
  kept_.age();
}

void Memory::give_back(std::size_t bytes_min, std::size_t share) {
  const std::size_t to_go = bytes_to_go();
  if (to_go == 0) return;
  const std::size_t bytes = std::max(bytes_min, to_go / share);
  const std::size_t gone = kept_.give_back(bytes);
  mapped_bytes_ -= gone;
  if (gone < bytes) slabs_.give_back(bytes - gone);
}

void Memory::give_all_back() {
  age();
  age();
  give_back(bytes_to_go(), 1);
}

}  // namespace haricot
