// Puts with the key of a job, or with a key that has outlived one.

#include <cctype>

#include "expectation.hpp"
#include "haricot/base/job_tags.hpp"

namespace haricot::faults {
namespace {

// Returns the key of a put; empty: none.
std::string key_of(const Step& step) {
  const std::size_t tag = step.line.find(" idp:");
  return tag == std::string::npos ? "" : std::string(tags_in(step.line.substr(tag + 1)).unique_key);
}

}  // namespace

// Returns the job that has the key of a put; 0: none, or the put has no key.
JobId Expectation::owner_of_key(const Step& step) const {
  const std::string key = key_of(step);
  JobId holder = 0;
  for (const auto& [id, job] : jobs_) {
    const bool has_key = !key.empty() && tags_in(job.tags).unique_key == key;
    if (has_key && job.tube == clients_.at(step.client).used) holder = id;
  }
  return holder;
}

// Returns the deleted job that has left the key; 0: none.
JobId Expectation::tombstone_for(const Step& step) const {
  const std::string key = key_of(step);
  for (const auto& [id, tombstone] : keys_) {
    if (tombstone.key == key && tombstone.tube == clients_.at(step.client).used) return id;
  }
  return 0;
}

// Returns the keys that the jobs would leave if they were deleted now, without the ends of their
// times.
Keys Expectation::keys_that_may_stay() const {
  Keys keys;
  for (const auto& [id, job] : jobs_) {
    if (job.tags.empty()) continue;
    const JobTags tags = tags_in(job.tags);
    if (tags.tombstone_s > 0) keys[id] = {job.tube, std::string(tags.unique_key), tags.tombstone_s};
  }
  return keys;
}

// A deletion leaves a key if it outlives the job; a flush leaves none.
void Expectation::apply_keys(const Step& step, const Keys& may_stay, const Happened& happened,
                             const Engine& engine) {
  std::erase_if(keys_, [&](const auto& tombstone) {
    return Instant::at(tombstone.second.end) <= happened.now;
  });
  for (const auto& [id, key] : may_stay) {
    if (jobs_.contains(id) || !step.line.starts_with("delete")) continue;
    ++keys_left_;
    keys_[id] = key;
    keys_[id].end = (happened.now + Duration::seconds(key.seconds)).count();
  }
  const std::string wrong = difference(keys_, keys_of(engine, happened.now));
  if (!wrong.empty()) complain("of keys: " + wrong);
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

// The put was done or was not.
void Expectation::apply_maybe_duplicate(JobId holder, std::uint32_t priority) {
  const auto now = found_.find(holder);
  JobFacts& job = jobs_[holder];
  const bool is_raised = now != found_.end() && now->second.priority == priority;
  if (is_raised && priority < job.priority) job.priority = priority;
}

}  // namespace haricot::faults
