// Begins and ends the run of a server on a folder (see format/folder_note.hpp). Both block: no
// client is served before the run has begun and after it has ended.

#pragma once

#include <cstdint>
#include <string>

#include "haricot/base/time.hpp"
#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/folder_opening.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/binlog/write/folder_watch.hpp"
#include "haricot/binlog/write/large_bodies.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/binlog/write/recovery.hpp"
#include "haricot/binlog/write/restored_jobs.hpp"
#include "haricot/binlog/write/room_ahead.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot::binlog {

class FolderRun {
 public:
  // Parts that a run begins and ends. All outlive it.
  struct Parts {
    BinlogState& state;
    RecordStream& stream;
    RoomAhead& room;
    LargeBodies& bodies;
    FolderWatch& watch;
    Recovery& recovery;
    RestoredJobs& restored;
  };
  explicit FolderRun(const Parts& parts);
  FolderRun(const FolderRun&) = delete;
  FolderRun& operator=(const FolderRun&) = delete;

  // These have the contracts of Binlog's functions.
  [[nodiscard]] bool read(Engine& engine, Duration wall_offset, Instant now, ReplayWatcher watcher,
                          std::string& error);
  [[nodiscard]] bool can_begin(std::string& error);
  [[nodiscard]] bool begin(std::uint64_t random, bool has_to, std::string& error);
  bool end(Instant now);
  const ReplayReport& replayed() const { return opening_.report(); }

 private:
  bool begin_run(std::uint64_t random, bool has_to, std::string& error);
  void begin_in_note(std::uint64_t store_id, std::uint32_t run);
  bool begin_first_file(bool has_to, std::string& error);
  bool make_first_spare(bool& is_continued);
  void recover_at_once();

  BinlogState& state_;
  RecordStream& stream_;
  RoomAhead& room_;
  LargeBodies& bodies_;
  FolderWatch& watch_;
  Recovery& recovery_;
  RestoredJobs& restored_;
  FolderOpening opening_;
};

}  // namespace haricot::binlog
