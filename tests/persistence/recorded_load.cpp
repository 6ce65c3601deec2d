#include "recorded_load.hpp"

#include <algorithm>
#include <utility>

#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

constexpr std::size_t kJobsMax = 150;  // Jobs of a connection. With more, it deletes some.
// Longer than any test, so that no delay and no TTR ends.
constexpr const char* kLongTime = "100000";

bool is_refusal(const std::string& answer) {
  return answer == "OUT_OF_MEMORY\r\n" || answer == "INTERNAL_ERROR\r\n";
}

}  // namespace

RecordedLoad::RecordedLoad(std::uint64_t seed, std::size_t connections)
    : random_(seed), connections_(connections) {}

bool RecordedLoad::connect(const ServerProcess& server) {
  for (Connection& connection : connections_) {
    connection.client = std::make_unique<WireClient>();
    if (!connection.client->connect(server)) return false;
  }
  return true;
}

void RecordedLoad::send(std::size_t commands) {
  for (Connection& connection : connections_) {
    std::string batch;
    for (std::size_t i = 0; i < commands; ++i) batch += choose(connection);
    connection.client->send(batch);
  }
}

std::string RecordedLoad::choose(Connection& of) {
  const bool puts = of.jobs.empty() || (of.jobs.size() < kJobsMax && below(100) < 45);
  if (puts) return put(of);
  const std::size_t at = below(of.jobs.size());
  const std::uint64_t id = of.jobs[at];
  if (of.jobs.size() >= kJobsMax || below(100) < 45) {
    of.jobs.erase(of.jobs.begin() + static_cast<std::ptrdiff_t>(at));
    promises_[id].deletion_was_sent = true;
    ++promises_[id].under_way;
    of.under_way.push_back({Kind::deletion, id, "", "deleted", 0});
    return "delete " + std::to_string(id) + "\r\n";
  }
  return change(of, id);
}

std::string RecordedLoad::put(Connection& of) {
  ++puts_sent_;
  const std::size_t bytes = 12 + below(below(10) == 0 ? 5000 : 300);
  const std::uint64_t priority = below(2000);
  const bool is_delayed = below(5) == 0;
  const std::string body = numbered_body(puts_sent_, bytes);
  of.under_way.push_back({Kind::put, 0, body, is_delayed ? "delayed" : "ready", priority});
  return "put " + std::to_string(priority) + " " + (is_delayed ? kLongTime : "0") + " " +
         kLongTime + " " + std::to_string(bytes) + "\r\n" + body + "\r\n";
}

// One batch reserves the job and changes it, so no other command finds the job reserved.
std::string RecordedLoad::change(Connection& of, std::uint64_t id) {
  const std::string number = std::to_string(id);
  const std::uint64_t priority = below(2000);
  Promise& promise = promises_[id];
  if (below(4) == 0) {
    ++promise.under_way;
    of.under_way.push_back({Kind::kick, id, "", "ready", 0});
    return "kick-job " + number + "\r\n";
  }
  promise.under_way += 2;
  of.under_way.push_back({Kind::take, id, "", "ready", 0});
  const std::string take = "reserve-job " + number + "\r\n";
  if (below(2) == 0) {
    of.under_way.push_back({Kind::bury, id, "", "buried", priority});
    return take + "bury " + number + " " + std::to_string(priority) + "\r\n";
  }
  of.under_way.push_back({Kind::release, id, "", "delayed", priority});
  return take + "release " + number + " " + std::to_string(priority) + " " + kLongTime + "\r\n";
}

bool RecordedLoad::read_all() {
  for (std::size_t number = 0; number < connections_.size(); ++number) {
    while (!connections_[number].under_way.empty()) {
      if (!read_one(connections_[number], number, kAnswerDeadline)) return false;
    }
  }
  return true;
}

void RecordedLoad::read_what_came() {
  constexpr std::chrono::milliseconds kAlreadyThere{100};
  for (std::size_t number = 0; number < connections_.size(); ++number) {
    Connection& from = connections_[number];
    while (!from.under_way.empty() && read_one(from, number, kAlreadyThere)) {
    }
  }
}

bool RecordedLoad::read_one(Connection& from, std::size_t number,
                            std::chrono::milliseconds deadline) {
  const auto answer = from.client->read_answer(deadline);
  if (!answer) return false;
  const Command command = std::move(from.under_way.front());
  from.under_way.pop_front();
  if (is_refusal(*answer)) {
    ++refused_;
  } else {
    ++acknowledged_;
  }
  apply(command, *answer, number);
  return true;
}

