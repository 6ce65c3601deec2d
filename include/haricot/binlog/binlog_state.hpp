// Data that all parts of the binlog share and no part owns. The binlog sets the values; if parts
// change one too, its comment says so.

#pragma once

#include <cstdint>
#include <optional>

#include "haricot/base/time.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/binlog_options.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/notices.hpp"
#include "haricot/binlog/promises.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot::binlog {

struct BinlogState {
  // The disk outlives the state.
  BinlogState(Disk& on_disk, const BinlogOptions& wanted) : disk(on_disk), options(wanted) {}
  BinlogState(const BinlogState&) = delete;
  BinlogState& operator=(const BinlogState&) = delete;

  // Returns true while the folder is open.
  bool is_in_use() const { return engine != nullptr && !is_closed; }
  // Returns a budget of that many steps from now on.
  Budget budget(std::uint64_t more) const { return {steps, more}; }
  bool has_syncs() const { return options.sync != SyncPolicy::never; }
  // Returns true if another server may still write to the folder. If so, no call uses a name that
  // another server's file may have, and no bytes that another server may have read are truncated.
  bool is_fenced() const { return epoch != 0; }

  Disk& disk;
  const BinlogOptions options;
  // Epoch of this server (see kEpochLast in record.hpp); 0: none. Set before the folder is opened.
  std::uint32_t epoch = 0;
  // The following fields are set when the folder is opened.
  Engine* engine = nullptr;
  bool is_closed = false;            // The run has ended.
  std::optional<Segments> segments;  // Updated by each part that writes, moves or removes files.
  Promises promises;                 // Room promised to the jobs of the engine.
  Instant now;                       // Time of this turn.
  Duration wall_offset;              // Wall clock minus the time.
  Notices notices;                   // Parts add notices for the log.
  // Steps of work on the folder that no command pays for: compaction, spares, recovery. Each part
  // adds its steps, and the budgets of the binlog count them. They are apart from the engine's
  // steps, because the cost of a command must not depend on the files of the folder.
  std::uint64_t steps = 0;
  // Time of the next check that the files exist. A part with a reason to check sets it to `now`.
  Instant check_files_at;
};

}  // namespace haricot::binlog
