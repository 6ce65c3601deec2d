// The load of a benchmark: each connection sends a batch of commands, waits for all answers, checks
// them, and continues with the next step.
//
// It uses one thread and one epoll. A batch costs one send and one recv, so the client limits the
// rate only if a command costs the server less than the client.
//
// The latency of a command is the time from just before its batch is sent until just after the recv
// with its answer. All latencies are counted.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "tool/bench/bench_options.hpp"
#include "tool/bench/histogram.hpp"
#include "tool/client/address.hpp"
#include "tool/client/answer_parser.hpp"
#include "tool/client/remote.hpp"

namespace haricot::tool {

// Names of the tubes of a benchmark. No other client uses them, so all jobs in them belong to it.
class BenchTubes {
 public:
  // Makes names from the process id and the time, so they never repeat.
  BenchTubes();

  std::string load(std::uint64_t i) const { return prefix_ + "load-" + std::to_string(i); }
  std::string watched(std::uint64_t i) const { return prefix_ + "watched-" + std::to_string(i); }
  std::string idle(std::uint64_t i) const { return prefix_ + "idle-" + std::to_string(i); }
  std::string waiting(std::uint64_t i) const { return prefix_ + "waiting-" + std::to_string(i); }
  std::string waiting_together() const { return prefix_ + "waiting"; }

 private:
  std::string prefix_;
};

// Returns the share of one of several parts in a total. Shares are equal, except that the first
// ones get the remainder, one each.
inline std::uint64_t share_of(std::uint64_t total, std::uint64_t parts, std::uint64_t part) {
  return total / parts + (part < total % parts ? 1 : 0);
}

enum class Operation : std::uint8_t { put, reserve, delete_job };
inline constexpr std::size_t kOperations = 3;
std::string_view name_of(Operation operation);

struct Tally {
  std::array<Histogram, kOperations> latency_ns;
  Duration elapsed;

  std::uint64_t commands() const;
};

class Load final {
 public:
  // The end of a run: a number of jobs, or a time.
  struct Goal {
    std::uint64_t jobs = 0;  // 0 to run for `time`.
    Duration time;
  };
  using Progress = std::function<void(const Tally& so_far)>;

  // Requires: `options`, `tubes` and `body` outlive the object.
  Load(const BenchOptions& options, const BenchTubes& tubes, std::string_view body);

  // Connects all connections and selects their tubes. Returns false and sets `error` on failure.
  [[nodiscard]] bool open(const Address& address, std::string& error);

  // Treats any event on these connections as a failure. They must outlive the object. Returns false
  // and sets `error` on failure.
  [[nodiscard]] bool watch_over(const std::vector<os::Descriptor>& silent, std::string& error);

  // Runs until the goal is reached or a signal arrives; then finishes all jobs begun, so that no
  // answer is pending. Calls `progress`, unless it is empty, twice a second, or ten times with
  // --interval. Returns false and sets `error` on failure.
  [[nodiscard]] bool run(const Goal& goal, Tally& tally, const Progress& progress,
                         std::string& error);

  // Closes the connections and waits for the server to close them.
  void close();

 private:
  Duration poll_interval() const {
    return options_.interval_ms > 0 ? Duration::milliseconds(100) : Duration::milliseconds(500);
  }
  struct Connection {
    os::Descriptor socket;
    AnswerParser parser;
    std::uint64_t tube = 0;
    Operation operation = Operation::put;
    bool is_active = false;
    bool waits_for_room = false;  // Registered for EPOLLOUT.
    std::uint64_t batch = 0;      // Jobs of the current round.
    std::uint64_t answers_due = 0;
    Instant sent_at;
    std::string_view unsent;         // Rest of the current batch of commands.
    std::string commands;            // Commands of the batch if they contain ids or keys.
    std::vector<std::uint64_t> ids;  // Jobs that the connection holds.
  };

  bool open_connection(const Address& address, std::size_t index, std::string& error);
  bool choose_tubes(Remote& server, const std::string& own, std::string& error);
  bool watch(int operation, const os::Descriptor& socket, std::size_t index, std::uint32_t events,
             std::string& error);
  bool begin_round(Connection& connection);
  bool begin_operation(Connection& connection);
  std::string_view puts_of(Connection& connection);
  bool send_rest(Connection& connection);
  bool handle(std::size_t index, std::uint32_t events);
  bool receive(Connection& connection);
  bool take_answers(Connection& connection, std::string_view bytes);
  bool check(Connection& connection, const Answer& answer);
  bool end_operation(Connection& connection);
  bool poll_progress(const Progress& progress);
  bool is_over() const;
  bool fail(std::string reason);

  const BenchOptions& options_;
  const BenchTubes& tubes_;
  std::string_view body_;
  std::size_t put_bytes_ = 0;  // Length of a put and its body.
  std::string put_line_;       // Line of a put, without CR LF.
  std::uint64_t last_key_ = 0;
  std::string puts_;  // A batch of puts, and a batch of reserves.
  std::string reserves_;
  std::string buffer_;
  os::Descriptor epoll_;
  std::vector<Connection> connections_;

  // State of the current run.
  Tally* tally_ = nullptr;
  std::string* error_ = nullptr;
  std::vector<std::uint64_t> jobs_left_;  // For each tube; unlimited if the goal is a time.
  std::uint64_t active_ = 0;              // Number of active connections.
  Instant now_;
  Instant started_;
  Instant stop_at_;
  RateLimit poll_limit_{poll_interval(), {}};  // Rate of poll_progress().
};

}  // namespace haricot::tool
