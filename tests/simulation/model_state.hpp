// What the model knows: requests, jobs, tubes, clients and long tasks, as plain values.

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

// What a client sends, and what is meant by it: nobody here has to parse.
struct Request {
  enum class Kind : std::uint8_t {
    command,
    malformed,  // A line that is answered with `answer`, and counted if `is_counted`.
    too_long,   // A line that nobody reads, answered BAD_FORMAT.
  };
  Kind kind = Kind::command;
  Verb verb = Verb::quit;
  JobId id = 0;
  std::uint32_t priority = 0;
  std::uint32_t seconds = 0;
  std::uint32_t ttr_s = 0;
  std::uint32_t tries = 0;        // Of put; 0: without such a tag.
  std::string lane = {};          // Of put: the key of its tag; empty: it has none.
  std::uint32_t lane_limit = 1;   // Of its lane from that put on.
  std::string key = {};           // Of put: by which it is unique; empty: it has none.
  std::uint32_t tombstone_s = 0;  // Of put: how long its key outlives it.
  std::string group = {};         // Of put: the group that it is in,
  std::string after = {};         // and the one that it waits for; empty: none. Of stats-group.
  std::uint32_t bound = 0;        // Of kick, or the count of another command.
  std::string tube = {};
  StateWord state = StateWord::none;
  bool has_timeout = false;     // Of reserve-batch.
  bool is_weighted = false;     // Of reserve-mode.
  std::vector<JobId> ids = {};  // Of delete-batch.
  std::string body = {};
  bool body_ends_well = true;
  std::string answer = {};
  bool is_counted = false;
  std::string line = {};   // Without its CR LF.
  std::uint64_t end = 0;   // After so many bytes of the connection it is all there.
  std::string bytes = {};  // All of it, the body of a put included.
};

// The text of the tags of a job with that limit of tries; 0: none.
std::string tags_text(std::uint32_t tries);

struct ModelJob {
  std::string tube;
  std::string body;
  JobState state = JobState::ready;
  std::uint32_t priority = 0, delay_s = 0, ttr_s = 0;
  std::uint32_t tries = 0;        // 0: it has no such tag.
  std::string lane = {};          // Its key; empty: it is in none.
  std::uint32_t lane_limit = 1;   // As its own put has said.
  std::string key = {};           // By which it is unique; empty: it has none.
  std::uint32_t tombstone_s = 0;  // How long its key outlives it.
  Instant created;
  Instant deadline;           // Delayed: when it gets ready; reserved: when its TTR ends.
  std::uint64_t arrival = 0;  // The later a deadline was set the larger.
  std::uint64_t burial = 0;   // The later it was buried the larger.
  Instant since;              // When it got ready; reserved: of its reserve or last touch.
  int holder = 0;
  std::string group = {};        // The group that it is in; empty: none.
  std::string after = {};        // The one that its put named after `aft:`.
  std::uint64_t hold = 0;        // It waits for that one: the later it was put the larger; 0: not.
  bool group_has_ended = false;  // Its hold is about to end.
  std::uint64_t flush = 0;       // The task that is to free it, from where nobody sees it; 0: none.
  std::array<std::uint64_t, kJobEvents> counts{};  // By JobEvent.
};

inline std::uint64_t& count_of(ModelJob& job, JobEvent event) {
  return job.counts[static_cast<std::size_t>(event)];
}

// As a report has it.
std::string quoted(const std::string& text);
// What stands after `idp:` in its tags.
std::string value_of_key(const ModelJob& job);
// The text of all its tags.
std::string tags_of(const ModelJob& job);
// The key by which a job with that text is unique, and how long the key outlives the job; empty: it
// has none.
std::pair<std::string, std::uint32_t> key_in(const std::string& tags);

// A key that outlives its job.
struct ModelTombstone {
  JobId id;
  std::uint32_t seconds;
  Instant end;
  std::uint64_t deletion;  // The record of it; 0: one of an earlier life.
};

