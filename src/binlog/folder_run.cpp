#include "haricot/binlog/folder_run.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string_view>

#include "haricot/base/check.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/write/large_body.hpp"
#include "haricot/binlog/write/quarantine.hpp"

namespace haricot::binlog {
namespace {

// Returns true if a spare has no content yet: zeros, or a signature and zeros.
bool is_unused(std::string_view bytes) {
  if (find_nonzero(bytes, 0) == bytes.size()) return true;
  return bytes.size() >= kFirstRecordOffset && read_signature(bytes.substr(kVersionBytes)) &&
         find_nonzero(bytes, kFirstRecordOffset) == bytes.size();
}

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

// Opening -----------------------------------------------------------------------------------------

bool FolderOpening::read(const FolderNote& note, ReplayWatcher watcher, std::string& error) {
  Replay replay(state_.disk, *state_.engine, *state_.segments);
  replay.set_watcher(watcher);
  replay.set_note(note, state_.epoch);
  if (!state_.has_syncs()) replay.accept_gaps();
  const bool good = replay.run(state_.wall_offset, state_.now);
  report_ = replay.report();
  if (!good) {
    error = replay.error();
    return false;
  }
  if (state_.options.strict && !report_.is_sound()) {
    error = report_.warnings().front();
    return false;
  }
  return sync_read_files(error);
}

// Syncs the files that were read. A server that was killed, or that never syncs, may have written
// them only to the kernel, and from now on they count as durable.
bool FolderOpening::sync_read_files(std::string& error) {
  if (!state_.has_syncs() || report_.files.empty()) return true;
  // If something is lost or in doubt, nothing is known to be synced.
  const bool is_in_order = report_.is_sound();
  DiskStatus status = state_.disk.sync_folder();
  for (std::size_t i = report_.files.size(); i > 0 && status == DiskStatus::ok; --i) {
    const FileReport& file = report_.files[i - 1];
    if (file.has_stop_in_seal && file.marks.has_durable_past && is_in_order) break;
    status = state_.disk.sync_file(file.name);
  }
  if (status != DiskStatus::ok) error = state_.disk.last_error();
  return status == DiskStatus::ok;
}

FileSequence::Start FolderOpening::start() {
  FileSequence::Start start;
  start.number = report_.highest_number + 1;
  start.records_lost = static_cast<std::uint32_t>(report_.records_lost);
  if (report_.files.empty()) return start;
  // A file without a record is replaced, so that idle restarts do not add files.
  const FileReport& last = report_.files.back();
  start.is_unsure = !state_.is_fenced() && last.kind() == FileKind::checked &&
                    last.has_signature() && last.records == 0 && !last.has_unreadable_part() &&
                    last.number == report_.highest_number;
  if (start.is_unsure) {
    state_.segments->remove_newest();
    start.number = last.number;
  }
  const std::size_t before = report_.files.size() - (start.is_unsure ? 1 : 0);
  if (before == 0) return start;
  const FileReport& previous = report_.files[before - 1];
  const bool is_empty = previous.kind() == FileKind::empty;
  if (is_empty && !state_.is_fenced()) return start;
  start.previous_number = previous.number;
  // The server that began an empty file may still write to it late. Nothing of that counts.
  start.previous =
      is_empty ? WrittenPoint{.bytes = kFirstRecordOffset}
               : WrittenPoint{previous.accepted_bytes, previous.records_counted, previous.digest};
  return start;
}

std::uint64_t FolderOpening::newest_with_records() const {
  std::uint64_t newest = 0;
  for (const FileReport& file : report_.files) {
    if (file.records_counted > 0) newest = std::max<std::uint64_t>(newest, file.number);
  }
  return newest;
}

// Damaged files stay as they are while jobs live in them, and each start reads them again. Their
// unreadable parts are kept in copies, which nothing removes.
void FolderOpening::keep_unreadable_data() {
  Quarantine quarantine(state_.disk);
  for (std::size_t i = 0; i < report_.files.size(); ++i) {
    if (report_.files[i].has_unreadable_part()) state_.segments->at(i).has_to_be_kept = true;
  }
  for (std::size_t i = 0; i < report_.files.size(); ++i) {
    const FileReport& file = report_.files[i];
    if (!file.has_unreadable_part()) continue;
    const bool is_kept = keep_unreadable_part(quarantine, file);
    state_.segments->at(i).has_to_be_kept = !is_kept;
  }
  for (const Problem& problem : report_.problems) {
    if (problem.kind != Problem::Kind::late) continue;
    const auto number = binlog_file_number(problem.file);
    move_aside(quarantine, problem.file, *number);
  }
  for (const std::string& name : report_.spares) {
    // A large body without a record: no answer depends on it.
    const bool is_of_body = name == spare_name(LargeBody::kNumber);
    if (is_of_body && state_.disk.remove(name) == DiskStatus::ok) continue;
    FileBytes bytes;
    const DiskStatus status = state_.disk.read(name, bytes);
    if (status == DiskStatus::missing) continue;
    if (status == DiskStatus::ok && is_unused(bytes.view())) {
      (void)state_.disk.remove(name);
    } else {
      // A file with jobs may have been given that name.
      move_aside(quarantine, name, *binlog_file_number(name.substr(0, name.rfind('.'))));
    }
  }
  (void)quarantine.sync();
}

// Returns false if the copy could not be made.
bool FolderOpening::keep_unreadable_part(Quarantine& quarantine, const FileReport& file) {
  const std::string& name = file.name;
  FileBytes bytes;
  Quarantine::Kept kept;
  DiskStatus status = state_.disk.read(name, bytes);
  const std::string_view all = bytes.view();
  // Zeros contain nothing to keep.
  if (status == DiskStatus::ok && find_nonzero(all, 0) == all.size()) return true;
  if (status == DiskStatus::ok && !file.damages.empty()) {
    // Zeros at the end are left out: a file that is being written has millions.
    const std::string_view used = all.substr(0, all.find_last_not_of('\0') + 1);
    status = quarantine.keep(used, file.number, damaged_name, kept);
  } else if (status == DiskStatus::ok) {
    const auto begin = static_cast<std::size_t>(file.torn.offset);
    status = quarantine.keep(all.substr(begin, static_cast<std::size_t>(file.torn.bytes)),
                             file.number, torn_name, kept);
  }
  if (status == DiskStatus::ok) status = quarantine.sync();
  Notice notice{.kind = Notice::Kind::copy_kept, .file = name, .copy = kept.name};
  if (status != DiskStatus::ok) {
    notice.kind = Notice::Kind::copy_failed;
    notice.error = state_.disk.last_error();
  }
  if (status != DiskStatus::ok || kept.is_new) state_.notices.add(std::move(notice));
  return status == DiskStatus::ok;
}

void FolderOpening::move_aside(Quarantine& quarantine, const std::string& name,
                               std::uint64_t number) {
  std::string to;
  Notice notice{.kind = Notice::Kind::left_aside, .file = name};
  if (quarantine.move(name, number, aside_name, to) != DiskStatus::ok)
    notice.error = state_.disk.last_error();
  notice.copy = to;
  state_.notices.add(std::move(notice));
}

// Continues the file only if nothing in the folder is lost or in doubt. Otherwise a next file has
// to state where this one ends, and the marks of the continued run would state that torn records of
// its earlier files were durable.
std::optional<ContinuedFile> FolderOpening::open_last_file() {
  if (report_.files.empty() || state_.is_fenced() || !report_.problems.empty()) return std::nullopt;
  const FileReport& last = report_.files.back();
  const bool is_ours = last.kind() == FileKind::checked && last.has_signature() &&
                       last.number == report_.highest_number && last.run() != 0 &&
                       last.run() == report_.run;
  const bool is_open_ended = !last.is_sealed && !last.has_known_end && !last.has_stop_in_note &&
                             !last.has_unreadable_part() && last.records > 0;
  const bool has_room = last.bytes >= last.accepted_bytes + SegmentWriter::kEndBytes;
  if (!is_ours || !is_open_ended || !has_room) return std::nullopt;
  ContinuedFile result{.identity = last.identity,
                       .allocated = last.bytes,
                       .end = {last.accepted_bytes, last.records_counted, last.digest}};
  if (state_.disk.open_existing(last.name, result.file) != DiskStatus::ok) return std::nullopt;
  if (!state_.has_syncs() || state_.disk.sync(result.file) == DiskStatus::ok) return result;
  state_.disk.close(result.file);
  return std::nullopt;
}

bool FolderOpening::cut_off_zeros() {
  // In a shared folder, another server may have found more in the file by now.
  if (report_.files.empty() || state_.is_fenced()) return false;
  const FileReport& last = report_.files.back();
  const bool has_zeros = last.damages.empty() && last.torn.bytes == 0 && last.accepted_bytes > 0 &&
                         last.bytes > last.accepted_bytes;
  if (!has_zeros) return false;
  FileHandle file = FileHandle::none;
  if (state_.disk.open_existing(last.name, file) != DiskStatus::ok) return false;
  DiskStatus status = state_.disk.truncate(file, last.accepted_bytes);
  if (status == DiskStatus::ok && state_.has_syncs()) status = state_.disk.sync(file);
  state_.disk.close(file);
  if (status != DiskStatus::ok) return false;
  if (!state_.segments->empty() && state_.segments->newest().number == last.number) {
    state_.segments->newest().bytes = last.accepted_bytes;
  }
  return true;
}

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
