// The memory of the process: bodies, buffers, chunks of jobs and, in haricotd, all other memory of
// operator new (src/os/new.cpp).
//
// Memory taken from the system is counted here: pieces in use, free pieces between them, and pieces
// kept for later. A limit applies only within a `Bounded`, such as during a put. Allocations
// outside of it succeed as long as the system has memory, but count as well.
//
// Until use_slabs() is called, malloc serves each piece, as in tests and in the tool. Not
// thread-safe, except for the functions for uncounted pieces.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace haricot {

// An allocator of pieces of up to 192 KiB that returns free memory to the system.
//
// malloc cuts such pieces from one heap, and the heap shrinks only at its end: a small piece at
// that end pins all free memory below it. Here pieces of about one size are cut from a slab of
// their own, which malloc maps. When its last piece is freed, the slab is free.
//
//   slab    a head and pieces of one size class. Classes are 16 bytes apart up to 512 bytes; above,
//           each power of two has eight. A slab of pieces above 16 KiB has 8 or 16 of them, any
//           other slab has 256 KiB
//   taken   the part of a slab that was ever in use, in steps of 16 KiB; the rest is mapped, but
//           has no memory yet
//   empty   a slab without pieces in use; it is kept for later use
//   to go   empty slabs that were not needed between two calls of age()
//
// Taking or freeing a piece costs a few instructions, unless that maps a slab. Not thread-safe.
class Slabs {
 public:
  // Prefix of each piece, which leads to its slab.
  static constexpr std::size_t kPrefixBytes = 8;
  static constexpr std::size_t kBytesMax = std::size_t{192} * 1024 - kPrefixBytes;
  static constexpr bool takes(std::size_t bytes) { return bytes <= kBytesMax; }

  constexpr Slabs() = default;
  // Slabs with pieces in use stay allocated.
  ~Slabs();
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  // Returns a piece aligned to 16 bytes; null without memory. The 8 bytes in front of it are not
  // zero and must not change. Requires: takes(bytes).
  void* allocate(std::size_t bytes);
  // Requires: the piece comes from here.
  void free(void* piece);

  // Limits the bytes of all pieces, in use and free: allocate() fails beyond it. Memory that is
  // taken already stays.
  void limit(std::size_t bytes) { taken_bytes_max_ = bytes; }
  std::size_t taken_bytes() const { return taken_bytes_; }

  // Marks empty slabs that were not needed since the last call, for give_back(). Call about once a
  // second while there are empty slabs.
  void age();
  // Returns marked slabs to the system until that many bytes are returned or none is left.
  void give_back(std::size_t bytes);
  std::size_t empty_bytes() const { return empty_bytes_; }
  std::size_t bytes_to_go() const { return bytes_to_go_; }

  // Returns the bytes that a piece of that size takes. Requires: takes(bytes).
  static std::size_t piece_bytes(std::size_t bytes) { return bytes_of(class_of(bytes)); }

 private:
  static constexpr std::size_t kEvenClasses = 32;  // 16 to 512 bytes, with the prefix.
  static constexpr std::size_t kClasses = kEvenClasses + 8 * 8 + 4;

  struct Slab {
    Slab* previous;
    Slab* next;
    void* free;             // First free piece; each links to the next.
    std::uint32_t touched;  // Number of pieces that were ever in use; the others follow them.
    std::uint32_t taken;    // Number of pieces in the taken part.
    std::uint32_t used;     // Number of pieces in use.
    std::uint32_t pieces;
    std::uint32_t class_number;
  };
  struct List {
    Slab* first = nullptr;
    Slab* last = nullptr;
  };

  static std::size_t class_of(std::size_t bytes);
  static std::size_t bytes_of(std::size_t class_number);
  static std::uint32_t pieces_of(std::size_t class_number);
  static std::size_t bytes_taken_by(const Slab& slab) {
    return slab.taken * bytes_of(slab.class_number);
  }
  static void push_front(List& list, Slab& slab);
  static void remove(List& list, Slab& slab);
  Slab* take_slab(std::size_t class_number);
  [[gnu::noinline]] void* first_piece(std::size_t class_number);
  void* new_piece(Slab& slab);
  bool take_more(Slab& slab);

