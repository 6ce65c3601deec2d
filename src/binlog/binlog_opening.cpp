// Opening a folder: the jobs come back, what nobody understood is kept aside, and a new file
// begins.

#include <algorithm>
#include <new>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/keeper.hpp"

namespace haricot::binlog {
namespace {

// Short enough to need none itself.
constexpr std::string_view kNoMemory = "no memory left";
constexpr std::string_view kNoSpace = "no space left on the disk";

// Whether a file that was being made has nothing in it yet: zeros, or a signature and zeros.
bool is_unused(std::string_view bytes) {
  if (find_nonzero(bytes, 0) == bytes.size()) return true;
  return bytes.size() >= kFirstRecordOffset && read_signature(bytes.substr(kVersionBytes)) &&
         find_nonzero(bytes, kFirstRecordOffset) == bytes.size();
}

// For a folder whose id nothing tells. Never 0.
std::uint64_t new_store_id(std::uint64_t random, const ReplayReport& report) {
  const bool has_ours =
      std::any_of(report.files.begin(), report.files.end(),
                  [](const FileReport& file) { return file.kind == FileKind::checked; });
  const std::uint64_t id = random & ~kIdMadeAnew;
  return has_ours ? id | kIdMadeAnew : std::max<std::uint64_t>(id, 1);
}

// Never 0.
std::uint32_t run_of(std::uint64_t random) {
  return static_cast<std::uint32_t>(1 + salt_of(random, 0) % (kRunsEnd - 1));
}

}  // namespace

bool Binlog::open(Engine& engine, Duration wall_offset, Instant now, std::uint64_t random,
                  ReplayWatcher watcher, std::string& error) {
  CHECK(engine_ == nullptr);
  try {
    if (open_folder(engine, wall_offset, now, random, watcher, error)) return true;
  } catch (const std::bad_alloc&) {
    error.clear();
  }
  if (error.empty()) error = kNoMemory;
  return false;
}

bool Binlog::open_folder(Engine& engine, Duration wall_offset, Instant now, std::uint64_t random,
                         ReplayWatcher watcher, std::string& error) {
  engine_ = &engine;
  now_ = now;
  wall_offset_ = wall_offset;
  segments_.emplace(engine.jobs());
  Replay replay(disk_, engine, *segments_);
  replay.set_watcher(watcher);
  replay.set_note(note_);
  const bool good = replay.run(wall_offset, now);
  report_ = replay.report();
  if (!good) {
    error = replay.error();
    return false;
  }
  if (options_.strict && !report_.is_sound()) {
    error = report_.warnings().front();
    return false;
  }
  if (report_.store_id != 0) note_.store_id = report_.store_id;
  if (note_.store_id == 0) note_.store_id = new_store_id(random, report_);
  note_.run_before = report_.run;
  note_.run = run_of(random);
  last_stamp_ = report_.last_stamp;
  if (!sync_what_was_read(error) || !begin_after_replay(error)) return false;
  note_what_was_read();
  // A file system that says of a new file that it is not there would say so again and again.
  if (writer_.is_open()) {
    can_look_ = disk_.look_for(writer_.file(), segment_name(writer_.number())) == Presence::there;
  }
  return true;
}

// A server that was killed may have left what it wrote to the kernel alone. From here on it counts
// as durable, so it has to be.
bool Binlog::sync_what_was_read(std::string& error) {
  if (options_.sync == SyncPolicy::never || report_.files.empty()) return true;
  DiskStatus status = disk_.sync_folder();
  for (std::size_t i = report_.files.size(); i > 0 && status == DiskStatus::ok; --i) {
    const FileReport& file = report_.files[i - 1];
    if (file.is_last_of_a_run && !report_.was_surveyed) break;
    status = disk_.sync_file(segment_name(file.number));
  }
  if (status != DiskStatus::ok) error = disk_.last_error();
  return status == DiskStatus::ok;
}

// From here on the folder is changed: nothing that was read, only beside it.
bool Binlog::begin_after_replay(std::string& error) {
  keep_what_was_not_understood();
  std::uint64_t number = report_.highest_number + 1;
  if (!report_.files.empty()) {
    // A file that has no record is replaced, so that idle restarts leave no trail of files.
    const FileReport& last = report_.files.back();
    const bool is_bare = last.kind == FileKind::checked && last.has_signature &&
                         last.records == 0 && !last.has_rubbish() &&
                         last.number == last.written_as && last.number == report_.highest_number;
    if (is_bare) {
      segments_->remove_newest();
      number = last.number;
      unsure_number_ = number;
    }
    const std::size_t before = report_.files.size() - (is_bare ? 1 : 0);
    const bool has_end = before > 0 && report_.files[before - 1].kind != FileKind::empty;
    if (has_end) {
      const FileReport& previous = report_.files[before - 1];
      previous_number_ = previous.written_as;
      previous_ = WrittenPoint{previous.accepted_bytes, previous.records_counted, previous.digest};
    }
  }
  next_file_number_ = number;
  spares_.set_next_number(number);
  if (!make_first_spare() || !prepare_spare(0)) {
    if (!is_short_of_space()) {
      error = spares_.why();
      return false;
    }
    // All jobs are here, and workers can have them. What has to be recorded waits for space.
    fail(DiskStatus::full, "begin a file", kNoSpace);
    return true;
  }
  if (!begin_file()) {
    error = last_failure_;
    return false;
  }
  // All that is needed: nobody waits yet for anything else.
  do {
    tend_spares();
  } while (spares_left_to_tend_);
  return true;
}

// Files with damage stay as they are as long as jobs live in them, and are read again at each
// start; what of them is no record stays for ever, in a copy. Files that are not of this place go
// out of the way.
void Binlog::keep_what_was_not_understood() {
  Keeper keeper(disk_);
  for (std::size_t i = 0; i < report_.files.size(); ++i) {
    const FileReport& file = report_.files[i];
    if (!file.has_rubbish()) continue;
    const bool is_kept = keep_rubbish(keeper, file);
    segments_->at(i).has_to_be_kept = !is_kept;
  }
  for (const Problem& problem : report_.problems) {
    if (!is_left_aside(problem.kind)) continue;
    const auto number = segment_number(problem.file);
    move_aside(keeper, problem.file, *number);
  }
  for (const std::string& name : report_.spares) {
    // Of a large body that was on its way: without a record that anybody was told of.
    const bool is_of_body = name == spare_name(LargeBody::kNumber);
    if (is_of_body && disk_.remove(name) == DiskStatus::ok) continue;
    FileBytes bytes;
    if (disk_.read(name, bytes) == DiskStatus::ok && is_unused(bytes.view())) {
      (void)disk_.remove(name);
    } else {
      // Somebody may have given a file of jobs that name.
      move_aside(keeper, name, *segment_number(name.substr(0, name.rfind('.'))));
    }
  }
  (void)keeper.sync();
}

// False: the copy could not be made.
bool Binlog::keep_rubbish(Keeper& keeper, const FileReport& file) {
  const std::string name = segment_name(file.number);
  FileBytes bytes;
  Keeper::Kept kept;
  DiskStatus status = disk_.read(name, bytes);
  const std::string_view all = bytes.view();
  // What was here is not to be had from zeros.
  if (status == DiskStatus::ok && find_nonzero(all, 0) == all.size()) return true;
  if (status == DiskStatus::ok && !file.damages.empty()) {
    status = keeper.keep(all, file.number, damaged_name, kept);
  } else if (status == DiskStatus::ok) {
    const auto begin = static_cast<std::size_t>(file.torn.offset);
    status = keeper.keep(all.substr(begin, static_cast<std::size_t>(file.torn.bytes)), file.number,
                         torn_name, kept);
  }
  if (status == DiskStatus::ok) status = keeper.sync();
  Notice told{.kind = Notice::Kind::copy_kept, .file = name, .copy = kept.name};
  if (status != DiskStatus::ok) {
    told.kind = Notice::Kind::copy_failed;
    told.error = disk_.last_error();
  }
  if (status != DiskStatus::ok || kept.is_new) notices_.push_back(std::move(told));
  return status == DiskStatus::ok;
}

void Binlog::move_aside(Keeper& keeper, const std::string& name, std::uint64_t number) {
  std::string to;
  Notice told{.kind = Notice::Kind::left_aside, .file = name};
  if (keeper.move(name, number, aside_name, to) != DiskStatus::ok) told.error = disk_.last_error();
  told.copy = to;
  notices_.push_back(std::move(told));
}

}  // namespace haricot::binlog
