// The server as simply as possible: maps and vectors, searched from end to end. It predicts the
// bytes of every answer. Decisions of the disk (whether a change is refused, the numbers of the
// binlog) are taken from the tape. The order of deadlines that are due at the same moment is not
// promised, so the model does not know it: advance() takes the observed deliveries and checks that
// they are allowed.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/turn_limits.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/queue/engine.hpp"
#include "model_state.hpp"
#include "recorder.hpp"

namespace haricot::simulation {

class Model {
 public:
  explicit Model(std::uint32_t job_bytes_max, std::uint64_t file_bytes)
      : job_bytes_max_(job_bytes_max), file_bytes_(file_bytes) {}

  // Begins again with the jobs that a restart has restored.
  void restart(const Engine& engine, const Ledger& ledger, Instant now);

  // Continues with everything in another server.
  void handed_over(const Engine& engine, Instant now);

  // `ref`: the engine's reference to the client.
  void open(int client, CommandSet commands, ClientRef ref, Instant now);
  // Continues a client's connection in another server, with this reference.
  void know_as(int client, ClientRef ref);
  // Returns true if the engine returns all jobs of the client at once: a turn moves a limited
  // number.
  bool can_close(int client) const;
  void close(int client, Tape& tape, Instant now);
  void half_close(int client);
  // Advances the time to `now`, with the observed deliveries and the tape of the long tasks.
  // The engine is asked for the order of deadlines that the tape does not show.
  void advance(Instant now, const std::vector<Observed>& observed, Tape& tape,
               const Engine& engine);
  // The server has read this many more bytes from that client.
  void read(int client, std::size_t bytes);
  // Runs the events on the tape.
  void run(Tape& tape, Instant now);
  // Handles an answer that nothing on the tape explains: to a line that is too long, or to a put
  // that changes nothing. Returns false if none is due. `text`: the answer, if it is known.
  bool run_silent(int client, std::string_view text = {});
  void drain() { draining_ = true; }
  bool is_draining() const { return draining_; }
  // Returns the number of jobs with a deadline.
  std::size_t deadlines() const { return count(JobState::delayed) + count(JobState::reserved); }
  // Returns true if another client has sent a put with a body of that size and has no answer yet.
  // If both were refused, they could not be distinguished.
  bool has_other_put_of(std::size_t body_bytes, int client) const;
  bool has_tasks() const {
    bool has_some = !ended_groups_.empty() || has_ended_waits_;
    for_each_task([&](const ModelTask& task) { has_some = has_some || !task.is_always_there(); });
    return has_some;
  }
  // Counts how often a long task was left for a later call, was suspended, or returned jobs.
  std::uint64_t task_turns() const { return task_turns_; }
  std::uint64_t refused_flushes() const { return refused_flushes_; }
  // Number of duplicate puts, of those that raised a priority, and of jobs that a restart restored
  // although another job had their key.
  std::uint64_t duplicates() const { return duplicates_; }
  std::uint64_t raises() const { return raises_; }
  std::uint64_t twins() const { return twins_; }
  // Tags that jobs have got from rules, and releases that buried such a job.
  std::uint64_t tags_from_rules() const { return tags_from_rules_; }
  std::uint64_t quiet_burials() const { return quiet_burials_; }
  // Number of puts that found a tombstone, of puts that replaced an expired one, and of tombstones
  // that a restart restored.
  std::uint64_t tombstone_duplicates() const { return tombstone_duplicates_; }
  std::uint64_t tombstone_ends() const { return tombstone_ends_; }
  std::uint64_t tombstones_back() const { return tombstones_back_; }

  // Number of jobs whose hold ended with their group, of jobs that a restart restored as held, and
  // of groups that had lost their last job before it.
  std::uint64_t holds_ended() const { return holds_ended_; }
  std::uint64_t holds_back() const { return holds_back_; }
  std::uint64_t any_ends() const { return any_ends_; }
  std::uint64_t groups_ended_before() const { return groups_ended_before_; }
  // Number of notes that were written or removed, and of jobs that a restart restored with a note.
  std::uint64_t notes() const { return notes_; }
  std::uint64_t notes_back() const { return notes_back_; }

  // Number of delays by backoffs, and of jobs that a restart restored with tries before a kick.
  std::uint64_t backoffs() const { return backoffs_; }
  std::uint64_t backoffs_back() const { return backoffs_back_; }

  bool has_client(int number) const { return clients_.contains(number); }
  ModelClient& client(int number) { return clients_.at(number); }
  const ModelClient& client(int number) const { return clients_.at(number); }
  const std::map<JobId, ModelJob>& jobs() const { return jobs_; }
  std::uint64_t commands_run() const { return commands_run_; }
  // Returns the key of the last tombstone in the tube that the client uses; empty: none.
  std::string last_tombstone_key(int client) const;
  // Replaces the rules for the puts from now on.
  void set_rules(const std::vector<Rule>& rules) { rules_ = rules; }
  // Throws Mismatch unless the engine's counts are right.
  void compare(Engine& engine, Instant now) const;

