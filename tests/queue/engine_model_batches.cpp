// Commands of the model for several jobs.

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "queue/engine_model.hpp"

namespace haricot::test {

std::uint64_t Model::touch_all(int client, Instant now) {
  std::uint64_t touched = 0;
  for (auto& [id, job] : jobs) {
    if (!holds(client, id)) continue;
    job.deadline = now + Duration::seconds(job.ttr_s);
    ++touched;
  }
  return touched;
}

Outcome Model::reserve_batch(int client, std::uint32_t count, Instant wait_end, Instant now,
                             std::vector<JobId>& taken) {
  for (; count > 0; --count) {
    JobId id = 0;
    const Outcome outcome = reserve(client, taken.empty() ? wait_end : now, now, id);
    if (outcome != Outcome::done) {
      if (outcome == Outcome::waiting) clients[client].waits_for_batch = true;
      return taken.empty() ? outcome : Outcome::done;
    }
    taken.push_back(id);
  }
  return Outcome::done;
}

Outcome Model::delete_batch(int client, const std::vector<JobId>& ids, bool refused, Instant now,
                            std::uint32_t& deleted) {
  deleted = 0;
  std::set<JobId> found;
  for (const JobId id : ids) {
    const auto job = jobs.find(id);
    if (job == jobs.end()) continue;
    if (job->second.state != JobState::reserved || holds(client, id)) found.insert(id);
  }
  if (refused && !found.empty()) return Outcome::journal_failed;
  // All are deleted first; then waiting clients get other jobs of their lanes.
  std::vector<std::string> with_lanes;
  for (const JobId id : found) {
    if (!jobs[id].lane.empty()) with_lanes.push_back(jobs[id].tube);
  }
  for (const JobId id : found) {
    const std::string tube = jobs[id].tube;
    jobs.erase(id);
    ++find_tube(tube)->deletes;
    ++deleted;
    if (std::find(with_lanes.begin(), with_lanes.end(), tube) == with_lanes.end())
      drop_if_unreferenced(tube);
  }
  for (const std::string& tube : with_lanes) offer(tube, now);
  for (auto tube = with_lanes.begin(); tube != with_lanes.end(); ++tube) {
    if (std::find(std::next(tube), with_lanes.end(), *tube) == with_lanes.end())
      drop_if_unreferenced(*tube);
  }
  return Outcome::done;
}

}  // namespace haricot::test
