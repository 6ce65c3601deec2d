// The limit of the memory that jobs take, and whether puts are refused by it.
//
// Only puts ask. What is there can be worked on, and what a journal brings back is let in.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "haricot/base/memory.hpp"
#include "haricot/queue/groups.hpp"
#include "haricot/queue/keys.hpp"
#include "haricot/queue/lane_order.hpp"
#include "haricot/queue/queue_state.hpp"

namespace haricot {

class JobMemory {
 public:
  // All of them outlive this. Without a limit everything is admitted.
  JobMemory(QueueState& state, const LaneOrder& lanes, const Keys& keys, const Groups& groups)
      : state_(state), lanes_(lanes), keys_(keys), groups_(groups) {}
  JobMemory(const JobMemory&) = delete;
  JobMemory& operator=(const JobMemory&) = delete;

  void limit(std::uint64_t bytes) { bytes_max_ = bytes; }
  bool is_limited() const { return bytes_max_ != kNone; }

  // Whether a put that takes so many bytes stays below the limit; if not, it is counted as refused.
  [[nodiscard]] bool admit(std::uint64_t asked_bytes);
  // The same of one with a body and a text of tags of that size, without its lane: for who has to
  // find memory for the body before the put.
  [[nodiscard]] bool admit_put(std::size_t body_bytes, std::size_t tag_bytes) {
    return admit(state_.jobs.memory_bytes_for(body_bytes, tag_bytes));
  }

  // What the jobs take, and their lanes, keys and groups; or what the process has taken by the
  // limit of Memory, if that is more.
  std::uint64_t used_bytes() const {
    return std::max<std::uint64_t>(counted_bytes(), Memory::used_bytes());
  }
  // Whether the jobs take so much that puts are refused: from a refused put on, until what was
  // refused fits and an eighth of the limit is free, or until another put leaves an eighth free.
  bool is_short() const {
    const bool lacks_body = refused_body_bytes_ != kNone && Memory::used_bytes() > plenty();
    return counted_bytes() > short_above_ || lacks_body;
  }

  // Memory has refused a put with a body of that size, because of its limit; or there was enough
  // for one. This is a shortage as well: it ends when as large a body is taken, or an eighth of the
  // limit is free. What the jobs keep for jobs to come is given back.
  void count_refused_put(std::size_t body_bytes);
  void mark_put(std::size_t body_bytes) {
    if (body_bytes >= refused_body_bytes_) refused_body_bytes_ = kNone;
  }

 private:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t counted_bytes() const {
    return state_.jobs.memory_bytes() + lanes_.lanes().memory_bytes() + keys_.memory_bytes() +
           groups_.memory_bytes();
  }
  std::uint64_t plenty() const { return bytes_max_ - bytes_max_ / 8; }

  QueueState& state_;
  const LaneOrder& lanes_;
  const Keys& keys_;
  const Groups& groups_;
  std::uint64_t bytes_max_ = kNone;           // No limit.
  std::uint64_t short_above_ = kNone;         // There is no shortage.
  std::uint64_t refused_body_bytes_ = kNone;  // The smallest body that Memory has refused; or none.
};

}  // namespace haricot
