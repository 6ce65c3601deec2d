#include "expectation.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>
#include <vector>

#include "haricot/base/job_tags.hpp"

namespace haricot::faults {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::uint32_t number(const std::string& word) {
  return static_cast<std::uint32_t>(std::stoul(word));
}

bool is_refusal(const std::string& word) {
  static const std::set<std::string> kRefusals = {
      "OUT_OF_MEMORY", "NOT_FOUND",   "NOT_IGNORED", "BAD_FORMAT",    "UNKNOWN_COMMAND",
      "TIMED_OUT",     "JOB_TOO_BIG", "DRAINING",    "EXPECTED_CRLF", "DEADLINE_SOON"};
  return kRefusals.contains(word);
}

// Compares the fields of a job that never change.
bool is_same_job(const JobFacts& one, const JobFacts& other) {
  return one.tube == other.tube && one.body_sum == other.body_sum && one.ttr_s == other.ttr_s;
}

// Returns the key of a put; empty: none.
std::string key_of(const Step& step) {
  const std::size_t tag = step.line.find(" idp:");
  return tag == std::string::npos ? "" : std::string(tags_in(step.line.substr(tag + 1)).unique_key);
}

}  // namespace

std::uint64_t Answer::number() const {
  const std::size_t blank = line.find(' ');
  return blank == std::string::npos ? 0 : std::stoull(line.substr(blank + 1));
}

std::uint64_t Answer::last_number() const {
  const std::size_t blank = line.rfind(' ');
  return blank == std::string::npos ? 0 : std::stoull(line.substr(blank + 1));
}

std::string Expectation::check(const Step& step, const Happened& happened, const Engine& engine) {
  complaints_.clear();
  found_ = jobs_of(engine);
  const Keys may_stay = keys_that_may_stay();
  pause_is_unknown_ = false;
  reserves_are_unknown_ = happened.had_trouble && !happened.closed.empty();
  if (step.kind == Step::Kind::command) apply_command(step, happened);
  apply_ends(step, happened);
  if (step.kind == Step::Kind::pass) apply_time(happened.had_trouble);
  apply_groups(happened.had_trouble);
  apply_deliveries(step, happened);
  settle_holders(step);
  apply_keys(step, may_stay, happened, engine);

  if (reserves_are_unknown_) {
    for (auto& [id, job] : jobs_) {
      const auto found = found_.find(id);
      if (found != found_.end())
        job.count(JobEvent::reserve) = found->second.count(JobEvent::reserve);
    }
  }
  if (const std::string wrong = difference(jobs_, found_); !wrong.empty()) complain(wrong);
  const Tubes tubes = tubes_of(engine);
  if (pause_is_unknown_) {
    for (const auto& [name, tube] : tubes) {
      if (tube.is_paused) paused_.insert(name);
    }
  }
  if (step.kind == Step::Kind::pass || pause_is_unknown_) {
    std::erase_if(paused_, [&](const std::string& name) {
      const auto tube = tubes.find(name);
      return tube == tubes.end() || !tube->second.is_paused;
    });
  }
  if (const std::string wrong = difference(expected_tubes(), tubes); !wrong.empty()) {
    complain(wrong);
  }
  std::erase_if(paused_, [&](const std::string& name) { return !tubes.contains(name); });
  std::swap(jobs_, found_);
  return complaints_;
}

// The client of the step --------------------------------------------------------------------------

void Expectation::apply_command(const Step& step, const Happened& happened) {
  const auto answers = happened.answers.find(step.client);
  const std::string verb = words_of(step.line).empty() ? "" : words_of(step.line)[0];
  if (answers != happened.answers.end()) {
    if (answers->second.size() != 1) complain("more than one answer");
    apply_answer(step, answers->second.front(), happened);
  } else if (happened.closed.contains(step.client)) {
    if (verb == "quit") return;
    if (!happened.had_trouble) complain("the connection was closed for no reason");
    apply_maybe(step);
  } else if (verb.starts_with("reserve")) {
    clients_[step.client].is_waiting = true;
  } else if (verb == "wait-job") {
    clients_[step.client].waits_for_end = true;
  } else {
    complain("no answer");
  }
}

