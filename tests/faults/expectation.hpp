// The state of a server as its clients know it from their answers.
//
// Without failures, each step is predicted to the last counter. With one, a refused command has
// changed nothing, a successful one has had its full effect, and a command whose answer is lost is
// one of the two.

#pragma once

#include <map>
#include <set>
#include <string>

#include "facts.hpp"
#include "step.hpp"

namespace haricot::faults {

struct ClientFacts {
  std::string used = "default";
  std::set<std::string> watched = {"default"};
  std::set<JobId> held = {};
  bool is_waiting = false;
  bool waits_for_end = false;  // For the end of a job.
};

class Expectation {
 public:
  Expectation(const Engine& engine, Instant now)
      : jobs_(jobs_of(engine)), keys_(keys_of(engine, now)) {}

  void connected(int client) { clients_[client] = {}; }
  bool knows(int client) const { return clients_.contains(client); }
  bool is_waiting(int client) const {
    return clients_.at(client).is_waiting || clients_.at(client).waits_for_end;
  }
  const std::map<int, ClientFacts>& clients() const { return clients_; }

  // Sets the id of the next put before a step. Called before `check`.
  void look(JobId next_id) { next_id_ = next_id; }
  // Returns the first error after the step; empty: none. The actual state becomes the expected one.
  std::string check(const Step& step, const Happened& happened, const Engine& engine);

  // Number of deletions that have left a key.
  std::uint64_t keys_left() const { return keys_left_; }
  // Number of jobs that were held until a group ended.
  std::uint64_t holds_ended() const { return holds_ended_; }

 private:
  void complain(const std::string& text) { complaints_ += text + "\n"; }
  void apply_command(const Step& step, const Happened& happened);
  void apply_answer(const Step& step, const Answer& answer, const Happened& happened);
  void apply_done(const Step& step, const Answer& answer);
  void apply_to_job(const std::vector<std::string>& words, const Answer& answer);
  void apply_maybe(const Step& step);
  void apply_put(const Step& step, const Answer& answer);
  JobId owner_of_key(const Step& step) const;
  JobId tombstone_for(const Step& step) const;
  Keys keys_that_may_stay() const;
  void apply_keys(const Step& step, const Keys& may_stay, const Happened& happened,
                  const Engine& engine);
  bool has_group(std::string_view name) const;
  bool is_to_be_held(const JobFacts& job) const;
  void apply_groups(bool had_trouble);
  void apply_duplicate(JobId holder, std::uint32_t priority, const Answer& answer);
  void apply_maybe_duplicate(JobId holder, std::uint32_t priority);
  void apply_reserved(int client, const Answer& answer);
  void apply_batch(int client, const Answer& answer);
  std::set<JobId> named_by_flush(const Step& step) const;
  std::set<JobId> named_by_batch(const Step& step) const;
  void apply_deletes(const std::set<JobId>& named, std::uint64_t deleted);
  void apply_failed_flush(const Step& step);
  void check_list(const Step& step, const Answer& answer);
  void check_detail(const std::string& tube, const Answer& answer);
  void apply_kick(const std::string& tube, const Answer& answer);
  void apply_time(bool had_trouble);
  void apply_ends(const Step& step, const Happened& happened);
  void apply_deliveries(const Step& step, const Happened& happened);
  void settle_holders(const Step& step);
  Tubes expected_tubes() const;

  Jobs jobs_;   // Expected.
  Jobs found_;  // Actual.
  Keys keys_;   // Expected.
  std::map<int, ClientFacts> clients_;
  std::set<std::string> paused_;
  JobId next_id_ = 1;
  std::uint64_t keys_left_ = 0;
  std::uint64_t holds_ended_ = 0;
  bool has_had_trouble_ = false;
  bool reserves_are_unknown_ = false;
  bool pause_is_unknown_ = false;
  std::string complaints_;
};

}  // namespace haricot::faults
