// State of the model: requests, jobs, tubes, clients and long tasks, as plain values.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "haricot/protocol/command.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot::simulation {

inline const std::string kNotFound = "NOT_FOUND\r\n";
inline const std::string kInternalError = "INTERNAL_ERROR\r\n";

// A request with its meaning, so that no parser is needed.
struct Request {
  enum class Kind : std::uint8_t {
    command,
    malformed,  // A line answered with `answer`, and counted if `is_counted`.
    too_long,   // A line that is discarded, answered BAD_FORMAT.
  };
  Kind kind = Kind::command;
  Verb verb = Verb::quit;
  JobId id = 0;
  std::uint32_t priority = 0;
  std::uint32_t seconds = 0;
  std::uint32_t ttr_s = 0;
  std::uint32_t tries = 0;      // put; 0: no such tag.
  std::uint32_t backoff_s = 0;  // put; 0: no such tag.
  std::uint32_t backoff_max_s = 3600;
  std::string lane = {};          // put: key of its tag; empty: none.
  std::uint32_t lane_limit = 1;   // put: limit of its lane from then on.
  std::string key = {};           // put: its unique key; empty: none.
  std::uint32_t tombstone_s = 0;  // put: how long its key outlives it.
  std::string group = {};         // put: its group; empty: none. stats-group.
  std::string after = {};         // put: the group that it waits for; empty: none.
  bool is_after_any = false;      // put: not for buried jobs.
  std::uint32_t bound = 0;        // kick, or the count of another command.
  std::string tube = {};
  StateWord state = StateWord::none;
  bool has_timeout = false;     // reserve-batch.
  bool is_weighted = false;     // reserve-mode.
  std::vector<JobId> ids = {};  // delete-batch.
  std::string body = {};
  bool body_ends_well = true;
  std::string answer = {};
  bool is_counted = false;
  std::string line = {};   // Without its CR LF.
  std::uint64_t end = 0;   // Bytes of the connection until its end.
  std::string bytes = {};  // Complete, with the body of a put.
};

struct ModelJob {
  std::string tube;
  std::string body;
  JobState state = JobState::ready;
  std::uint32_t priority = 0, delay_s = 0, ttr_s = 0;
  std::uint32_t tries = 0;      // 0: no such tag.
  bool is_quiet = false;        // Its last release is not answered BURIED.
  std::uint32_t backoff_s = 0;  // 0: no such tag.
  std::uint32_t backoff_max_s = 3600;
  std::uint64_t tries_before = 0;  // Reserves at the last kick.
  std::string lane = {};           // Its key; empty: none.
  std::uint32_t lane_limit = 1;    // According to its own put.
  std::string key = {};            // Its unique key; empty: none.
  std::uint32_t tombstone_s = 0;   // How long its key outlives it.
  Instant created;
  Instant deadline;           // Delayed: end of the delay; reserved: end of the TTR.
  std::uint64_t arrival = 0;  // Grows with each deadline that is set.
  std::uint64_t burial = 0;   // Grows with each burial.
  BurialCause burial_cause = BurialCause::unknown;
  Instant since;             // Ready, buried: begin; reserved: the reserve or last touch.
  Instant reserved_at = {};  // Reserved only.
  bool is_touched = false;   // Since the reserve.
  int holder = 0;
  std::string group = {};        // Its group; empty: none.
  std::string after = {};        // The group in its tag `aft:`.
  bool is_after_any = false;     // It does not wait for buried jobs.
  std::uint64_t hold = 0;        // Held; grows with each put; 0: not held.
  bool group_has_ended = false;  // Its hold is about to end.
  std::string note = {};
  bool has_had_note = false;  // It has a note, or had one since the last start.
  std::uint64_t flush = 0;    // The task that will free it; it is invisible then; 0: none.
  std::array<std::uint64_t, kJobEvents> counts{};  // Indexed by JobEvent.
};

inline std::uint64_t& count_of(ModelJob& job, JobEvent event) {
  return job.counts[static_cast<std::size_t>(event)];
}

