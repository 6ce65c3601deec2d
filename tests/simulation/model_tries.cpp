#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "mismatch.hpp"
#include "model.hpp"

// Tags, limits of tries, backoffs, and the records at the end of a try.

namespace haricot::simulation {

std::string value_of_key(const ModelJob& job) {
  return job.key + (job.tombstone_s == 0 ? "" : ":" + std::to_string(job.tombstone_s));
}

std::string value_of_after(const ModelJob& job) {
  return job.after + (job.is_after_any ? ":any" : "");
}

std::string value_of_tries(const ModelJob& job) {
  return std::to_string(job.tries) + (job.is_quiet ? ":quiet" : "");
}

std::string value_of_backoff(const ModelJob& job) {
  const std::string bound =
      job.backoff_max_s == 3600 ? "" : ":" + std::to_string(job.backoff_max_s);
  return std::to_string(job.backoff_s) + bound;
}

std::string tags_of(const ModelJob& job) {
  std::string text;
  const auto add = [&text](const std::string& tag) { text += (text.empty() ? "" : " ") + tag; };
  const std::string limit = job.lane_limit == 1 ? "" : ":" + std::to_string(job.lane_limit);
  if (job.tries > 0) add("try:" + value_of_tries(job));
  if (!job.lane.empty()) add("con:" + job.lane + limit);
  if (!job.key.empty()) add("idp:" + value_of_key(job));
  if (!job.group.empty()) add("grp:" + job.group);
  if (!job.after.empty()) add("aft:" + value_of_after(job));
  if (job.backoff_s > 0) add("back:" + value_of_backoff(job));
  return text;
}

void set_tags(ModelJob& job, const std::string& text) {
  const JobTags tags = tags_in(text);
  job.tries = tags.tries;
  job.is_quiet = tags.tries_are_quiet;
  job.lane = tags.lane;
  job.lane_limit = tags.lane_limit;
  std::tie(job.key, job.tombstone_s) = key_in(text);
  job.group = tags.group;
  job.after = tags.after;
  job.is_after_any = tags.is_after_any;
  job.backoff_s = tags.backoff_s;
  if (tags.backoff_s > 0) job.backoff_max_s = tags.backoff_max_s;
}

namespace {

// Returns true if the pattern matches the whole name.
bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    return matches(pattern.substr(1), name) || (!name.empty() && matches(pattern, name.substr(1)));
  }
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         matches(pattern.substr(1), name.substr(1));
}

// Gives a new job the tags of the rules that its put lacks. Returns their number.
std::uint64_t add_missing_tags(const std::vector<Rule>& rules, ModelJob& job) {
  std::uint64_t added = 0;
  for (const Rule& rule : rules) {
    if (!matches(rule.pattern, job.tube)) continue;
    const JobTags tags = tags_in(rule.tags);
    if (job.tries == 0 && tags.tries > 0) {
      job.tries = tags.tries;
      job.is_quiet = true;
      ++added;
    }
    if (job.lane.empty() && !tags.lane.empty()) {
      job.lane = tags.lane;
      job.lane_limit = tags.lane_limit;
      ++added;
    }
    if (job.backoff_s == 0 && tags.backoff_s > 0) {
      job.backoff_s = tags.backoff_s;
      job.backoff_max_s = tags.backoff_max_s;
      ++added;
    }
  }
  return added;
}

}  // namespace

void Model::apply_rules(ModelJob& job) {
  tags_from_rules_ += add_missing_tags(rules_, job);
}

// Returns the tags as stats-tube-detail shows them.
std::string Model::rule_of(const std::string& tube) const {
  ModelJob job{.tube = tube, .body = {}, .created = {}, .deadline = {}, .since = {}};
  add_missing_tags(rules_, job);
  job.is_quiet = false;
  return tags_of(job);
}

bool Model::is_spent(const ModelJob& job) const {
  return job.tries > 0 && job.counts[static_cast<std::size_t>(JobEvent::reserve)] >=
                              job.tries + job.counts[static_cast<std::size_t>(JobEvent::kick)];
}

bool Model::counts_tries(const ModelJob& job) {
  return job.tries > 0 || job.backoff_s > 0;
}

std::uint32_t Model::backoff_after_try(const ModelJob& job) {
  const std::uint64_t bound = std::max(job.backoff_s, job.backoff_max_s);
  std::uint64_t seconds = job.backoff_s;
  const std::uint64_t tries =
      job.counts[static_cast<std::size_t>(JobEvent::reserve)] - job.tries_before;
  for (std::uint64_t i = 1; i < tries && seconds < bound; ++i) seconds *= 2;
  return static_cast<std::uint32_t>(std::min(seconds, bound));
}

void Model::count_kick(ModelJob& job) {
  ++count_of(job, JobEvent::kick);
  if (job.backoff_s > 0) job.tries_before = count_of(job, JobEvent::reserve);
}

