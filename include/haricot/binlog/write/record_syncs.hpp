// Syncs of the records: requests them by the policy, and marks records as safe when they end.

#pragma once

#include <cstdint>
#include <optional>

#include "haricot/base/time.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/write/stream_state.hpp"

namespace haricot::binlog {

class RecordSyncs {
 public:
  // Both outlive this.
  RecordSyncs(StreamState& stream, Refusal& refusal)
      : stream_(stream), state_(stream.binlog), refusal_(refusal) {}
  RecordSyncs(const RecordSyncs&) = delete;
  RecordSyncs& operator=(const RecordSyncs&) = delete;

  // Starts a sync of the written records if one is due, or at once if an answer waits for it.
  void request(bool is_waited_for);
  // Returns the time of the next sync; never() if none is due.
  Instant next() const;
  // Requests the sync of all records that were written again. Requires: the stream refuses.
  void request_of_rewritten();
  // Requests the last sync of a file that has ended, and closes the file after it.
  void request_of_ended(FileHandle file);
  // Takes out the syncs and removals that have ended. Calls the handlers of both. May fail: see
  // Refusal::is_on().
  void take_ends();

  // Wait until one, or each, of the syncs and removals that are under way or in line has ended, and
  // take it out. Block. For callers that run no turns.
  void wait_for_one();
  void wait_for_all();
  // Syncs all records that are written, and blocks until that has ended or failed. A request alone
  // does nothing while a sync is under way, which may have begun before the last records.
  void sync_all();

  // Marks all records as written, and as safe if the policy says so.
  void mark_written();
  // Marks the records of a file that has ended, and that needs no more writes, as written.
  void mark_file_written();
  // Marks the first `records` records as safe.
  void mark_safe(std::uint64_t records);

  // Called when a file was begun. `is_first`: by this server, so all files before it are durable.
  void begin_file(bool is_first);
  // Called when the newest file is continued, which is durable up to its end.
  void resume_file(std::uint64_t end_bytes);

 private:
  StreamState& stream_;
  BinlogState& state_;
  Refusal& refusal_;
  // Durable bytes of the newest file once the requested sync succeeds. Nothing: files before it are
  // not durable.
  std::optional<std::uint64_t> durable_when_synced_;
};

}  // namespace haricot::binlog