// Returns the text as in a report.
std::string quoted(const std::string& text);
// Returns a note as in a report.
std::string shown_note(const std::string& note);
// Return the text after `try:`, `idp:` and `back:` in its tags.
std::string value_of_tries(const ModelJob& job);
std::string value_of_key(const ModelJob& job);
std::string value_of_backoff(const ModelJob& job);
// Returns the text after `aft:` in its tags.
std::string value_of_after(const ModelJob& job);
// Returns the text of all its tags.
std::string tags_of(const ModelJob& job);
// Sets the values of all tags in that text.
void set_tags(ModelJob& job, const std::string& text);
// Returns the unique key of a job with that text and how long it outlives the job; empty: no key.
std::pair<std::string, std::uint32_t> key_in(const std::string& tags);

// A key that outlives its job.
struct ModelTombstone {
  JobId id;
  std::uint32_t seconds;
  Instant end;
  std::uint64_t deletion;  // Its record; 0: before the last start.
};

// An answer, and the record that it waits for.
struct ModelAnswer {
  std::string text;
  std::uint64_t held_until = 0;
};

// Number of jobs by the bucket of their times, in a period of five minutes.
struct ModelPeriod {
  std::int64_t number = -1;
  std::map<std::uint32_t, std::uint64_t> lengths = {};
};
struct ModelTimes {
  ModelPeriod now = {}, before = {};
};

struct ModelTube {
  std::string name;
  bool paused = false;
  Instant pause_end;
  std::uint32_t pause_s = 0;
  std::uint64_t total_jobs = 0, deletes = 0, pauses = 0, buried_by_tries = 0;
  ModelTimes queued = {}, worked = {};
};

// Share of a watched tube in the client's reserves by weight.
struct ModelShare {
  std::uint64_t weight = 1;
  std::uint64_t pass = 0;  // When it is its turn.
};

struct ModelClient {
  CommandSet commands = CommandSet::extended;
  std::uint32_t ref = 0;
  Instant came;
  std::uint64_t lines = 0;  // Commands that were run or refused.
  std::string used = "default";
  std::vector<std::string> watched{"default"};
  bool is_weighted = false;
  std::map<std::string, ModelShare> shares;  // Tubes that had a turn, or a weight.
  std::uint64_t turn = 0;                    // That of the tube that was served last.
  bool waiting = false;
  WaitFor waits_for = WaitFor::job;
  Instant wait_end;
  JobId waits_for_end_of = 0;   // A job; 0: none.
  std::string end_of_job = {};  // Answer about that job; empty: the job exists.
  std::uint64_t arrival = 0;
  bool producer = false, worker = false, half_closed = false, quit = false;
  std::uint64_t answered_bytes = 0;              // All answers.
  std::deque<ModelAnswer> answers;               // Due and not seen yet.
  std::deque<Request> requests;                  // Sent and not run yet.
  std::uint64_t bytes_sent = 0, bytes_read = 0;  // By the client; by the server.
  bool put_is_open = false;  // The line of a put or a note was read, and it has no answer yet.
  Request put;
  JobId put_id = 0;
  bool may_be_drained = false;  // Drain mode ended while that put was open and complete.
};

// A kick or flush that takes more than a call of the engine, or waits for the disk; or a deletion
// of several jobs that waits for it.
struct ModelTask {
  std::uint64_t number;
  int client;  // 0: gone.
  std::string tube;
  bool is_flush;
  std::uint64_t done = 0;  // Number of jobs moved or freed.
  // Kicks only.
  bool of_buried = false;
  std::uint32_t left = 0;
  // Flushes only: what to free, and the rest.
  StateWord state = StateWord::none;
  std::deque<JobId> buried = {};
  std::set<JobId> ready = {};
  std::set<JobId> delayed = {};
  bool has_begun = false;
  bool is_refused = false;
  // Deletions of several jobs only: all named jobs (empty: another kind of task), and the rest.
  std::vector<JobId> ids = {};
  std::set<JobId> ids_left = {};

  std::optional<std::uint64_t> touched = {};  // Touches of all jobs: their number.

  bool is_of_keys = false;    // The permanent task that frees ended keys.
  bool is_of_groups = false;  // The permanent task that ends holds.
  bool is_of_waits = false;   // The permanent task that answers waits for the ends of jobs.

  bool is_always_there() const { return is_of_keys || is_of_groups || is_of_waits; }
  bool has_jobs() const { return !buried.empty() || !ready.empty() || !delayed.empty(); }
};

// Delivery to a waiting client in Service::advance().
struct Observed {
  int client;
  std::string bytes;
};

}  // namespace haricot::simulation
