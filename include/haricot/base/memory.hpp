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

#include <cstddef>
#include <cstdint>
#include <utility>

#include "haricot/base/kept_pieces.hpp"
#include "haricot/base/slabs.hpp"

namespace haricot {

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

}  // namespace haricot