 private:
  ModelTube* find_tube(const std::string& name);
  ModelTube& find_or_create(const std::string& name);
  void drop_if_unreferenced(const std::string& name);
  // Returns the result of peek-ready, and the job that a worker could get.
  JobId first_ready(const std::string& tube) const;
  JobId first_free(const std::string& tube) const;
  // Returns the ready jobs in the order of list-jobs; those after the first `free` are blocked.
  std::vector<JobId> ready_jobs(const std::string& tube, std::size_t& free) const;
  // Returns the number of ready jobs beyond the limits of their lanes.
  std::size_t blocked_jobs(const std::string& tube) const;
  bool may_be_reserved(const ModelJob& job) const;
  JobId first_delayed(const std::string& tube) const;
  JobId first_buried(const std::string& tube) const;
  JobId first_ending(int client) const;
  ModelJob* find_job(JobId id);
  std::vector<JobId> in_order_of_service(const std::string& tube, JobState state) const;
  int first_waiting(const std::string& tube) const;
  std::uint64_t count(JobState state, const std::string* tube = nullptr) const;
  std::uint64_t count_urgent(const std::string* tube = nullptr) const;
  bool holds(int client, JobId id) const;
  bool is_deadline_soon(int client, Instant now) const;

  // Times of tubes (model_times.cpp).
  void begin_ready(ModelJob& job, Instant now);
  void begin_buried(ModelJob& job, BurialCause cause, Instant now);
  void count_worked(const ModelJob& job, Instant now);
  static void add_length(ModelTimes& times, std::int64_t nanoseconds, Instant now);
  std::uint64_t oldest_ready_s(const std::string& tube, Instant now) const;
  static std::uint64_t buried_s(const ModelJob& job, Instant now);
  std::uint64_t oldest_buried_s(const std::string& tube, Instant now) const;
  std::string tube_detail(const std::string& tube, Instant now);
  std::string stats_tube_detail(const std::string& tube, Instant now);
  std::string stats_tubes(const Request& request, Instant now);

  void make_ready(JobId id, Instant now);
  void make_delayed(ModelJob& job, Instant now);
  void make_reserved(int client, JobId id, Instant now);
  // Returns the number of jobs given.
  std::uint32_t offer(const std::string& tube, Instant now);

  void answer(int client, std::string text, std::uint64_t held_until = 0) {
    clients_.at(client).answered_bytes += text.size();
    clients_.at(client).answers.push_back({std::move(text), held_until});
  }
  std::string with_job(const char* word, JobId id) const;
  void run_line(int client, Tape& tape, Instant now);
  void begin_put(int client, const Request& request);
  std::vector<int> whose_put(const Event& room, JobId id) const;
  void finish_put(const Event& room, Tape& tape, Instant now);
  std::string run_command(int client, const Request& request, Tape& tape, Instant now);
  std::string reserve(int client, Instant wait_end, Instant now, WaitFor what = WaitFor::job);
  std::string reserve_job(int client, JobId id, Tape& tape, Instant now);
  std::string delete_job(int client, JobId id, Tape& tape, Instant now);
  std::string release(int client, const Request& request, Tape& tape, Instant now);
  std::string bury(int client, const Request& request, Tape& tape, Instant now);
  std::string touch(int client, JobId id, Instant now);
  std::string touch_all(int client, Instant now);
  std::string job_of_wait(const ModelClient& client, JobId id);
  void abort_wait(int client);
  std::string watch(int client, const std::string& tube);
  std::string ignore(int client, const std::string& tube);
  std::string use(int client, const std::string& tube);
  std::string peek(JobId id);
  std::string kick(int client, std::uint32_t bound, Tape& tape, Instant now);
  std::string capabilities(int client) const;
  std::string flush(int client, const Request& request, Tape& tape, Instant now);
  std::string scan_jobs(const Request& request, Tape& tape, Instant now);
  std::string list_clients(int client, const Request& request, Tape& tape, Instant now);
  std::string list_jobs(const Request& request, Tape& tape, Instant now);
  std::string reserve_batch(int client, const Request& request, Instant now);
  std::string watch_by_weight(int client, const Request& request);
  std::string reserve_mode(int client, const Request& request);
  JobId best_by_weight(int client) const;
  std::uint64_t pass_of(int client, const std::string& tube) const;
  void charge(int client, const std::string& tube);
  static std::string to_answer(const ModelTask& batch);
  std::string delete_batch(int client, const Request& request, Tape& tape, Instant now);
  std::string undrain();
  std::string listed(std::string head, const std::vector<JobId>& ids, Tape& tape,
                     Instant now) const;
  JobId best_job(int client) const;
  bool is_put_off(const Tape& tape, int client);
  std::string kick_job(JobId id, Tape& tape, Instant now);
  std::string pause(const Request& request, Instant now);
  std::string stats(int number, Tape& tape, Instant now);
  std::string stats_job(JobId id, Tape& tape, Instant now);
  std::string stats_tube(const std::string& tube, Instant now);
  std::string tube_rows(const std::string& tube, Instant now);
  std::string list_tubes() const;
  void check_record(Tape& tape, Event::Kind kind, JobId id);
  void check_recorded(const Event& record, JobId id) const;
  void apply_observed(const Observed& observed, Instant now);
  void check_order(int client, JobId id, const std::map<JobId, ModelJob>& before) const;
  void check_rest(Instant now) const;