void Expectation::apply_answer(const Step& step, const Answer& answer, const Happened& happened) {
  const std::string word = answer.word();
  if (word == "OUT_OF_MEMORY" || word == "INTERNAL_ERROR") {
    if (!happened.had_trouble) complain(word + " for no reason");
    // The outcome is unknown then.
    if (word == "INTERNAL_ERROR") apply_maybe(step);
    return;
  }
  if (!is_refusal(word)) apply_done(step, answer);
}

void Expectation::apply_done(const Step& step, const Answer& answer) {
  const std::vector<std::string> words = words_of(step.line);
  const std::string& verb = words[0];
  ClientFacts& client = clients_[step.client];
  if (verb == "put") return apply_put(step, answer);
  if (verb == "use") client.used = words[1];
  if (verb == "watch") client.watched.insert(words[1]);
  if (verb == "ignore") client.watched.erase(words[1]);
  if (verb == "watch" || verb == "ignore") {
    if (answer.number() != client.watched.size()) complain("watches another number of tubes");
  }
  if (verb == "reserve-mode") {
    if (answer.line != "USING " + words[1]) complain("uses another mode");
    return;
  }
  if (verb == "reserve-batch") return apply_batch(step.client, answer);
  if (verb.starts_with("flush-")) return apply_deletes(named_by_flush(step), answer.number());
  if (verb == "touch-all") {
    if (answer.number() != client.held.size()) complain("touches another number of jobs");
    return;
  }
  if (verb == "delete-batch") {
    const std::set<JobId> named = named_by_batch(step);
    if (answer.last_number() != words.size() - 1 - named.size()) complain("another number of ids");
    return apply_deletes(named, answer.number());
  }
  if (verb == "scan-jobs" || verb == "list-jobs") return check_list(step, answer);
  if (verb == "stats-tube-detail") return check_detail(words[1], answer);
  if (verb.starts_with("reserve")) apply_reserved(step.client, answer);
  if (verb == "kick") apply_kick(client.used, answer);
  if (verb == "pause-tube") {
    if (words[2] == "0") paused_.erase(words[1]);
    if (words[2] != "0") paused_.insert(words[1]);
  }
  if (verb == "note") {
    jobs_[std::stoull(words[1])].note = step.body;
    return;
  }
  if (verb == "peek-note") {
    const auto job = jobs_.find(answer.number());
    if (job == jobs_.end() || job->second.note != answer.body) complain("another note");
    return;
  }
  if (verb.starts_with("peek")) {
    const auto job = jobs_.find(answer.number());
    if (job == jobs_.end() || !job->second.has_body(answer.body)) complain("another body");
  }
  const bool is_of_a_job = verb == "delete" || verb == "release" || verb == "bury" ||
                           verb == "kick-job" || verb == "touch";
  if (is_of_a_job) apply_to_job(words, answer);
}

void Expectation::apply_to_job(const std::vector<std::string>& words, const Answer& answer) {
  const std::string& verb = words[0];
  const JobId id = std::stoull(words[1]);
  if (!jobs_.contains(id)) return complain("done to a job that is not there");
  JobFacts& job = jobs_[id];
  if (verb == "delete") jobs_.erase(id);
  if (verb == "release") {
    job.priority = number(words[2]);
    job.delay_s = number(words[3]);
    ++job.count(JobEvent::release);
    const bool is_spent = job.is_spent();
    const std::uint32_t delay_s = job.delay_s;
    job.end_try(false);
    if (!is_spent && delay_s > 0) job.state = JobState::delayed;
    if (delay_s > 0) job.delay_s = delay_s;
    const bool is_reported = is_spent && !tags_in(job.tags).tries_are_quiet;
    if (is_reported != (answer.word() == "BURIED")) complain("another end of its tries");
    if (is_spent) job.state = JobState::buried;
  }
  if (verb == "bury") {
    job.priority = number(words[2]);
    ++job.count(JobEvent::bury);
    job.state = JobState::buried;
  }
  if (verb == "kick-job") {
    job.count_kick();
    job.state = JobState::ready;
  }
}

