#include "tool/binlog/kept_jobs.hpp"

#include <algorithm>
#include <new>

#include "haricot/binlog/job_record.hpp"
#include "os/clock.hpp"
#include "os/folder_lock.hpp"
#include "os/process.hpp"

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

KeptJobs::KeptJobs()
    : journal_(disk_, {}),
      now_(os::read_clock()),
      wall_offset_(os::read_wall_offset()),
      engine_(now_, journal_, os::make_hash_key()),
      segments_(engine_.jobs()),
      replay_(disk_, engine_, segments_) {}

bool KeptJobs::read(const std::string& path, std::string& error) {
  if (!disk_.open(path)) {
    error = disk_.last_error();
    return false;
  }
  user_ = os::FolderLock::user_of(disk_.descriptor());
  replay_.set_note(os::FolderLock::note_in(disk_.descriptor()));
  try {
    if (user_ != 0) {
      disk_.expect_writers();
      os::raise_descriptor_limit();
      if (disk_.hold_files() != haricot::binlog::DiskStatus::ok) {
        error = disk_.last_error();
        return false;
      }
    }
    std::vector<std::string> names;
    if (disk_.list(names) != haricot::binlog::DiskStatus::ok) {
      error = disk_.last_error();
      return false;
    }
    for (const std::string& name : names) {
      if (is_kept_aside(name)) kept_aside_.push_back(name);
    }
    std::sort(kept_aside_.begin(), kept_aside_.end());
    const bool is_read = replay_.run(wall_offset_, now_);
    disk_.release_files();
    if (is_read) return true;
    error = replay_.error();
  } catch (const std::bad_alloc&) {
    error = "there is not enough memory for all jobs";
  }
  return false;
}

std::vector<JobRef> KeptJobs::by_id() const {
  std::vector<JobRef> refs;
  refs.reserve(engine_.jobs().size());
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    for (JobRef ref = segments_.at(i).first; ref != JobRef::none; ref = segments_.after(ref)) {
      if (!haricot::binlog::is_remains(engine_.jobs(), ref)) refs.push_back(ref);
    }
  }
  const JobStore& jobs = engine_.jobs();
  std::sort(refs.begin(), refs.end(),
            [&jobs](JobRef a, JobRef b) { return jobs[a].id < jobs[b].id; });
  return refs;
}

std::vector<JobRef> KeptJobs::with_buried_last() {
  std::vector<JobRef> refs = by_id();
  JobStore& jobs = engine_.jobs();
  const auto is_buried = [&jobs](JobRef ref) { return jobs[ref].state() == JobState::buried; };
  const auto buried =
      std::stable_partition(refs.begin(), refs.end(), [&](JobRef ref) { return !is_buried(ref); });
  std::stable_sort(buried, refs.end(), [&jobs](JobRef a, JobRef b) {
    return jobs.journal_note(a).stamp() < jobs.journal_note(b).stamp();
  });
  return refs;
}

std::uint64_t KeptJobs::jobs_in(const binlog::Segment& segment) const {
  std::uint64_t jobs = segment.live_jobs;
  if (engine_.jobs().remains() == 0) return jobs;
  for (JobRef ref = segment.first; ref != JobRef::none; ref = segments_.after(ref)) {
    if (haricot::binlog::is_remains(engine_.jobs(), ref)) --jobs;
  }
  return jobs;
}

std::string_view state_name(JobState state) {
  return name_of(state == JobState::reserved ? JobState::ready : state);
}

}  // namespace haricot::tool
