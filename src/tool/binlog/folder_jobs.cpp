#include "tool/binlog/folder_jobs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "haricot/binlog/format/job_record.hpp"
#include "os/clock.hpp"
#include "os/folder_lock.hpp"
#include "os/process.hpp"
#include "tool/binlog/repair/rescue.hpp"
#include "tool/cli/output.hpp"

namespace haricot::tool {
namespace {

bool is_kept_aside(std::string_view name) {
  if (!name.starts_with("binlog.")) return false;
  const auto has = [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  return has(".damaged") || has(".torn.") || has(".aside.");
}

}  // namespace

FolderJobs::FolderJobs()
    : journal_(disk_, {}),
      now_(os::read_clock()),
      wall_offset_(os::read_wall_offset()),
      engine_(now_, journal_, os::make_hash_key()),
      segments_(engine_.jobs()) {}

bool FolderJobs::replay(const std::string& path, std::vector<Guess>* guesses, std::string& error) {
  const haricot::binlog::FolderNote note = disk_.snapshot().note();
  if (guesses != nullptr) {
    Rescue rescue(disk_, engine_, segments_);
    const bool good = rescue.run(note, wall_offset_, now_, guesses, error);
    report_ = rescue.report();
    return good;
  }
  haricot::binlog::Replay replay(disk_, engine_, segments_);
  replay.set_note(note);
  const bool good = replay.run(wall_offset_, now_);
  report_ = replay.report();
  error = with_remedy(replay.error(), report_.problems, path);
  return good;
}

bool FolderJobs::open(const std::string& path, std::string& error) {
  std::vector<std::string> names;
  bool good = disk_.open(path);
  if (good) user_ = os::FolderLock::user_of(disk_.descriptor());
  if (good && user_ != 0) {
    disk_.files().expect_writers();
    os::raise_descriptor_limit();
    good = disk_.snapshot().take() == haricot::binlog::DiskStatus::ok;
  }
  good = good && disk_.list(names) == haricot::binlog::DiskStatus::ok;
  if (!good) error = disk_.last_error();
  for (const std::string& name : names) {
    if (is_kept_aside(name)) aside_.push_back(name);
  }
  std::sort(aside_.begin(), aside_.end());
  return good;
}

bool FolderJobs::read_or_rescue(const std::string& path, std::vector<Guess>* guesses,
                                std::string& error) {
  try {
    if (!open(path, error)) return false;
    const bool is_read = replay(path, guesses, error);
    disk_.snapshot().release();
    return is_read;
  } catch (const std::bad_alloc&) {
    error = "there is not enough memory for all jobs";
  }
  return false;
}

bool FolderJobs::read(const std::string& path, std::string& error) {
  return read_or_rescue(path, nullptr, error);
}

bool FolderJobs::rescue(const std::string& path, std::vector<Guess>& guesses, std::string& error) {
  return read_or_rescue(path, &guesses, error);
}

std::vector<JobRef> FolderJobs::all_in(const binlog::Segment& segment) const {
  std::vector<JobRef> refs;
  add_all_in(segment, refs);
  return refs;
}

void FolderJobs::add_all_in(const binlog::Segment& segment, std::vector<JobRef>& refs) const {
  for (JobRef ref = segment.first; ref != JobRef::none; ref = segments_.after(ref)) {
    if (!haricot::binlog::is_tombstone(engine_.jobs(), ref)) refs.push_back(ref);
  }
}

std::vector<JobRef> FolderJobs::by_id() const {
  std::vector<JobRef> refs;
  refs.reserve(engine_.jobs().size());
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    add_all_in(segments_.at(i), refs);
  }
  const JobStore& jobs = engine_.jobs();
  std::sort(refs.begin(), refs.end(),
            [&jobs](JobRef a, JobRef b) { return jobs[a].id < jobs[b].id; });
  return refs;
}

std::vector<JobRef> FolderJobs::with_buried_last() {
  std::vector<JobRef> refs = by_id();
  JobStore& jobs = engine_.jobs();
  const auto is_buried = [&jobs](JobRef ref) { return jobs[ref].state() == JobState::buried; };
  const auto buried =
      std::stable_partition(refs.begin(), refs.end(), [&](JobRef ref) { return !is_buried(ref); });
  std::stable_sort(buried, refs.end(), [&jobs](JobRef a, JobRef b) {
    return jobs.journal_fields(a).stamp() < jobs.journal_fields(b).stamp();
  });
  return refs;
}

std::uint64_t FolderJobs::jobs_in(const binlog::Segment& segment) const {
  return engine_.jobs().tombstones() == 0 ? segment.live_jobs : all_in(segment).size();
}

void complain(const std::string& line) {
  std::fprintf(stderr, "haricot binlog: %s\n", safe_lines(line).c_str());
}

std::string_view state_name(JobState state) {
  return name_of(state == JobState::reserved ? JobState::ready : state);
}

namespace {

// Creates or opens an empty folder and locks it like a server.
bool take_empty_folder(const std::string& path, os::FolderDisk& disk, os::FolderLock& lock,
                       std::string& error) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    error = "cannot create " + path + ": " + std::strerror(errno);
    return false;
  }
  std::vector<std::string> names;
  if (!disk.open(path) || disk.list(names) != haricot::binlog::DiskStatus::ok) {
    error = disk.last_error();
    return false;
  }
  if (!names.empty()) {
    error = path + " is not empty";
    return false;
  }
  if (lock.take(disk.descriptor()) != os::LockStatus::taken) {
    error = "cannot lock " + path;
    return false;
  }
  return true;
}