void Expectation::apply_put(const Step& step, const Answer& answer) {
  const std::vector<std::string> words = words_of(step.line);
  if (const JobId holder = owner_of_key(step); holder != 0) {
    return apply_duplicate(holder, number(words[1]), answer);
  }
  if (const JobId id = tombstone_for(step); id != 0) {
    const std::string expected = "INSERTED " + std::to_string(id) + " DELETED";
    if (answer.line != expected) complain("not " + expected);
    return;
  }
  JobFacts job{.tube = clients_[step.client].used,
               .priority = number(words[1]),
               .delay_s = number(words[2]),
               .ttr_s = std::max(1U, number(words[3]))};
  job.set_body(step.body);
  for (std::size_t i = 5; i < words.size(); ++i) job.tags += (i > 5 ? " " : "") + words[i];
  job.is_held = is_to_be_held(job);
  if (job.delay_s > 0 || job.is_held) job.state = JobState::delayed;
  if (answer.number() != next_id_ || jobs_.contains(next_id_)) complain("another id");
  jobs_[answer.number()] = std::move(job);
}

void Expectation::apply_reserved(int client, const Answer& answer) {
  const JobId id = answer.number();
  if (answer.word() != "RESERVED" || !jobs_.contains(id)) return complain("no such job");
  JobFacts& job = jobs_[id];
  if (!job.has_body(answer.body)) complain("another body");
  if (job.state == JobState::reserved) complain("reserved twice");
  job.state = JobState::reserved;
  ++job.count(JobEvent::reserve);
  clients_[client].held.insert(id);
}

void Expectation::apply_batch(int client, const Answer& answer) {
  // If an answer is cut off, its connection has ended, and the jobs have returned.
  const bool is_cut_off = answer.jobs.size() < answer.number() && reserves_are_unknown_;
  if (answer.jobs.size() != answer.number() && !is_cut_off) complain("another number of jobs");
  for (const Answer& job : answer.jobs) apply_reserved(client, job);
}

// Returns the jobs that a flush deletes.
std::set<JobId> Expectation::named_by_flush(const Step& step) const {
  const std::vector<std::string> words = words_of(step.line);
  std::set<JobId> named;
  for (const auto& [id, job] : jobs_) {
    const bool is_in_state = words[0] == "flush-buried" ? job.state == JobState::buried
                             : words.size() < 3         ? true
                                                        : name_of(job.state) == words[2];
    const bool is_named = job.tube == words[1] && job.state != JobState::reserved && is_in_state;
    if (is_named) named.insert(id);
  }
  return named;
}

// Returns the jobs that a batch deletes.
std::set<JobId> Expectation::named_by_batch(const Step& step) const {
  const std::vector<std::string> words = words_of(step.line);
  std::set<JobId> named;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto job = jobs_.find(std::stoull(words[i]));
    if (job == jobs_.end()) continue;
    const bool is_held = clients_.at(step.client).held.contains(job->first);
    if (job->second.state != JobState::reserved || is_held) named.insert(job->first);
  }
  return named;
}

void Expectation::apply_deletes(const std::set<JobId>& named, std::uint64_t deleted) {
  if (named.size() != deleted) complain("another number of jobs was deleted");
  for (const JobId id : named) jobs_.erase(id);
}

// Deleted jobs stay deleted, and the others are unchanged.
void Expectation::apply_failed_flush(const Step& step) {
  for (const JobId id : named_by_flush(step)) {
    if (!found_.contains(id)) jobs_.erase(id);
  }
}

// The list has all existing jobs, up to the requested number.
void Expectation::check_list(const Step& step, const Answer& answer) {
  const std::vector<std::string> words = words_of(step.line);
  const bool is_scan = words[0] == "scan-jobs";
  const JobId from = is_scan ? std::stoull(words[1]) : 0;
  const std::string tube = is_scan ? (words.size() > 3 ? words[3] : "") : words[1];
  const std::string state = is_scan ? (words.size() > 4 ? words[4] : "") : words[2];
  const std::size_t bound = std::stoull(is_scan ? words[2] : words[3]);
  std::size_t fitting = 0;
  for (const auto& [id, job] : jobs_) {
    const bool fits = id >= from && (tube.empty() || job.tube == tube) &&
                      (state.empty() || name_of(job.state) == state);
    if (fits) ++fitting;
  }
  std::size_t shown = 0;
  constexpr std::string_view kItem = "\n- id: ";
  for (std::size_t at = answer.body.find(kItem); at != std::string::npos;
       at = answer.body.find(kItem, at + 1)) {
    const JobId id = std::stoull(answer.body.substr(at + kItem.size()));
    if (!jobs_.contains(id)) complain("shows a job that is not there");
    ++shown;
  }
  if (shown != std::min(fitting, bound)) complain("shows another number of jobs");
}

