// haricot binlog dump: prints the jobs of a folder.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "tool/binlog/binlog_commands.hpp"
#include "tool/binlog/folder_jobs.hpp"
#include "tool/cli/job_line.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

JobLine line_of(const FolderJobs& folder_jobs, JobRef ref) {
  const Engine& engine = folder_jobs.engine();
  const Job& job = engine.jobs()[ref];
  const JournaledJob journaled = engine.journaled(ref);
  JobLine line;
  line.id = job.id;
  line.tube = journaled.tube_name;
  line.state = state_name(job.state());
  line.priority = job.priority;
  line.delay_s = job.delay_s;
  line.ttr_s = job.ttr_s;
  line.age_s = (folder_jobs.now() - job.created).whole_seconds();
  line.is_held = engine.jobs().is_held(ref);
  if (job.state() == JobState::delayed && !line.is_held) {
    line.left_s = (journaled.deadline - folder_jobs.now()).whole_seconds();
  }
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    line.counters[i] = engine.jobs().counted(ref, static_cast<JobEvent>(i));
  }
  line.tags = engine.jobs().tags(ref);
  line.body = engine.jobs().body(ref);
  return line;
}

// Returns the jobs by id, except that held jobs come last, after the jobs that they wait for, so
// that an import holds them again.
std::vector<JobRef> in_order(const FolderJobs& folder_jobs) {
  const JobStore& jobs = folder_jobs.engine().jobs();
  std::vector<JobRef> refs = folder_jobs.by_id();
  const auto held = std::stable_partition(refs.begin(), refs.end(),
                                          [&jobs](JobRef ref) { return !jobs.is_held(ref); });
  std::vector<HeldJob> ties;
  for (auto ref = held; ref != refs.end(); ++ref) {
    const JobTags tags = tags_in(jobs.tags(*ref));
    ties.push_back({std::string(tags.group), std::string(tags.after)});
  }
  std::vector<JobRef> order(refs.begin(), held);
  for (const std::size_t index : held_order(ties)) {
    order.push_back(held[static_cast<std::ptrdiff_t>(index)]);
  }
  return order;
}

TombstoneLine tombstone_line_of(const FolderJobs& jobs, JobRef tombstone_ref) {
  const Tombstone tombstone = jobs.engine().tombstone(tombstone_ref);
  return {.id = tombstone.id,
          .tube = tombstone.tube_name,
          .key = tombstone.key,
          .seconds = tombstone.seconds,
          .left_s = (tombstone.end - jobs.now()).whole_seconds()};
}

}  // namespace

int dump_binlog(const std::string& folder, bool json) {
  FolderJobs folder_jobs;
  std::string error;
  if (!folder_jobs.read(folder, error)) {
    complain(error);
    return kExitLocal;
  }
  for (const JobRef ref : in_order(folder_jobs)) {
    const JobLine line = line_of(folder_jobs, ref);
    const std::string text = json ? to_json(line) : to_text(line);
    print(text);
  }
  for (const JobRef tombstone_ref : folder_jobs.engine().jobs().tombstones_by_id()) {
    const TombstoneLine line = tombstone_line_of(folder_jobs, tombstone_ref);
    const std::string text = json ? to_json(line) : to_text(line);
    print(text);
  }
  flush();  // Print the warnings after the jobs.
  for (const std::string& warning : folder_jobs.report().warnings()) {
    complain("DAMAGE: " + warning);
  }
  return folder_jobs.report().is_sound() ? kExitDone : kExitFailure;
}

}  // namespace haricot::tool
