// haricot binlog dump

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tool/binlog/binlog_commands.hpp"
#include "tool/binlog/folder_jobs.hpp"
#include "tool/binlog/job_line.hpp"
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
  if (job.state() == JobState::delayed) {
    line.left_s = (journaled.deadline - folder_jobs.now()).whole_seconds();
  }
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    line.counters[i] = engine.jobs().counted(ref, static_cast<JobEvent>(i));
  }
  line.tags = engine.jobs().tags(ref);
  line.body = engine.jobs().body(ref);
  return line;
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
  for (const JobRef ref : folder_jobs.by_id()) {
    const JobLine line = line_of(folder_jobs, ref);
    const std::string text = json ? to_json(line) : to_text(line);
    print(text);
  }
  for (const JobRef tombstone_ref : folder_jobs.engine().jobs().tombstones_by_id()) {
    const TombstoneLine line = tombstone_line_of(folder_jobs, tombstone_ref);
    const std::string text = json ? to_json(line) : to_text(line);
    print(text);
  }
  flush();  // So that the warnings come after the jobs.
  for (const std::string& warning : folder_jobs.report().warnings()) {
    complain("DAMAGE: " + warning);
  }
  return folder_jobs.report().is_sound() ? kExitDone : kExitFailure;
}

}  // namespace haricot::tool