void RecordedLoad::apply(const Command& command, const std::string& answer, std::size_t number) {
  if (command.kind != Kind::put) {
    Promise& promise = promises_[command.id];
    --promise.under_way;
    apply_change(promise, command, answer);
    return;
  }
  const std::uint64_t id = inserted_id(answer);
  if (id != 0) {
    if (promises_.contains(id)) nonsense_ += "id " + std::to_string(id) + " was given out twice\n";
    promises_[id] = {.body = command.body, .state = command.state, .priority = command.priority};
    connections_[number].jobs.push_back(id);
    highest_answered_ = std::max(highest_answered_, id);
  } else if (answer == "INTERNAL_ERROR\r\n") {
    doubtful_bodies_.insert(command.body);
  } else if (answer != "OUT_OF_MEMORY\r\n") {
    nonsense_ += "put: " + escaped(answer) + "\n";
  }
}

void RecordedLoad::apply_change(Promise& promise, const Command& command,
                                const std::string& answer) {
  static const std::map<Kind, std::string> kWords = {{Kind::deletion, "DELETED\r\n"},
                                                     {Kind::take, "RESERVED "},
                                                     {Kind::bury, "BURIED\r\n"},
                                                     {Kind::release, "RELEASED\r\n"},
                                                     {Kind::kick, "KICKED\r\n"}};
  if (answer.starts_with(kWords.at(command.kind))) {
    promise.is_deleted = command.kind == Kind::deletion;
    promise.state = command.state;
    // A reserved job is ready after a restart if the binlog has a record of the reserve.
    promise.state_is_known = command.kind != Kind::take;
    if (command.kind == Kind::bury || command.kind == Kind::release) {
      promise.priority = command.priority;
      promise.priority_is_known = true;
    }
    return;
  }
  // After a refusal a job may be in another state, and the next command fails.
  const bool was_ready = command.kind == Kind::kick && promise.state == "ready";
  const bool can_follow = answer == "NOT_FOUND\r\n" && (was_ready || !promise.state_is_known);
  if (is_refusal(answer)) {
    promise.state_is_known = false;
    promise.priority_is_known = false;
  } else if (!can_follow) {
    nonsense_ += "job " + std::to_string(command.id) + ", " + promise.state + ", to be " +
                 command.state + ": " + escaped(answer) + "\n";
  }
}

std::string RecordedLoad::broken_promises(const Jobs& now) {
  std::string broken;
  for (const auto& [id, promise] : promises_) broken += broken_promise(id, promise, now);
  for (Connection& connection : connections_) {
    for (Command& command : connection.under_way) {
      if (command.kind == Kind::put) doubtful_bodies_.insert(std::move(command.body));
    }
  }
  std::set<std::string> bodies;
  for (const auto& [id, facts] : now) {
    const std::string name = "job " + std::to_string(id);
    if (!bodies.insert(facts.body).second) broken += name + " is there twice\n";
    if (promises_.contains(id) || doubtful_bodies_.contains(facts.body)) continue;
    broken += name + " comes from nowhere: " + escaped(facts.body.substr(0, 40)) + "\n";
  }
  begin_anew(now);
  return broken;
}

std::string RecordedLoad::broken_promise(std::uint64_t id, const Promise& promise,
                                         const Jobs& now) const {
  const std::string name = "job " + std::to_string(id) + ", " + promise.state + ": ";
  const auto found = now.find(id);
  if (found == now.end()) {
    return promise.deletion_was_sent ? "" : name + "was acknowledged and is gone\n";
  }
  const JobFacts& facts = found->second;
  if (promise.is_deleted) return name + "was deleted and is back\n";
  if (facts.body != promise.body) return name + "has another body\n";
  if (promise.under_way > 0 || !promise.state_is_known) return "";
  if (facts.state != promise.state) return name + "is now " + facts.state + "\n";
  if (promise.priority_is_known && facts.priority != promise.priority) {
    return name + "has priority " + std::to_string(facts.priority) + " instead of " +
           std::to_string(promise.priority) + "\n";
  }
  return "";
}

void RecordedLoad::begin_anew(const Jobs& now) {
  promises_.clear();
  doubtful_bodies_.clear();
  for (Connection& connection : connections_) {
    connection.under_way.clear();
    connection.jobs.clear();
  }
  for (const auto& [id, facts] : now) {
    const std::size_t owner = id % connections_.size();
    promises_[id] = {.body = facts.body, .state = facts.state, .priority = facts.priority};
    connections_[owner].jobs.push_back(id);
  }
}

}  // namespace haricot::test