// No time exceeds the scenario, and an age is 0 without a job.
void Expectation::check_detail(const std::string& tube, const Answer& answer) {
  const auto value_of = [&](const std::string& key) -> std::uint64_t {
    const std::size_t at = answer.body.find("\n" + key + ": ");
    if (at != std::string::npos) return std::stoull(answer.body.substr(at + key.size() + 3));
    complain("does not tell " + key);
    return 0;
  };
  const auto has = [&](JobState state) {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
      return entry.second.tube == tube && entry.second.state == state;
    });
  };
  if (!has(JobState::ready) && value_of("age-oldest-ready") > 0) complain("a ready job?");
  if (!has(JobState::buried) && value_of("age-oldest-buried") > 0) complain("a buried job?");
  for (const std::string kind : {"queue-time", "work-time"}) {
    const std::uint64_t p50 = value_of(kind + "-p50");
    const std::uint64_t p99 = value_of(kind + "-p99");
    if (p50 > p99 || p99 > value_of(kind + "-max")) complain("times in another order");
  }
}

// The answer does not name the kicked jobs.
void Expectation::apply_kick(const std::string& tube, const Answer& answer) {
  std::uint64_t kicked = 0;
  for (auto& [id, job] : jobs_) {
    const auto now = found_.find(id);
    if (job.tube != tube || now == found_.end()) continue;
    if (now->second.count(JobEvent::kick) == job.count(JobEvent::kick)) continue;
    if (job.state != JobState::buried && job.state != JobState::delayed) complain("kicked?");
    job.count_kick();
    job.state = JobState::ready;
    ++kicked;
  }
  if (kicked != answer.number()) complain("another number of jobs was kicked");
}

// The command was done or was not.
void Expectation::apply_maybe(const Step& step) {
  const std::vector<std::string> words = words_of(step.line);
  if (words.empty()) return;
  const std::string& verb = words[0];
  if (verb == "put") {
    const JobId holder = owner_of_key(step);
    if (holder != 0) return apply_maybe_duplicate(holder, number(words[1]));
    const auto made = found_.find(next_id_);
    if (made == found_.end()) return;
    apply_put(step, {"INSERTED " + std::to_string(next_id_), ""});
    // A waiting worker may have got it, which is handled further down.
    const bool is_taken = made->second.state == JobState::reserved;
    jobs_[next_id_].state = is_taken ? JobState::ready : made->second.state;
    return;
  }
  if (verb == "kick") {
    const std::string tube = clients_[step.client].used;
    std::uint64_t kicked = 0;
    for (const auto& [id, job] : found_) {
      const auto before = jobs_.find(id);
      if (before == jobs_.end() || before->second.tube != tube) continue;
      if (job.count(JobEvent::kick) > before->second.count(JobEvent::kick)) ++kicked;
    }
    return apply_kick(tube, {"KICKED " + std::to_string(kicked), ""});
  }
  if (verb.starts_with("flush-")) return apply_failed_flush(step);
  if (verb == "delete-batch") {
    // All of them or none.
    const std::set<JobId> named = named_by_batch(step);
    const bool is_done = !named.empty() && !found_.contains(*named.begin());
    if (is_done) apply_deletes(named, named.size());
    return;
  }
  if (verb == "reserve" || verb.starts_with("reserve-with-") || verb == "reserve-batch") {
    // If it got a job, that returned with its end.
    for (const auto& [id, job] : jobs_) {
      const auto now = found_.find(id);
      if (now == found_.end() || job.state == JobState::reserved) continue;
      if (now->second.state == JobState::reserved) complain("reserved by nobody");
    }
    return;
  }
  pause_is_unknown_ = verb == "pause-tube";
  if (verb == "pause-tube" || words.size() < 2 || verb == "use" || verb == "watch" ||
      verb == "reserve-mode" || verb == "ignore" || verb == "scan-jobs" || verb == "list-jobs" ||
      verb.starts_with("stats") || verb.starts_with("peek")) {
    return;
  }
  const JobId id = std::stoull(words[1]);
  const auto before = jobs_.find(id);
  const auto now = found_.find(id);
  if (before == jobs_.end()) return;
  if (now == found_.end()) {
    if (verb == "delete") jobs_.erase(before);
    return;
  }
  const bool may_hold = verb == "reserve-job" && before->second.state != JobState::reserved;
  if (is_same_job(before->second, now->second)) before->second = now->second;
  if (may_hold && now->second.state == JobState::reserved) clients_[step.client].held.insert(id);
}