  std::array<List, kClasses> usable_{};  // Slabs with pieces in use and free pieces.
  std::array<List, kClasses> empty_{};   // The most recently used slab is in front.
  std::size_t taken_bytes_ = 0;
  std::size_t taken_bytes_max_ = SIZE_MAX;
  std::size_t empty_bytes_ = 0;
  std::size_t least_empty_bytes_ = 0;  // Since the last age().
  std::size_t bytes_to_go_ = 0;
};

// Large free pieces of memory that are kept for a while, for the next body of that size.
//
// Mapping or unmapping a page takes 0.3 us: a body of 1 MB in a new mapping costs three times as
// much as in a piece with resident pages. Returning 100 MB to the system at once takes some 10 ms,
// so pieces that were not taken between two calls of age() are returned gradually.
//
// The pieces come from malloc, each in a mapping of its own. Not thread-safe.
class KeptPieces {
 public:
  // Minimum size of a piece, which has to hold its own Note.
  static constexpr std::size_t kBytesMin = 64;

  constexpr KeptPieces() = default;
  // Does not free the pieces.
  ~KeptPieces() = default;
  KeptPieces(const KeptPieces&) = delete;
  KeptPieces& operator=(const KeptPieces&) = delete;

  struct Piece {
    void* memory = nullptr;  // Null: none.
    std::size_t bytes = 0;
  };
  // Takes out a piece of at least that many bytes, and at most an eighth more. Checks a few pieces,
  // the most recently kept first.
  Piece take(std::size_t bytes);
  // Keeps a piece that malloc returned. Requires: bytes >= kBytesMin.
  void keep(void* memory, std::size_t bytes);

  // Marks the pieces that were kept before the last call and not taken since, for give_back(). Call
  // about once a second while bytes() is above 0.
  void age();
  // Frees that many bytes of marked pieces, or all if there are fewer. Returns the number of freed
  // bytes. A large piece shrinks over several calls, so that no call frees much more.
  std::size_t give_back(std::size_t bytes);
  std::size_t bytes() const { return since_age_[0] + since_age_[1] + bytes_to_go_; }
  std::size_t bytes_to_go() const { return bytes_to_go_; }

 private:
  struct Note;  // In the piece.

  std::size_t& counter_of(const Note& note);
  void remove(const Note& note);
  void push_back(void* memory, std::size_t bytes, std::uint64_t age);

  Note* newest_ = nullptr;
  Note* oldest_ = nullptr;
  std::uint64_t age_ = 0;
  // Bytes kept since the last age(), and in the period before that.
  std::array<std::size_t, 2> since_age_{};
  std::size_t bytes_to_go_ = 0;
};

class Memory {
 public:
  // Memory of an idle server, which does not count towards a limit.
  static constexpr std::size_t kOwnBytes = std::size_t{4} * 1024 * 1024;
  // Maximum size of a piece from a slab. A larger piece has a mapping of its own, which is kept for
  // a while after it is freed.
  static constexpr std::size_t kSlabBytesMax = Slabs::kBytesMax;

  // While it exists, allocate() fails beyond the limit. `share_beyond` raises the limit by a part
  // of it: 16 means 1/16. Does nothing if there is no limit. Must not be nested.
  class Bounded {
   public:
    explicit Bounded(std::size_t share_beyond = 0) {
      if (limit_ != kNoLimit) [[unlikely]]
        enter(share_beyond);
    }
    ~Bounded() {
      if (limit_ != kNoLimit) [[unlikely]]
        leave();
    }
    Bounded(const Bounded&) = delete;
    Bounded& operator=(const Bounded&) = delete;

   private:
    static void enter(std::size_t share_beyond);
    static void leave();
  };

