// Refusal of changes after a failure of the disk.
//
// When a write or a sync fails, the file that is being written is released, and all changes are
// refused until recovery has written all records in doubt to another file.

#pragma once

#include <string>
#include <string_view>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/notices.hpp"
#include "haricot/binlog/write/stream_state.hpp"
#include "haricot/queue/journal.hpp"

namespace haricot::binlog {

class Refusal {
 public:
  // The state outlives this.
  explicit Refusal(StreamState& stream) : stream_(stream), state_(stream.binlog) {}
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;

  // Refuses all changes from now on, or still: then an attempt to recover has failed. Nothing is
  // lost: recovery writes all records in doubt to another file. `doing`: what has failed, for the
  // log. `why`: the reason; empty: the disk's last error. Calls the handler of failures.
  void begin(DiskStatus status, std::string_view doing, std::string_view why = {},
             Notice::Kind kind = Notice::Kind::refusing) noexcept;
  // Accepts changes again. Requires: all records in doubt are safe elsewhere.
  void end();

  bool is_on() const { return is_on_; }
  // Returns true if space is missing, which the operator or a deletion may provide.
  bool is_for_space() const { return is_for_space_; }
  void set_for_space(bool is_full) { is_for_space_ = is_full; }
  // Returns the answer to a change that is refused.
  JournalStatus status() const {
    return is_for_space_ ? JournalStatus::full : JournalStatus::failed;
  }
  // Returns the reason of the last failure, for the log.
  const std::string& why() const { return why_; }

 private:
  void release_file() noexcept;
  void report(std::string_view doing, const std::string& why, Notice::Kind kind);

  StreamState& stream_;
  BinlogState& state_;
  bool is_on_ = false;
  bool is_for_space_ = false;
  std::string why_;
};

}  // namespace haricot::binlog
