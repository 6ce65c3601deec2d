// haricot binlog dump

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tool/binlog/binlog_commands.hpp"
#include "tool/binlog/job_line.hpp"
#include "tool/binlog/kept_jobs.hpp"
#include "tool/cli/output.hpp"
#include "tool/cli/subcommand.hpp"

namespace haricot::tool {
namespace {

JobLine line_of(const KeptJobs& kept, JobRef ref) {
  const Engine& engine = kept.engine();
  const Job& job = engine.jobs()[ref];
  const JournaledJob journaled = engine.journaled(ref);
  JobLine line;
  line.id = job.id;
  line.tube = journaled.tube_name;
  line.state = state_name(job.state());
  line.priority = job.priority;
  line.delay_s = job.delay_s;
  line.ttr_s = job.ttr_s;
  line.age_s = (kept.now() - job.created).whole_seconds();
  if (job.state() == JobState::delayed) {
    line.left_s = (journaled.deadline - kept.now()).whole_seconds();
  }
  for (std::size_t i = 0; i < kJobEvents; ++i) {
    line.counters[i] = engine.jobs().counted(ref, static_cast<JobEvent>(i));
  }
  line.tags = engine.jobs().tags(ref);
  line.body = engine.jobs().body(ref);
  return line;
}

KeptLine kept_line_of(const KeptJobs& jobs, JobRef remains) {
  const KeptKey kept = jobs.engine().kept(remains);
  return {.id = kept.id,
          .tube = kept.tube_name,
          .key = kept.key,
          .seconds = kept.seconds,
          .left_s = (kept.end - jobs.now()).whole_seconds()};
}

}  // namespace

int dump_binlog(const std::string& folder, bool json) {
  KeptJobs kept;
  std::string error;
  if (!kept.read(folder, error)) {
    complain(error);
    return kExitLocal;
  }
  for (const JobRef ref : kept.by_id()) {
    const JobLine line = line_of(kept, ref);
    const std::string text = json ? to_json(line) : to_text(line);
    print(text);
  }
  for (const JobRef remains : kept.engine().jobs().remains_by_id()) {
    const KeptLine line = kept_line_of(kept, remains);
    const std::string text = json ? to_json(line) : to_text(line);
    print(text);
  }
  flush();  // So that the warnings come after the jobs.
  for (const std::string& warning : kept.report().warnings()) {
    complain("DAMAGE: " + warning);
  }
  return kept.report().is_sound() ? kExitDone : kExitFailure;
}

}  // namespace haricot::tool