  // Unique jobs (model_keys.cpp).
  JobId holder_of(const std::string& tube, const std::string& key) const;
  void own_key(JobId id);
  void erase_job(JobId id);
  bool has_keyed_put(int client) const;
  bool is_duplicate(int client) const;
  void end_put_as_told(const Event& told, Instant now);
  void end_raise(const Event& room, Tape& tape);
  void answer_duplicate(const Event& told, std::string text, std::uint64_t held_until);

  // Keys that outlive their jobs (model_tombstones.cpp).
  bool leaves_key(JobId id) const;
  JournalStatus take_room_to_delete(const std::set<JobId>& ids, Tape& tape) const;
  void record_deletion(JobId id, Tape& tape, Instant now);
  const ModelTombstone* tombstone(const std::string& tube, const std::string& key,
                                  Instant now) const;
  const ModelTombstone* tombstone_of_put(int client, Instant now) const;
  void end_tombstone(const std::string& tube, const std::string& key);
  void restore_tombstone(const Engine& engine);
  void compare_tombstones(const Engine& engine, Instant now) const;
  std::string duplicate_text(JobId id, const std::string& raised) const;
  bool asks_for_update(int client, const Request& request);

  // Notes (model_notes.cpp).
  void begin_note(int client, const Request& request);
  void finish_note(const Event& room, Tape& tape);
  void end_note_as_told(const Event& told);
  bool may_write_note(int client, JobId id);
  std::string peek_note(JobId id);

  // Groups (model_groups.cpp).
  bool has_group(const std::string& name) const;
  bool is_active(const std::string& name) const;
  // Determines the place of a job that was just put.
  void begin_wait(ModelJob& job, bool is_held, Instant now);
  void end_hold(ModelJob& job);
  void settle_group(const std::string& name);
  bool end_waits(const std::string& name, bool is_after_any);
  void end_holds(Tape& tape, Instant now);
  void resume_end_of_holds();
  std::string stats_group(const std::string& name) const;
  void restore_holds(const Engine& engine, Instant now);
  void compare_groups(Engine& engine) const;

  // Limits of tries and backoffs (model_tries.cpp).
  bool is_spent(const ModelJob& job) const;
  static bool counts_tries(const ModelJob& job);
  static std::uint32_t backoff_after_try(const ModelJob& job);
  static void count_kick(ModelJob& job);
  void learn_order(const std::set<JobId>& ids, const Engine& engine);
  void end_try(ModelJob& job, BurialCause how, Instant now);
  void apply_rules(ModelJob& job);
  std::string rule_of(const std::string& tube) const;
  void end_tries(std::set<JobId> ids, BurialCause how, Tape& tape, Instant now);
  void record_late_burials(Tape& tape, Instant now);
  void compare_promises(Engine& engine) const;
  void give_back(int client, Tape& tape, Instant now);

  // Waits for the ends of jobs (model_job_waits.cpp).
  std::string wait_job(int client, const Request& request, Instant now);
  void end_job_waits(JobId id, const char* answer);
  void bury_waited_for(const ModelJob& job);
  void stop_job_wait(int client);
  void time_out_job_waits(const std::vector<Observed>& observed, Instant now);
  void check_job_waits(Instant now) const;