void Model::end_try(ModelJob& job, BurialCause how, Instant now) {
  if (how == BurialCause::timed_out) ++count_of(job, JobEvent::timeout);
  if (!is_spent(job)) {
    begin_ready(job, now);
    if (job.backoff_s == 0) return;
    job.delay_s = backoff_after_try(job);
    make_delayed(job, now);
    ++backoffs_;
    return;
  }
  ++count_of(job, JobEvent::bury);
  begin_buried(job, how, now);
  ++find_tube(job.tube)->buried_by_tries;
}

// Ends the tries of jobs whose tries count, in the order of the tape. A burial always identifies
// its job. The others are identified only by the record; if the disk has refused some of them,
// their order is invisible.
void Model::end_tries(std::set<JobId> ids, BurialCause how, Tape& tape, Instant now) {
  std::size_t refused = 0;
  while (ids.size() > refused) {
    require(!tape.empty(), "the ends of tries are not on the tape");
    const bool is_burial = tape.front().kind == Event::Kind::take_room_for_burial;
    const Event room = tape.take(is_burial ? Event::Kind::take_room_for_burial
                                           : Event::Kind::take_room_for_update);
    const bool is_recorded = room.status == JournalStatus::ok;
    if (!is_burial && !is_recorded) {
      ++refused;
      continue;
    }
    const JobId id = is_burial || tape.empty() ? room.id : tape.front().id;
    require(ids.erase(id) == 1, "no try of job " + std::to_string(id) + " ends now");
    ModelJob& job = jobs_.at(id);
    require(is_spent(job) == is_burial, "the tries of job " + std::to_string(id) +
                                            (is_burial ? " are not" : " are") + " used up");
    end_try(job, how, now);
    if (is_recorded) {
      check_record(tape, Event::Kind::record_update, id);
    } else {
      late_burials_.insert(id);
      try_refused_again(now);
    }
  }
  for (const JobId id : ids) {
    require(!is_spent(jobs_.at(id)), "the tries of job " + std::to_string(id) + " are used up");
    end_try(jobs_.at(id), how, now);
  }
}

// Burials that could not be recorded when they happened.
void Model::record_late_burials(Tape& tape, Instant now) {
  while (!tape.empty() && tape.front().kind == Event::Kind::take_room_for_burial) {
    const Event room = tape.take(Event::Kind::take_room_for_burial);
    steps_ += QueueState::kStepsPerJob;
    const auto late = late_burials_.find(room.id);
    require(late != late_burials_.end(), "the burial of a job is recorded twice");
    if (room.status != JournalStatus::ok) {
      try_refused_again(now);
      return;
    }
    check_record(tape, Event::Kind::record_update, room.id);
    late_burials_.erase(late);
  }
}

// Learns the order of jobs that were delayed at once, if the tape does not show it.
void Model::learn_order(const std::set<JobId>& ids, const Engine& engine) {
  std::map<std::uint64_t, ModelJob*> in_order;
  std::set<std::uint64_t> arrivals;
  for (const JobId id : ids) {
    const JobRef ref = engine.peek(id);
    ModelJob& job = jobs_.at(id);
    const bool is_delayed = ref != JobRef::none && engine.jobs()[ref].state() == JobState::delayed;
    if (!is_delayed || job.state != JobState::delayed) continue;
    const Tube& tube = *engine.find_tube(job.tube);
    in_order[tube.delayed.at(engine.jobs()[ref].heap_index()).arrival] = &job;
    arrivals.insert(job.arrival);
  }
  for (const auto& [arrival, job] : in_order) {
    job->arrival = *arrivals.begin();
    arrivals.erase(arrivals.begin());
  }
}

// A burial is promised exactly as long as one may come, or has to be recorded.
void Model::compare_promises(Engine& engine) const {
  for (const auto& [id, job] : jobs_) {
    const JobRef ref = engine.peek(id);
    if (ref == JobRef::none) continue;
    const bool is_promised = engine.jobs().journal_fields(ref).has_burial_promised != 0;
    const bool is_buried = job.state == JobState::buried;
    const std::string what = "job " + std::to_string(id);
    require(is_promised || !counts_tries(job) || is_buried, what + " is promised no burial");
    require(!is_promised || counts_tries(job), what + " without a limit is promised a burial");
    require(!is_promised || !is_buried || late_burials_.contains(id),
            what + " is buried, and is promised another burial");
  }
}

// Returns the jobs of a closed client, in the order in which their TTRs would have ended.
void Model::give_back(int number, Tape& tape, Instant now) {
  for (JobId id = first_ending(number); id != 0; id = first_ending(number)) {
    ModelJob& job = jobs_.at(id);
    steps_ += QueueState::kStepsPerJob;
    if (!counts_tries(job)) {
      begin_ready(job, now);
    } else {
      end_tries({id}, BurialCause::closed, tape, now);
    }
    offer(job.tube, now);
  }
}

}  // namespace haricot::simulation
