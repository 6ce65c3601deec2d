#include "haricot/queue/job_memory.hpp"

namespace haricot {

bool JobMemory::admit(std::uint64_t asked) {
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

void JobMemory::count_refused_put(std::size_t body_bytes) {
  ++state_.counts.refused_puts;
  refused_body_bytes_ = std::min<std::uint64_t>(refused_body_bytes_, body_bytes);
  state_.jobs.give_empty_chunks_back();
}

}  // namespace haricot