  // Long tasks (model_tasks.cpp).
  using Tasks = std::list<ModelTask>;
  static Tasks begin_always();
  enum class Step : std::uint8_t { done, continues, waits, failed };
  void resume_tasks(Tape& tape, Instant now);
  void resume(const std::string& of = {});
  void resume_due(Instant now);
  Instant next_end_of_key() const;
  Step drop_ended_keys(const Budget& budget, Instant now);
  Step end_some_holds(const Budget& budget, Tape& tape, Instant now);
  Step tell_ended(const Budget& budget);
  // As QueueState does.
  void try_refused_again(Instant now) {
    refused_again_ = std::min(refused_again_, now + QueueState::kPauseOfRefused);
  }
  // As Backlog::call().
  template <typename Work>
  void call(Work work) {
    const Budget budget(steps_, left_for_calls_);
    work(budget);
    left_for_calls_ = budget.left();
  }
  void work_on_tasks(const Budget& budget, Tape& tape, Instant now);
  void work(Tasks& tasks, const Budget& budget, Tape& tape, Instant now);
  // Delivers the answer of a task that continued in a later piece.
  void deliver(int client, std::string text) {
    steps_ += QueueState::kStepsPerDelivery;
    answer(client, std::move(text));
  }
  Step step(ModelTask& task, const Budget& budget, Tape& tape, Instant now);
  Step touch_some(ModelTask& touch, const Budget& budget);
  std::vector<JobId> plan_deletions(ModelTask& batch, const Budget& budget);
  Step delete_some(ModelTask& batch, const Budget& budget, Tape& tape, Instant now);
  Step kick_some(ModelTask& kick, const Budget& budget, Tape& tape, Instant now);
  Step flush_some(ModelTask& flush, const Budget& budget, Tape& tape, Instant now);
  std::vector<JobId> named_by(const ModelTask& flush) const;
  void take_jobs(ModelTask& flush, const std::vector<JobId>& named);
  Step free_some(ModelTask& flush, const Budget& budget, Tape& tape, Instant now);
  void free_recorded(ModelTask& flush, JobId id);
  void leave_task(int client);
  template <typename Visit>
  void for_each_task(Visit visit) const {
    for (const Tasks* tasks : {&awaited_, &others_, &put_aside_}) {
      for (const ModelTask& task : *tasks) visit(task);
    }
  }

  // Refused puts whose client is not known yet.
  struct RefusedPut {
    std::size_t body_bytes;
    std::string body;  // Empty: unknown.
    std::string answer;
  };
  std::vector<RefusedPut> refused_puts_;
  Tasks awaited_;                     // With a waiting client.
  Tasks others_;                      // Without one.
  Tasks put_aside_ = begin_always();  // They wait for the disk, or for work.
  std::uint64_t last_task_ = 0, task_turns_ = 0, refused_flushes_ = 0;
  Instant refused_again_ = Instant::never();  // When refused work is retried.
  std::uint64_t steps_ = 0;                   // As the engine counts them, for its tasks.
  std::uint64_t left_for_calls_ = 0;          // Rest of the budget of commands until the next turn.
  bool has_ended_waits_ = false;  // A job has ended, and its clients have no answer yet.
  std::uint32_t job_bytes_max_;
  std::uint64_t file_bytes_;
  std::map<JobId, ModelJob> jobs_;
  // By tube and key: the limit of the last put.
  std::map<std::pair<std::string, std::string>, std::uint32_t> lane_limits_;
  // By tube and key: the owner, even if a flush has it.
  std::map<std::pair<std::string, std::string>, JobId> keys_;
  std::uint64_t duplicates_ = 0, raises_ = 0, twins_ = 0;
  std::uint64_t tags_from_rules_ = 0, quiet_burials_ = 0;
  std::vector<Rule> rules_;
  // By tube and key, including expired ones.
  std::map<std::pair<std::string, std::string>, ModelTombstone> tombstones_;
  std::uint64_t tombstone_duplicates_ = 0, tombstone_ends_ = 0, tombstones_back_ = 0;
  // For each ended group, the jobs whose holds have to end, by the begin of these.
  std::deque<std::map<std::uint64_t, JobId>> ended_groups_;
  std::uint64_t holds_ = 0, holds_ended_ = 0, holds_back_ = 0, groups_ended_before_ = 0;
  std::uint64_t any_ends_ = 0;  // Ends of waits although jobs of the group are buried.
  std::uint64_t notes_ = 0, notes_back_ = 0;
  std::vector<ModelTube> tubes_;
  std::map<int, ModelClient> clients_;
  std::uint32_t refs_end_ = 1;  // The engine has assigned all lower references.
  JobId next_id_ = 1;
  Instant start_;
  bool draining_ = false;
  std::uint64_t total_jobs_ = 0, timeouts_ = 0, connections_ = 0;
  std::uint64_t backoffs_ = 0, backoffs_back_ = 0;
  std::multiset<JobId> late_burials_;  // Not recorded yet.
  std::uint64_t burials_ = 0, arrivals_ = 0, deadlines_ = 0, hand_overs_ = 0;
  std::array<std::uint64_t, kVerbs> verbs_{};
  std::uint64_t commands_run_ = 0;
};

}  // namespace haricot::simulation
