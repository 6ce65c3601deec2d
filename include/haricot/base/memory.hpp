// The memory of the process: bodies, buffers, the chunks of jobs and, in haricotd, all else that
// operator new gives (src/os/new.cpp).
//
// What is taken from the system is counted here, once: pieces in use, free pieces between them, and
// what is kept for later. A limit holds for who asks within its bounds, a Bounded, as puts do. Who
// asks outside gets memory as long as the system has some, but counts as well.
//
// Until use_slabs() is called, as in tests and in the tool, each piece is malloc's own. For one
// thread, but for the functions about uncounted pieces.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "haricot/base/kept_pieces.hpp"
#include "haricot/base/slabs.hpp"

namespace haricot {

class Memory {
 public:
  // What a server takes that has nothing to do: a limit does not count it.
  static constexpr std::size_t kOwnBytes = std::size_t{4} * 1024 * 1024;
  // Pieces of more bytes are mapped each by itself, and kept for a while when they are free.
  static constexpr std::size_t kSlabBytesMax = Slabs::kBytesMax;

  // While it exists, allocate() fails where it would take more than the limit, or more than
  // the limit and that share of it: 1/16, say, is 16. Does nothing where there is no limit. Not one
  // within another.
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

  // From now on small pieces come from slabs. To be called before there are threads.
  static void use_slabs();
  // See Bounded.
  static void limit(std::size_t bytes) { limit_ = bytes; }
  // What counts by the limit; 0 if there is none. Large pieces that are kept for later do not: they
  // go back before anything is refused.
  static std::size_t used_bytes();
  // True if all memory taken from the system has reached the limit, with the large pieces that are
  // kept. Callers use it for backpressure: what clients send and do not read must not grow then.
  static bool is_at_limit() { return limit_ != kNoLimit && has_reached_limit(); }
  // Whether the limit has refused something since the last call.
  static bool take_refusal() { return std::exchange(has_refused_, false); }
  // Whether the system has had no memory since the last call, outside of bounds.
  static bool take_shortage() { return std::exchange(was_short_, false); }

  // Aligned to 16 bytes; null: there is no memory, or not within bounds.
  [[nodiscard]] static void* allocate(std::size_t bytes);
  // Null frees nothing. Returns at once, however large the piece is: see age().
  static void free(void* piece);
  // The same for other threads.
  [[nodiscard]] static void* allocate_uncounted(std::size_t bytes);
  static bool is_uncounted(const void* piece);
  // Requires: is_uncounted(piece).
  static void free_uncounted(void* piece);

  // Marks what was kept for later and was not needed since the last call. To be called about once a
  // second, as long as kept_bytes() is above 0.
  static void age();
  static std::size_t kept_bytes() { return slabs_.empty_bytes() + kept_.bytes(); }
  // Gives back so much of what is marked, or a share of it, one in `share`, if that is more; and
  // how much is marked.
  static void give_back(std::size_t bytes_min, std::size_t share);
  static std::size_t bytes_to_go() { return slabs_.bytes_to_go() + kept_.bytes_to_go(); }
  // Gives all back that is kept.
  static void give_all_back();

 private:
  static constexpr std::size_t kNoLimit = SIZE_MAX;
  struct Prefix;  // Of a piece that is in no slab.

  static Prefix* prefix_of(void* piece);
  static void* try_to_allocate(std::size_t bytes);
  static void limit_slabs();
  static bool has_reached_limit();
  static void* allocate_by_itself(std::size_t bytes);
  [[gnu::cold, gnu::noinline]] static void* allocate_at_last(std::size_t bytes);

  static Slabs slabs_;
  static KeptPieces kept_;  // Of pieces that are in no slab.
  static bool uses_slabs_;
  static std::size_t mapped_bytes_;  // The same, with those in use.
  static std::size_t limit_;
  static std::size_t ceiling_;  // Of this moment, with kOwnBytes; kNoLimit outside of bounds.
  static bool has_refused_;
  static bool was_short_;
};

}  // namespace haricot
