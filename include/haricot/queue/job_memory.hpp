// The limit of the memory for jobs.
//
// The limit only refuses puts and notes. Workers can process existing jobs at the limit, and a
// restart restores all jobs of the journal.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "haricot/base/memory.hpp"
#include "haricot/queue/extras.hpp"
#include "haricot/queue/queue_state.hpp"

namespace haricot {

class JobMemory {
 public:
  // Without limit() there is no limit.
  JobMemory(QueueState& state, const Extras& extras) : state_(state), extras_(extras) {}
  JobMemory(const JobMemory&) = delete;
  JobMemory& operator=(const JobMemory&) = delete;

  void limit(std::uint64_t bytes) {
    bytes_max_ = bytes;
    state_.set_put_check(QueueState::kMemoryCheck, is_limited());
  }
  bool is_limited() const { return bytes_max_ != kNone; }

  // Returns true if a put of that many bytes stays within the limit; otherwise counts it as
  // refused.
  [[nodiscard]] bool admit(std::uint64_t asked) {
    if (!is_limited()) return true;
    const std::uint64_t wanted = counted_bytes() + asked;
    // Between the two bounds nothing changes: a client that takes a job out and puts another one in
    // does not end the shortage.
    const bool was_short = counted_bytes() > short_above_;
    if (wanted <= bytes_max_) {
      const bool is_over = wanted <= plenty() || !was_short;
      if (is_over) short_above_ = kNone;
      return true;
    }
    ++state_.counts.refused_puts;
    if (!was_short) short_above_ = plenty();
    // The size of a body that never fits is unrelated to how full the memory is.
    if (asked < bytes_max_) short_above_ = std::min(short_above_, bytes_max_ - asked);
    return false;
  }
  // Returns true if that many bytes stay within the limit. For data of an existing job.
  bool has_room_for(std::uint64_t bytes) const {
    return !is_limited() || counted_bytes() + bytes <= bytes_max_;
  }
  // Calls admit() for a put with a body and a text of tags of these sizes, without its lane, key
  // and group. For callers that have to allocate the body before the put.
  [[nodiscard]] bool admit_put(std::size_t body_bytes, std::size_t tag_bytes) {
    return admit(state_.jobs.memory_bytes_for(body_bytes, tag_bytes));
  }

  // Returns the bytes of the jobs and of their lanes, keys and groups, or Memory::used_bytes() if
  // that is more.
  std::uint64_t used_bytes() const {
    return std::max<std::uint64_t>(counted_bytes(), Memory::used_bytes());
  }
  // Returns true during a shortage. A shortage begins with a refused put. It ends when an eighth of
  // the limit is free and the refused put would fit, or when a put is accepted and leaves an eighth
  // free.
  bool is_short() const {
    const bool lacks_body = refused_body_bytes_ != kNone && Memory::used_bytes() > plenty();
    return counted_bytes() > short_above_ || lacks_body;
  }

  // count_refused_put() counts a put that the limit of Memory has refused, and frees empty chunks.
  // That begins a shortage, too. It ends when a body of at least that size is accepted (mark_put()
  // reports accepted bodies), or when an eighth of the limit is free.
  void count_refused_put(std::size_t body_bytes) {
    ++state_.counts.refused_puts;
    refused_body_bytes_ = std::min<std::uint64_t>(refused_body_bytes_, body_bytes);
    state_.jobs.give_empty_chunks_back();
  }
  void mark_put(std::size_t body_bytes) {
    if (body_bytes >= refused_body_bytes_) refused_body_bytes_ = kNone;
  }

 private:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t counted_bytes() const {
    return state_.jobs.memory_bytes() + extras_.memory_bytes();
  }
  std::uint64_t plenty() const { return bytes_max_ - bytes_max_ / 8; }

  QueueState& state_;
  const Extras& extras_;
  std::uint64_t bytes_max_ = kNone;           // kNone: no limit.
  std::uint64_t short_above_ = kNone;         // kNone: no shortage.
  std::uint64_t refused_body_bytes_ = kNone;  // Smallest body that Memory has refused; kNone: none.
};

}  // namespace haricot