  // Serves small pieces from slabs from now on. Call before there are threads.
  static void use_slabs();
  // Sets the limit: see Bounded.
  static void limit(std::size_t bytes) { limit_ = bytes; }
  // Returns the bytes that count towards the limit; 0 if there is none. Large pieces kept for later
  // do not count, because they are returned before anything is refused.
  static std::size_t used_bytes();
  // Returns true if the memory taken from the system, kept pieces included, has reached the limit.
  // Callers use it for backpressure: then the input and the unread output of clients must not grow.
  static bool is_at_limit() { return limit_ != kNoLimit && has_reached_limit(); }
  // Returns true if the limit has refused an allocation since the last call.
  static bool take_refusal() { return std::exchange(has_refused_, false); }
  // Returns true if the system had no memory for an allocation outside of a Bounded since the last
  // call.
  static bool take_shortage() { return std::exchange(was_short_, false); }

  // Returns memory aligned to 16 bytes; null if there is none, or the limit refuses.
  [[nodiscard]] static void* allocate(std::size_t bytes);
  // Accepts null. Returns at once, however large the piece is: see age().
  static void free(void* piece);
  // Allocates memory for other threads; it does not count towards the limit.
  [[nodiscard]] static void* allocate_uncounted(std::size_t bytes);
  static bool is_uncounted(const void* piece);
  // Requires: is_uncounted(piece).
  static void free_uncounted(void* piece);

  // Marks kept memory that was not needed since the last call. Call about once a second while
  // kept_bytes() is above 0.
  static void age();
  static std::size_t kept_bytes() { return slabs_.empty_bytes() + kept_.bytes(); }
  // Returns marked memory to the system: `bytes_min`, or one part in `share` of it if that is more.
  // bytes_to_go() is the amount of marked memory.
  static void give_back(std::size_t bytes_min, std::size_t share);
  static std::size_t bytes_to_go() { return slabs_.bytes_to_go() + kept_.bytes_to_go(); }
  // Returns all kept memory to the system.
  static void give_all_back();

 private:
  static constexpr std::size_t kNoLimit = SIZE_MAX;
  struct Prefix;  // Prefix of a piece outside of the slabs.

  static Prefix* prefix_of(void* piece);
  static void* try_to_allocate(std::size_t bytes);
  static void limit_slabs();
  static bool has_reached_limit();
  static void* allocate_by_itself(std::size_t bytes);
  [[gnu::cold, gnu::noinline]] static void* allocate_at_last(std::size_t bytes);

  static Slabs slabs_;
  static KeptPieces kept_;  // Pieces outside of the slabs.
  static bool uses_slabs_;
  static std::size_t mapped_bytes_;  // Outside of the slabs, in use or kept.
  static std::size_t limit_;
  static std::size_t ceiling_;  // The limit now, with kOwnBytes; kNoLimit outside of a Bounded.
  static bool has_refused_;
  static bool was_short_;
};

// A reserve of memory for the moment when there is none left.
//
// Producers may take the last byte of memory. Then workers, which would make room, could not even
// get an answer. So a put is accepted only if the cushion is allocated, and the cushion is freed as
// soon as anything is refused for lack of memory.
class MemoryCushion {
 public:
  static constexpr std::size_t kBytes = std::size_t{256} * 1024;

  MemoryCushion() { (void)fill(); }

  // Returns true if the cushion is allocated. Allocates it again if it was freed and memory is
  // back.
  [[nodiscard]] bool fill() {
    // In pieces, because freed memory is seldom contiguous.
    while (allocated_ < pieces_.size()) {
      pieces_[allocated_].reset(new (std::nothrow) char[kPieceBytes]);
      if (!pieces_[allocated_]) return false;
      ++allocated_;
    }
    return true;
  }

  void give_up() {
    while (allocated_ > 0) pieces_[--allocated_].reset();
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{16} * 1024;

  std::array<std::unique_ptr<char[]>, kBytes / kPieceBytes> pieces_;
  std::size_t allocated_ = 0;  // Number of allocated pieces; these are the first ones.
};

}  // namespace haricot
