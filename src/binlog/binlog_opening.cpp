// Opening and closing the folder: what each part does at the start and at the end of a server.

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "haricot/base/check.hpp"
#include "haricot/base/job_tags.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/format/job_record.hpp"

namespace haricot::binlog {
namespace {

// Short enough to need none itself.
constexpr std::string_view kNoMemory = "no memory left";
constexpr std::string_view kNoSpace = "no space left on the disk";

// For a folder whose id nothing tells. Never 0.
std::uint64_t new_store_id(std::uint64_t random, const ReplayReport& report) {
  const bool had_one = std::any_of(
      report.problems.begin(), report.problems.end(),
      [](const Problem& problem) { return problem.kind == Problem::Kind::unidentified; });
  const std::uint64_t id = random & ~kIdMadeAnew;
  return had_one ? id | kIdMadeAnew : std::max<std::uint64_t>(id, 1);
}

// Never 0.
std::uint32_t run_of(std::uint64_t random) {
  return static_cast<std::uint32_t>(1 + salt_of(random, 0) % (kRunsEnd - 1));
}

// Repeats an attempt while the journal waits for its disk. Returns its last status.
template <typename Attempt>
JournalStatus repeat_until_disk(Binlog& binlog, Attempt attempt) {
  JournalStatus status = attempt();
  while (status == JournalStatus::later) {
    binlog.wait_for_disk();
    status = attempt();
  }
  return status;
}

}  // namespace

// Opening -----------------------------------------------------------------------------------------

bool Binlog::open(Engine& engine, Duration wall_offset, Instant now, std::uint64_t random,
                  ReplayWatcher watcher, std::string& error) {
  return read(engine, wall_offset, now, watcher, error) && begin(random, error);
}

bool Binlog::read(Engine& engine, Duration wall_offset, Instant now, ReplayWatcher watcher,
                  std::string& error) {
  CHECK(state_.engine == nullptr);
  try {
    state_.engine = &engine;
    state_.now = now;
    state_.wall_offset = wall_offset;
    state_.segments.emplace(engine.jobs());
    if (opening_.read(note(), watcher, error)) {
      promise_to_restored();
      return true;
    }
  } catch (const std::bad_alloc&) {
    error.clear();
  }
  if (error.empty()) error = kNoMemory;
  return false;
}

bool Binlog::can_begin(std::string& error) {
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

bool Binlog::begin(std::uint64_t random, std::string& error, bool has_to) {
  try {
    if (begin_run(random, has_to, error)) return true;
  } catch (const std::bad_alloc&) {
    error.clear();
    if (has_to) {
      // All jobs are here, and workers can have them. A file is begun when there is memory.
      stream_.refusal().begin(DiskStatus::failed, "begin a file", kNoMemory);
      return true;
    }
  }
  if (error.empty()) error = kNoMemory;
  return false;
}

bool Binlog::begin_run(std::uint64_t random, bool has_to, std::string& error) {
  const ReplayReport& report = opening_.report();
  std::uint64_t store_id = report.store_id != 0 ? report.store_id : note().store_id;
  if (store_id == 0) store_id = new_store_id(random, report);
  begin_run_in_note(store_id, state_.is_fenced() ? run_of_epoch(state_.epoch) : run_of(random));
  if (!begin_after_replay(has_to, error) || !record_what_no_file_has(error)) return false;
  if (stream_.is_open()) watch_.begin();
  return true;
}

// In front of the first file: the note tells that no record of it was safe.
void Binlog::begin_run_in_note(std::uint64_t store_id, std::uint32_t run) {
  stream_.note().begin_run(store_id, opening_.report().run, run);
  NoteWriter::Files files = stream_.state().noted_files();
  files.newest = opening_.newest_with_records();
  stream_.note().set_what_was_read(files);
}

// Jobs and keys that came from elsewhere: from a server that kept them in memory. They are durable
// before the folder is in use, so that whoever kept them can drop them. If this ends in the middle,
// the folder has a part of the jobs, each of them whole.
bool Binlog::record_what_no_file_has(std::string& error) {
  const JobStore& jobs = state_.engine->jobs();
  if (jobs.size() + jobs.tombstones() == state_.segments->live_jobs()) return true;
  if (record_jobs() && record_tombstones() && remember_last_id()) {
    stream_.records().flush();
    stream_.syncs().request(true);
    wait_for_syncs();
    if (!stream_.is_refusing()) return true;
  }
  error = "not all jobs of the previous server could be written: ";
  error += stream_.refusal().why().empty() ? kNoSpace : stream_.refusal().why();
  return false;
}

// False: one could not be recorded.
bool Binlog::record_jobs() {
  const JobStore& jobs = state_.engine->jobs();
  std::vector<JobRef> first_buried;
  for (JobRef ref = jobs.first_from(0); ref != JobRef::none;
       ref = jobs.first_from(jobs[ref].id + 1)) {
    if (jobs[ref].state() != JobState::buried) {
      if (!is_in_file(ref) && !record_restored(ref)) return false;
    } else if (jobs[ref].links.first == static_cast<std::uint32_t>(JobRef::none)) {
      first_buried.push_back(ref);
    }
  }
  // Their order is that of their records.
  for (JobRef ref : first_buried) {
    for (; ref != JobRef::none; ref = static_cast<JobRef>(jobs[ref].links.second)) {
      if (!is_in_file(ref) && !record_restored(ref)) return false;
    }
  }
  return true;
}

bool Binlog::record_tombstones() {
  for (const JobRef ref : state_.engine->jobs().tombstones_by_id()) {
    if (!is_in_file(ref) && !record_restored_tombstone(ref)) return false;
  }
  return true;
}

bool Binlog::record_restored(JobRef ref) {
  const JobStore& jobs = state_.engine->jobs();
  const JournaledJob job = state_.engine->journaled(ref);
  const std::string_view tags = jobs.tags(ref);
  const JobTags read = tags_in(tags);
  const PutRoom put{.tube_name_bytes = job.tube_name.size(),
                    .body_bytes = jobs[ref].body_bytes,
                    .tag_bytes = tags.size(),
                    .may_be_buried = state_.engine->may_be_buried(ref),
                    .is_held = jobs.is_held(ref),
                    .tombstone_key_bytes = read.tombstone_s > 0 ? read.unique_key.size() : 0};
  const auto take_room = [&] { return take_room_for_put(put, {}); };
  if (repeat_until_disk(*this, take_room) != JournalStatus::ok) return false;
  record(JobChange::put, job);
  return !stream_.is_refusing();
}

bool Binlog::record_restored_tombstone(JobRef tombstone_ref) {
  const Tombstone tombstone = state_.engine->tombstone(tombstone_ref);
  const auto write = [&] { return compaction_.write_tombstone(tombstone); };
  return repeat_until_disk(*this, write) == JournalStatus::ok;
}

void Binlog::promise_to_restored() {
  Engine& engine = *state_.engine;
  const Segments& segments = *state_.segments;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    for (JobRef ref = segments.at(i).first; ref != JobRef::none; ref = segments.after(ref)) {
      if (is_tombstone(engine.jobs(), ref)) continue;
      if (engine.is_plain(ref)) {
        state_.promises.make_deletion();
        continue;
      }
      const Promise promise = engine.may_be_buried(ref) ? Promise::burial : Promise::nothing;
      state_.promises.make(engine.journaled(ref), engine.jobs(), promise);
    }
  }
}

// From here on the folder is changed: nothing that was read, only beside it, or after its end.
bool Binlog::begin_after_replay(bool has_to, std::string& error) {
  // The position comes before anything that may fail, so that a later try does not replace a file.
  stream_.files().start_from(opening_.start());
  stream_.jobs().continue_after(opening_.report().last_stamp);
  opening_.keep_what_was_not_understood();
  bool is_continued = false;
  const bool has_spare = make_first_spare(is_continued);
  if (!is_continued && (!has_spare || !room_.prepare_spare(0))) {
    const bool is_short = room_.is_short();
    if (!is_short && !has_to) {
      error = room_.why();
      return false;
    }
    // All jobs are here, and workers can have them. Changes wait for the disk.
    stream_.refusal().begin(is_short ? DiskStatus::full : DiskStatus::failed, "begin a file",
                            is_short ? kNoSpace : std::string_view(room_.why()));
    return true;
  }
  if (!is_continued && !room_.begin_file()) {
    if (has_to) return true;
    error = stream_.refusal().why();
    return false;
  }
  // All that is needed: nobody waits yet for anything else.
  do {
    room_.tend(budget(turn_limits::kStepsOfSpares));
  } while (room_.is_left_to_tend());
  return true;
}

// Where space is scarce it may be in the newest file: a server that was killed leaves there what it
// had taken ahead. That file is continued, and so is its run: a new file at each start would use up
// the room that changes need. Otherwise the space is given back. False: there is no spare.
bool Binlog::make_first_spare(bool& is_continued) {
  bool is_enough = false;
  const bool good = room_.make_first_spare(is_enough);
  if (is_enough && !room_.needs().has_small_files()) return good;
  if (const auto last = opening_.open_last_file()) {
    begin_run_in_note(last->identity.store_id, last->identity.signature->run);
    stream_.files().resume(*last);
    is_continued = true;
    return good;
  }
  if (is_enough || !opening_.cut_off_zeros()) return good;
  room_.ask_again();
  return room_.make_first_spare(is_enough) || good;
}

// Closing -----------------------------------------------------------------------------------------

bool Binlog::close(Instant now) {
  if (!is_in_use()) return true;
  state_.now = std::max(state_.now, now);
  state_.look_for_files_at = state_.now;
  recovery_.try_at_once();
  watch_.look();
  // What compaction has still to write anew is written at once.
  if (!stream_.is_refusing() && state_.segments->gone_until() != 0) {
    stream_.refusal().begin(DiskStatus::failed, "find", "files were taken away",
                            Notice::Kind::gone);
  }
  stream_.records().flush();
  // The seal comes when all else is durable, and says so to later starts.
  wait_for_syncs();
  stream_.syncs().request(true);
  wait_for_syncs();
  recover_at_once();
  bodies_.drop_all();
  std::optional<WrittenPoint> end;
  if (!stream_.is_refusing()) end = stream_.files().end_cleanly();
  wait_for_syncs();
  stream_.files().cut_back();
  if (end && !stream_.is_refusing()) {
    stream_.note().set_clean_stop(stream_.state().noted_files(), end->records > 0 ? end->bytes : 0,
                                  state_.has_syncs());
  }
  room_.end();
  is_closed_ = true;
  if (!stream_.is_refusing()) return true;
  stream_.progress().mark_doubtful();
  try {
    state_.notices.tell({.kind = Notice::Kind::not_written});
  } catch (const std::bad_alloc&) {
    // Then the result alone says so.
  }
  return false;
}

// A try to recover takes as many rounds as there is to rewrite; it ends well or with no file.
void Binlog::recover_at_once() {
  if (stream_.is_refusing()) recovery_.go_on(budget(turn_limits::kStepsOfRecovery));
  while (stream_.is_refusing() && stream_.is_open()) {
    wait_for_syncs();
    bodies_.go_on();
    if (stream_.is_refusing() && stream_.is_open())
      recovery_.go_on(budget(turn_limits::kStepsOfRecovery));
  }
}

void Binlog::wait_for_disk() {
  if (stream_.sync_line().length() == 0) return;
  state_.disk.wait_for_sync();
  stream_.syncs().take_ends();
}

void Binlog::wait_for_syncs() {
  while (stream_.sync_line().length() > 0) wait_for_disk();
}

bool Binlog::remember_last_id() {
  const Segments& segments = *state_.segments;
  JobId highest = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    highest = std::max(highest, segments.at(i).highest_id);
  }
  const JobId last = state_.engine->next_id() - 1;
  if (last <= highest) return true;
  const auto mark = [&] { return compaction_.mark_id(last); };
  return repeat_until_disk(*this, mark) == JournalStatus::ok;
}

}  // namespace haricot::binlog
