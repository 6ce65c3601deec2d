// Groups, and jobs that are held until a group has no jobs.

#include <algorithm>

#include "expectation.hpp"
#include "haricot/base/job_tags.hpp"

namespace haricot::faults {

bool Expectation::has_group(std::string_view name) const {
  return !name.empty() && std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    return tags_in(entry.second.tags).group == name;
  });
}

// Returns true if a job that is put now is held.
bool Expectation::is_to_be_held(const JobFacts& job) const {
  return has_group(tags_in(job.tags).after);
}

// Any move of a job ends its hold, and so does the end of the group. If the journal has refused the
// record of that, or memory is short, it may come later.
void Expectation::apply_groups(bool had_trouble) {
  has_had_trouble_ = has_had_trouble_ || had_trouble;
  for (auto& [id, job] : jobs_) {
    if (job.state != JobState::delayed) job.is_held = false;
    const auto now = found_.find(id);
    if (!job.is_held || now == found_.end() || has_group(tags_in(job.tags).after)) continue;
    if (now->second.is_held && has_had_trouble_) continue;
    ++holds_ended_;
    job.is_held = false;
    if (job.delay_s > 0) continue;
    job.state = JobState::ready;
  }
}

}  // namespace haricot::faults