// What a client is to be told, and the record that it waits for.
struct ModelAnswer {
  std::string text;
  std::uint64_t held_until = 0;
};

// How many jobs took how long, by the number of a bucket, in a period of five minutes.
struct ModelPeriod {
  std::int64_t number = -1;
  std::map<std::uint32_t, std::uint64_t> lengths = {};
};
struct ModelTimes {
  ModelPeriod now = {}, before = {};
};

// Jobs of a tube that were buried one soon after another.
struct ModelRun {
  Instant since, until;
  std::uint64_t last = 0;  // The burial of its last job, or more.
};

struct ModelTube {
  std::string name;
  bool paused = false;
  Instant pause_end;
  std::uint32_t pause_s = 0;
  std::uint64_t total_jobs = 0, deletes = 0, pauses = 0, buried_by_tries = 0;
  ModelTimes queued = {}, worked = {};
  std::vector<ModelRun> runs = {};  // Of its buried jobs, in order.
  std::size_t runs_joined_from = 64;
};

// What a tube that a client watches has of its reserves, when they go by weight.
struct ModelShare {
  std::uint64_t weight = 1;
  std::uint64_t pass = 0;  // When it is its turn.
};

struct ModelClient {
  CommandSet commands = CommandSet::extended;
  std::uint32_t ref = 0;
  Instant came;
  std::uint64_t lines = 0;  // Of commands that were run or refused.
  std::string used = "default";
  std::vector<std::string> watched{"default"};
  bool is_weighted = false;
  std::map<std::string, ModelShare> shares;  // Of tubes that had a turn, or a weight.
  std::uint64_t turn = 0;                    // That of the tube that was served last.
  bool waiting = false;
  WaitFor waits_for = WaitFor::job;
  Instant wait_end;
  JobId waits_for_end_of = 0;   // A job; 0: none.
  std::string end_of_job = {};  // What it will be told of that; empty: the job lives.
  std::uint64_t arrival = 0;
  bool producer = false, worker = false, half_closed = false, quit = false;
  std::uint64_t answered_bytes = 0;              // Of all answers.
  std::deque<ModelAnswer> answers;               // That should have come and were not seen yet.
  std::deque<Request> requests;                  // Sent and not run yet.
  std::uint64_t bytes_sent = 0, bytes_read = 0;  // By the client; by the server.
  bool put_is_open = false;  // The line of a put was read, its answer is to come.
  Request put;
  JobId put_id = 0;
  bool may_be_drained = false;  // Drain mode ended while that put was open and all there.
};

// A kick or a flush that is longer than a call of the engine, or waits for the disk; or a deletion
// of several jobs that waits for it.
struct ModelTask {
  std::uint64_t number;
  int client;  // 0: gone.
  std::string tube;
  bool is_flush;
  std::uint64_t done = 0;  // How many jobs it has moved or freed.
  // Of a kick.
  bool of_buried = false;
  std::uint32_t left = 0;
  // Of a flush: what it is to free, and what it has yet to free.
  StateWord state = StateWord::none;
  std::deque<JobId> buried = {};
  std::set<JobId> ready = {};
  std::set<JobId> delayed = {};
  bool has_begun = false;
  bool is_refused = false;
  // Of a deletion of several jobs: all that were named. Empty: it is none. And those that it has
  // yet to look for.
  std::vector<JobId> ids = {};
  std::set<JobId> ids_left = {};

  std::optional<std::uint64_t> touched = {};  // Of a touch of all jobs: how many there are.

  bool is_of_keys = false;    // The task that is always there, and drops ended keys;
  bool is_of_groups = false;  // the one that ends holds;
  bool is_of_waits = false;   // and the one that tells of the ends of jobs.

  bool is_always_there() const { return is_of_keys || is_of_groups || is_of_waits; }
  bool has_jobs() const { return !buried.empty() || !ready.empty() || !delayed.empty(); }
};

// What came to a waiting client in Service::advance().
struct Observed {
  int client;
  std::string bytes;
};

}  // namespace haricot::simulation