// All clients -------------------------------------------------------------------------------------

// The jobs of a connection that has ended are ready again.
void Expectation::apply_ends(const Step& step, const Happened& happened) {
  for (const int client : happened.closed) {
    const bool is_asked_for =
        client == step.client && (step.kind == Step::Kind::vanish ||
                                  step.kind == Step::Kind::half_close || step.line == "quit");
    if (!is_asked_for && !happened.had_trouble) complain("a connection was closed for no reason");
    for (const JobId id : clients_[client].held) {
      const auto job = jobs_.find(id);
      if (job == jobs_.end() || job->second.state != JobState::reserved) continue;
      const auto now = found_.find(id);
      job->second.end_try(happened.had_trouble && now != found_.end() &&
                          now->second.state == JobState::buried);
    }
    clients_.erase(client);
  }
  if (!happened.had_trouble || happened.closed.empty()) return;
  // A job given to a client whose answer could not be made has returned, too.
  for (auto& [id, job] : jobs_) {
    const auto now = found_.find(id);
    if (now == found_.end() || job.state != JobState::ready || job.tags.empty()) continue;
    if (now->second.state == JobState::delayed) {
      job.count(JobEvent::reserve) = now->second.count(JobEvent::reserve);
      job.end_try(false);
    }
    if (now->second.state != JobState::buried) continue;
    job.state = JobState::buried;  // That was its last try.
    job.count(JobEvent::bury) = now->second.count(JobEvent::bury);
  }
}

// Ends TTRs and delays. Without memory for the heap of ready jobs, a job stays delayed.
void Expectation::apply_time(bool had_trouble) {
  for (auto& [id, job] : jobs_) {
    const auto found = found_.find(id);
    if (found == found_.end() || job.is_held) continue;
    const JobFacts& now = found->second;
    const bool has_timed_out = job.state == JobState::reserved &&
                               now.count(JobEvent::timeout) == job.count(JobEvent::timeout) + 1;
    const bool was_delayed = job.state == JobState::delayed && now.state != JobState::delayed;
    if (!has_timed_out && !was_delayed) continue;
    job.state = JobState::ready;
    if (has_timed_out) {
      ++job.count(JobEvent::timeout);
      job.end_try(had_trouble && now.state == JobState::buried);
      // Its delay may have ended in the same step.
      if (job.state == JobState::delayed && now.state == JobState::ready) job.state = now.state;
    }
  }
}

// Deliveries to clients that waited.
void Expectation::apply_deliveries(const Step& step, const Happened& happened) {
  for (const auto& [client, answers] : happened.answers) {
    if (client == step.client && step.kind == Step::Kind::command) continue;
    if (happened.closed.contains(client)) {
      // Its last answers; its job returned with its end.
      continue;
    }
    const bool waits = clients_[client].is_waiting || clients_[client].waits_for_end;
    if (answers.size() != 1 || !waits) complain("an answer to nothing");
    clients_[client].is_waiting = false;
    clients_[client].waits_for_end = false;
    if (answers.front().word() == "RESERVED") apply_reserved(client, answers.front());
    if (answers.front().word() == "RESERVED_BATCH") apply_batch(client, answers.front());
  }
}

void Expectation::settle_holders(const Step& step) {
  std::size_t held = 0;
  for (auto& [number, client] : clients_) {
    std::erase_if(client.held, [&](JobId id) {
      const auto job = found_.find(id);
      return job == found_.end() || job->second.state != JobState::reserved;
    });
    held += client.held.size();
  }
  const auto reserved = std::count_if(found_.begin(), found_.end(), [](const auto& job) {
    return job.second.state == JobState::reserved;
  });
  if (held != static_cast<std::size_t>(reserved)) complain("a job is held by nobody: " + step.line);
}

Tubes Expectation::expected_tubes() const {
  Tubes tubes;
  tubes["default"] = {};
  for (const auto& [id, job] : jobs_) tubes[job.tube];
  for (const auto& [number, client] : clients_) {
    ++tubes[client.used].users;
    for (const std::string& name : client.watched) {
      ++tubes[name].watchers;
      if (client.is_waiting) ++tubes[name].waiting;
    }
  }
  for (auto& [name, tube] : tubes) tube.is_paused = paused_.contains(name);
  return tubes;
}

// Keys --------------------------------------------------------------------------------------------

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

// Groups ------------------------------------------------------------------------------------------

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
