// Sends random commands to a server over several connections, and records the acknowledged changes,
// which have to survive a crash of the server.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "job_facts.hpp"
#include "support/random.hpp"
#include "support/server_process.hpp"
#include "support/wire_client.hpp"

namespace haricot::test {

class RecordedLoad final {
 public:
  RecordedLoad(std::uint64_t seed, std::size_t connections);

  // Connects to the server, and abandons earlier connections.
  [[nodiscard]] bool connect(const ServerProcess& server);

  // Sends `commands` random commands over each connection, without waiting for answers.
  void send(std::size_t commands);

  // Reads all outstanding answers. Returns false if one does not arrive.
  [[nodiscard]] bool read_all();

  // Reads the answers that the server sent before it ended.
  void read_what_came();

  // Compares the record with `now`, all jobs up to highest_id() after a restart. Returns the
  // contradictions, one line each. The record continues with these jobs.
  std::string broken_promises(const Jobs& now);

  // Adds a job with this body, which another client puts, to the record.
  void expect_put(const std::string& body) {
    ++puts_sent_;
    doubtful_bodies_.insert(body);
  }

  // Returns an id that no job exceeds.
  std::uint64_t highest_id() const { return std::max(puts_sent_, highest_answered_); }

  // Number of commands that were acknowledged, and that were answered with OUT_OF_MEMORY or
  // INTERNAL_ERROR.
  std::uint64_t acknowledged() const { return acknowledged_; }
  std::uint64_t refused() const { return refused_; }
  // Answers that do not match their command.
  const std::string& nonsense() const { return nonsense_; }

  // Returns a random number below `bound`, from the seed of the load.
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }

 private:
  enum class Kind { put, deletion, take, bury, release, kick };

  struct Command {
    Kind kind;
    std::uint64_t id;   // 0 for a put.
    std::string body;   // The body of a put.
    std::string state;  // State of the job after the command.
    std::uint64_t priority;
  };

  // The required facts about a job. With outstanding or refused commands, its state may be any.
  struct Promise {
    std::string body;
    std::string state;
    std::uint64_t priority = 0;
    std::uint64_t under_way = 0;
    bool state_is_known = true;
    bool priority_is_known = true;  // A refused command may have changed the priority.
    bool deletion_was_sent = false;
    bool is_deleted = false;
  };

  struct Connection {
    std::unique_ptr<WireClient> client;
    std::deque<Command> under_way;
    std::vector<std::uint64_t> jobs;  // Jobs of the connection that are not deleted.
  };

  std::string choose(Connection& of);
  std::string put(Connection& of);
  std::string change(Connection& of, std::uint64_t id);
  bool read_one(Connection& from, std::size_t number, std::chrono::milliseconds deadline);
  void apply(const Command& command, const std::string& answer, std::size_t number);
  void apply_change(Promise& promise, const Command& command, const std::string& answer);
  std::string broken_promise(std::uint64_t id, const Promise& promise, const Jobs& now) const;
  void begin_anew(const Jobs& now);

  Random random_;
  std::vector<Connection> connections_;
  std::map<std::uint64_t, Promise> promises_;
  // Bodies of puts without an answer, with the answer INTERNAL_ERROR, or of other clients: the job
  // may exist or not.
  std::set<std::string> doubtful_bodies_;
  std::uint64_t puts_sent_ = 0;
  std::uint64_t highest_answered_ = 0;  // Highest id in an answer. A start may skip ids.
  std::uint64_t acknowledged_ = 0;
  std::uint64_t refused_ = 0;
  std::string nonsense_;
};

}  // namespace haricot::test
