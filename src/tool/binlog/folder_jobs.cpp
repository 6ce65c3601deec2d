#include "tool/binlog/folder_jobs.hpp"

#include <algorithm>
#include <new>

#include "haricot/binlog/format/job_record.hpp"
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

FolderJobs::FolderJobs()
    : journal_(disk_, {}),
      now_(os::read_clock()),
      wall_offset_(os::read_wall_offset()),
      engine_(now_, journal_, os::make_hash_key()),
      segments_(engine_.jobs()),
      replay_(disk_, engine_, segments_) {}

bool FolderJobs::replay(std::string& error, std::vector<Guess>* guesses) {
  haricot::binlog::FolderFacts facts;
  bool good = haricot::binlog::gather_facts(disk_, disk_.snapshot().note(), 0, facts, error);
  if (good && guesses != nullptr) good = guess(disk_, facts, *guesses, error);
  if (good && replay_.run(facts, wall_offset_, now_)) return true;
  if (good) error = replay_.error();
  return false;
}

bool FolderJobs::read(const std::string& path, std::string& error, std::vector<Guess>* guesses) {
  if (!disk_.open(path)) {
    error = disk_.last_error();
    return false;
  }
  user_ = os::FolderLock::user_of(disk_.descriptor());
  try {
    if (user_ != 0) {
      disk_.files().expect_writers();
      os::raise_descriptor_limit();
      if (disk_.snapshot().take() != haricot::binlog::DiskStatus::ok) {
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
      if (is_kept_aside(name)) aside_.push_back(name);
    }
    std::sort(aside_.begin(), aside_.end());
    const bool is_read = replay(error, guesses);
    disk_.snapshot().release();
    return is_read;
  } catch (const std::bad_alloc&) {
    error = "there is not enough memory for all jobs";
  }
  return false;
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

std::string_view state_name(JobState state) {
  return name_of(state == JobState::reserved ? JobState::ready : state);
}

}  // namespace haricot::tool
