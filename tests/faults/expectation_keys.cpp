// Puts of a key that a job has.

#include <cctype>

#include "expectation.hpp"

namespace haricot::faults {

// The job that has the key of a put; 0: there is none, or the put has no key.
JobId Expectation::holder_of_key(const Step& step) const {
  const std::size_t tag = step.line.find(" idp:");
  if (tag == std::string::npos) return 0;
  const std::string key = step.line.substr(tag);
  JobId holder = 0;
  for (const auto& [id, job] : jobs_) {
    const bool has_key = (" " + job.tags).ends_with(key);
    if (has_key && job.tube == clients_.at(step.client).used) holder = id;
  }
  return holder;
}

void Expectation::apply_duplicate(JobId holder, std::uint32_t priority, const Answer& answer) {
  JobFacts& job = jobs_[holder];
  std::string expected = "INSERTED " + std::to_string(holder) + " ";
  for (const char c : name_of(job.state)) {
    expected += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  if (priority < job.priority) {
    expected += " " + std::to_string(priority);
    job.priority = priority;
  }
  if (answer.line != expected) complain("not " + expected);
}

// It has happened or it has not.
void Expectation::apply_maybe_duplicate(JobId holder, std::uint32_t priority) {
  const auto now = found_.find(holder);
  JobFacts& job = jobs_[holder];
  const bool is_raised = now != found_.end() && now->second.priority == priority;
  if (is_raised && priority < job.priority) job.priority = priority;
}

}  // namespace haricot::faults
