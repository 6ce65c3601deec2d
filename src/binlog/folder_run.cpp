#include "haricot/binlog/folder_run.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string_view>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/format/file_name.hpp"

namespace haricot::binlog {
namespace {

// Short enough for a std::string without an allocation.
constexpr std::string_view kNoMemory = "no memory left";
constexpr std::string_view kNoSpace = "no space left on the disk";

// Returns a random id for a new folder, never 0. Earlier versions set the highest bit
// (kIdMadeAnew).
std::uint64_t new_store_id(std::uint64_t random) {
  return std::max<std::uint64_t>(random & ~kIdMadeAnew, 1);
}

// Returns a random run, never 0.
std::uint32_t run_of(std::uint64_t random) {
  return static_cast<std::uint32_t>(1 + salt_of(random, 0) % (kRunsEnd - 1));
}

}  // namespace

FolderRun::FolderRun(const Parts& parts)
    : state_(parts.state),
      stream_(parts.stream),
      room_(parts.room),
      bodies_(parts.bodies),
      watch_(parts.watch),
      recovery_(parts.recovery),
      restored_(parts.restored),
      opening_(parts.state) {}

// Begin -------------------------------------------------------------------------------------------

bool FolderRun::read(Engine& engine, Duration wall_offset, Instant now, ReplayWatcher watcher,
                     std::string& error) {
  CHECK(state_.engine == nullptr);
  try {
    state_.engine = &engine;
    state_.now = now;
    state_.wall_offset = wall_offset;
    state_.segments.emplace(engine.jobs());
    if (opening_.read(stream_.note().note(), watcher, error)) {
      restored_.promise_room();
      return true;
    }
  } catch (const std::bad_alloc&) {
    error.clear();
  }
  if (error.empty()) error = kNoMemory;
  return false;
}

bool FolderRun::can_begin(std::string& error) {
  constexpr std::uint64_t kTrialNumber = kFileNumberMax - 1;
  constexpr std::array<char, 4096> kZeros{};
  try {
    Disk& disk = state_.disk;
    const std::string name = spare_name(kTrialNumber);
    const std::string_view bytes(kZeros.data(), kZeros.size());
    FileHandle file = FileHandle::none;
    DiskStatus status = disk.create(name, file);
    if (status == DiskStatus::ok) {
      status = disk.write(file, 0, {&bytes, 1});
      if (status == DiskStatus::ok && state_.has_syncs()) status = disk.sync(file);
      if (status == DiskStatus::failed) error = disk.last_error();
      disk.close(file);
      (void)disk.remove(name);
    } else if (status == DiskStatus::failed) {
      error = disk.last_error();
    }
    return status == DiskStatus::ok || status == DiskStatus::full;
  } catch (const std::bad_alloc&) {
    error = kNoMemory;
  }
  return false;
}

bool FolderRun::begin(std::uint64_t random, bool has_to, std::string& error) {
  try {
    if (begin_run(random, has_to, error)) return true;
  } catch (const std::bad_alloc&) {
    error.clear();
    if (has_to) {
      // All jobs are restored, so workers may have them. A file is begun when there is memory.
      stream_.refusal().begin(DiskStatus::failed, "begin a file", kNoMemory);
      return true;
    }
  }
  if (error.empty()) error = kNoMemory;
  return false;
}

bool FolderRun::begin_run(std::uint64_t random, bool has_to, std::string& error) {
  const ReplayReport& report = opening_.report();
  std::uint64_t store_id = report.store_id != 0 ? report.store_id : stream_.note().note().store_id;
  if (store_id == 0) store_id = new_store_id(random);
  begin_in_note(store_id, state_.is_fenced() ? run_of_epoch(state_.epoch) : run_of(random));
  if (!begin_first_file(has_to, error)) return false;
  if (!restored_.record_all()) {
    error = "not all jobs of the predecessor could be written: ";
    error += stream_.refusal().why().empty() ? kNoSpace : stream_.refusal().why();
    return false;
  }
  if (stream_.is_open()) watch_.begin();
  return true;
}

// Begins the run in the note, before the first file: no record of the run is safe yet.
void FolderRun::begin_in_note(std::uint64_t store_id, std::uint32_t run) {
  stream_.note().begin_run(store_id, opening_.report().run, run);
  NoteWriter::Files files = stream_.state().noted_files();
  files.newest = opening_.newest_with_records();
  stream_.note().set_read_files(files);
}

// Changes the folder from here on: only beside the files that were read, or after their end.
bool FolderRun::begin_first_file(bool has_to, std::string& error) {
  // The position comes before anything that may fail, so that a later try does not replace a file.
  stream_.files().start_from(opening_.start());
  stream_.jobs().continue_after(opening_.report().last_stamp);
  opening_.keep_unreadable_data();
  bool is_continued = false;
  const bool has_spare = make_first_spare(is_continued);
  if (!is_continued && (!has_spare || !room_.prepare_spare(0))) {
    const bool is_short = room_.is_short();
    if (!is_short && !has_to) {
      error = room_.why();
      return false;
    }
    // All jobs are restored, so workers may have them. Changes wait for the disk.
    stream_.refusal().begin(is_short ? DiskStatus::full : DiskStatus::failed, "begin a file",
                            is_short ? kNoSpace : std::string_view(room_.why()));
    return true;
  }
  if (!is_continued && !room_.begin_file()) {
    if (has_to) return true;
    error = stream_.refusal().why();
    return false;
  }
  // Makes all spares that are required: no client waits yet.
  do {
    room_.tend(state_.budget(turn_limits::kStepsOfSpares));
  } while (room_.is_left_to_tend());
  return true;
}

// Makes the spare for the first file; returns false if there is none. If space is scarce, the
// newest file may have it: a killed server leaves its preallocated space there. Then that file and
// its run are continued, because a new file at each start would use up the room that changes need.
// If it cannot be continued, its space is returned to the disk.
bool FolderRun::make_first_spare(bool& is_continued) {
  bool is_enough = false;
  const bool good = room_.make_first_spare(is_enough);
  if (is_enough && !room_.needs().has_small_files()) return good;
  if (const auto last = opening_.open_last_file()) {
    begin_in_note(last->identity.store_id, last->identity.signature->run);
    stream_.files().resume(*last);
    is_continued = true;
    return good;
  }
  if (is_enough || !opening_.cut_off_zeros()) return good;
  room_.ask_again();
  return room_.make_first_spare(is_enough) || good;
}

// End ---------------------------------------------------------------------------------------------

bool FolderRun::end(Instant now) {
  if (!state_.is_in_use()) return true;
  state_.now = std::max(state_.now, now);
  state_.check_files_at = state_.now;
  recovery_.try_at_once();
  watch_.check();
  // Jobs that compaction still has to write again are written at once.
  if (!stream_.is_refusing() && state_.segments->gone_until() != 0) {
    stream_.refusal().begin(DiskStatus::failed, "find", "files were taken away",
                            Notice::Kind::gone);
  }
  stream_.records().flush();
  // The seal comes after everything else is durable, because later starts rely on that.
  stream_.syncs().sync_all();
  recover_at_once();
  bodies_.drop_all();
  std::optional<WrittenPoint> end;
  if (!stream_.is_refusing()) end = stream_.files().end_cleanly();
  stream_.syncs().wait_for_all();
  stream_.files().cut_back();
  if (end && !stream_.is_refusing()) {
    const bool is_durable = state_.has_syncs() && end->records > 0;
    stream_.note().set_clean_stop(stream_.state().noted_files(), is_durable ? end->bytes : 0,
                                  state_.has_syncs());
  }
  room_.end();
  state_.is_closed = true;
  if (!stream_.is_refusing()) return true;
  stream_.progress().mark_doubtful();
  try {
    state_.notices.add({.kind = Notice::Kind::not_written});
  } catch (const std::bad_alloc&) {
    // Then only the result reports the failure.
  }
  return false;
}

// An attempt to recover takes as many rounds as there are records to write. It ends in success, or
// with no open file.
void FolderRun::recover_at_once() {
  if (stream_.is_refusing()) recovery_.advance(state_.budget(turn_limits::kStepsOfRecovery));
  while (stream_.is_refusing() && stream_.is_open()) {
    stream_.syncs().wait_for_all();
    bodies_.advance();
    if (stream_.is_refusing() && stream_.is_open())
      recovery_.advance(state_.budget(turn_limits::kStepsOfRecovery));
  }
}

}  // namespace haricot::binlog
