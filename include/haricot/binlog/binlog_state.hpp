// What the parts of the binlog stand on: facts that all parts need, and that no part owns. They are
// plain values. The binlog sets them; if a part changes one too, the comment beside it says so.

#pragma once

#include <cstdint>
#include <optional>

#include "haricot/base/time.hpp"
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

  bool has_syncs() const { return options.sync != SyncPolicy::never; }
  // Another server may write to the folder, late. So nothing is done by a name that may be that of
  // a file of another server by now, and nothing is cut off that another server may have read.
  bool is_fenced() const { return epoch != 0; }

  Disk& disk;
  const BinlogOptions options;
  // Of this server: see kEpochLast in record.hpp. 0: it has none. Set before the folder is opened.
  std::uint32_t epoch = 0;
  // Both are there from the opening of the folder on.
  Engine* engine = nullptr;
  std::optional<Segments> segments;  // Whoever writes, moves or removes a file tells it.
  Promises promises;                 // To the jobs of the engine.
  Instant now;                       // Of this turn.
  Duration wall_offset;              // What has to be added to the time to get the wall clock's.
  Notices notices;                   // Whoever has something to tell adds to it.
  // All work on the folder that no command is to pay for, in steps: compaction, spares, recovery.
  // Whoever does some adds to it, for the budgets that the binlog hands out. It is not that of the
  // engine: what a command costs must not depend on the files that are there when it comes.
  std::uint64_t steps = 0;
  // From when on it is to be looked whether the files are there: `now` for whoever finds a reason.
  Instant look_for_files_at;
};

}  // namespace haricot::binlog
