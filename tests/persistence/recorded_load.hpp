// Random commands to a server over several connections at once, with a record of what its answers
// promise: what was acknowledged has to hold whatever happens to the server then.

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

  // Connects to the server; what was under way before is given up.
  [[nodiscard]] bool connect(const ServerProcess& server);

  // Sends so many random commands over each connection, without waiting for answers.
  void send(std::size_t commands);

  // Reads all answers that are under way. False if one does not come.
  [[nodiscard]] bool read_all();

  // Reads what a server that has ended had answered until then.
  void read_what_came();

  // Compares with what a server holds after a restart, every job up to highest_id(). Returns what
  // contradicts the answers, a line each. The record begins anew with these jobs.
  std::string broken_promises(const Jobs& now);

  // Somebody else puts a job with this body.
  void expect_put(const std::string& body) {
    ++puts_sent_;
    doubtful_bodies_.insert(body);
  }

  // No job has a higher id.
  std::uint64_t highest_id() const { return std::max(puts_sent_, highest_answered_); }

  // How many commands were acknowledged, and how many were answered with OUT_OF_MEMORY or
  // INTERNAL_ERROR.
  std::uint64_t acknowledged() const { return acknowledged_; }
  std::uint64_t refused() const { return refused_; }
  // Answers that do not fit their command.
  const std::string& nonsense() const { return nonsense_; }

  // A number below `bound`, from the same seed.
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }

 private:
  enum class Kind { put, deletion, take, bury, release, kick };

  struct Command {
    Kind kind;
    std::uint64_t id;   // 0 for a put.
    std::string body;   // Of a put.
    std::string state;  // What the job is in when the command is done.
    std::uint64_t priority;
  };

  // What a job has to be. One with commands under way, or refused ones, may be in any state.
  struct Promise {
    std::string body;
    std::string state;
    std::uint64_t priority = 0;
    std::uint64_t under_way = 0;
    bool state_is_known = true;
    bool priority_is_known = true;  // A refused command may have changed it all the same.
    bool deletion_was_sent = false;
    bool is_deleted = false;
  };

  struct Connection {
    std::unique_ptr<WireClient> client;
    std::deque<Command> under_way;
    std::vector<std::uint64_t> jobs;  // Its own, not yet deleted.
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
  // Of puts that were not answered, or answered INTERNAL_ERROR, or of somebody else: the job may be
  // there or not.
  std::set<std::string> doubtful_bodies_;
  std::uint64_t puts_sent_ = 0;
  std::uint64_t highest_answered_ = 0;  // Of the ids; a server may leave some out at its start.
  std::uint64_t acknowledged_ = 0;
  std::uint64_t refused_ = 0;
  std::string nonsense_;
};

}  // namespace haricot::test