RestoredJob restored(const Engine& engine, JobRef ref) {
  const Job& job = engine.jobs()[ref];
  RestoredJob result{.id = job.id,
                     .created = job.created,
                     .priority = job.priority,
                     .delay_s = job.delay_s,
                     .ttr_s = job.ttr_s,
                     .state = job.state()};
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    const std::uint64_t count = engine.jobs().counted(ref, static_cast<JobEvent>(i));
    result.counters[i] =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(count, ~std::uint32_t{0}));
  }
  result.tags = engine.jobs().tags(ref);
  result.facts = engine.jobs().facts(ref);
  return result;
}

}  // namespace

bool copy_job(const Engine& from, JobRef ref, Engine& to, haricot::binlog::Binlog& binlog) {
  const JournaledJob job = from.journaled(ref);
  const bool is_held = from.jobs().is_held(ref);
  NewBody body{.bytes = {}, .blob = from.jobs().body_blob(ref)};
  if (!body.blob) body.bytes = from.jobs().body(ref);
  const JobRef made = to.restoring().restore(restored(from, ref), job.tube_name, std::move(body));
  if (made == JobRef::none) return false;
  const bool is_buried = job.job.state() == JobState::buried;
  bool is_placed = false;
  if (is_held) {
    is_placed = to.restoring().place_held(made);
  } else if (is_buried) {
    is_placed = to.restoring().place_buried(made, from.burial(ref));
  } else {
    is_placed = to.restoring().place(made, job.deadline);
  }
  return is_placed && binlog.record_restored(made);
}

bool copy_tombstone(const Engine& from, JobRef tombstone_ref, Engine& to,
                    haricot::binlog::Binlog& binlog) {
  const JobRef made = to.restoring().restore_tombstone(from.tombstone(tombstone_ref));
  return made != JobRef::none && to.restoring().place_tombstone(made) == PlacedKey::taken &&
         binlog.record_restored_tombstone(made);
}

bool write_to_new_folder(FolderJobs& folder_jobs, const std::string& to, bool is_quiet,
                         std::string& error) {
  os::survive_file_size_limit();
  os::FolderDisk disk;
  os::FolderLock lock;
  if (!take_empty_folder(to, disk, lock, error)) return false;
  haricot::binlog::BinlogOptions options;
  options.sync = haricot::binlog::SyncPolicy::interval;
  haricot::binlog::Binlog binlog(disk, options);
  Engine copies(folder_jobs.now(), binlog);
  copies.restoring().end(folder_jobs.report().next_id);
  if (!binlog.open(copies, folder_jobs.wall_offset(), folder_jobs.now(), os::random_bits(), {},
                   error)) {
    return false;
  }
  Progress progress("copied", is_quiet);
  bool good = true;
  for (const JobRef ref : folder_jobs.with_buried_last()) {
    good = good && copy_job(folder_jobs.engine(), ref, copies, binlog);
    progress.show(os::read_clock(), copies.jobs().size(), folder_jobs.engine().jobs().size());
  }
  for (const JobRef tombstone_ref : folder_jobs.engine().jobs().tombstones_by_id()) {
    good = good && copy_tombstone(folder_jobs.engine(), tombstone_ref, copies, binlog);
  }
  progress.clear();
  good = good && binlog.remember_last_id();
  good = binlog.close(folder_jobs.now()) && good;
  while (const auto notice = binlog.next_notice()) {
    complain(binlog::to_sentence(*notice));
  }
  if (!good) error = "not all jobs could be written to " + to;
  return good;
}

}  // namespace haricot::tool
