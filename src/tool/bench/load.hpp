// The load of a benchmark: connections which each send a batch of commands, wait for all its
// answers, check them and go on with the next step.
//
// One thread and one epoll; a batch costs one send and one recv, so the client is not what limits
// the rate as long as the server has no less to do for a command.
//
// The latency of a command is the time from right before its batch was sent until right after the
// recv that brought its answer. Each is counted.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/rate_limit.hpp"
#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "tool/bench/bench_options.hpp"
#include "tool/bench/bench_tubes.hpp"
#include "tool/bench/histogram.hpp"
#include "tool/client/address.hpp"
#include "tool/client/answer_parser.hpp"
#include "tool/client/dialogue.hpp"

namespace haricot::tool {

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
  // How much to do: so many jobs, or as many as fit into a time.
  struct Goal {
    std::uint64_t jobs = 0;  // 0: until the time is over.
    Duration time;
  };
  using Progress = std::function<void(const Tally& so_far)>;

  // The body outlives the load.
  Load(const BenchOptions& options, const BenchTubes& tubes, std::string_view body);

  // Connects everybody to their tubes. False: `error` says why, here as below.
  [[nodiscard]] bool open(const Address& address, std::string& error);

  // Takes it for a failure if anything happens on these connections. They outlive the load.
  [[nodiscard]] bool watch_over(const std::vector<os::Descriptor>& silent, std::string& error);

  // Works until the goal is reached or somebody interrupts; all jobs begun are finished then, and
  // no answer is due. `progress`, if there is one, is called twice a second, or ten times with an
  // interval.
  [[nodiscard]] bool run(const Goal& goal, Tally& tally, const Progress& progress,
                         std::string& error);

  // Closes the connections, and waits until the server has.
  void close();

 private:
  Duration look_interval() const {
    return options_.interval_ms > 0 ? Duration::milliseconds(100) : Duration::milliseconds(500);
  }
  struct Connection {
    os::Descriptor socket;
    AnswerParser parser;
    std::uint64_t tube = 0;
    Operation operation = Operation::put;
    bool is_active = false;
    bool waits_for_room = false;  // Registered for EPOLLOUT.
    std::uint64_t batch = 0;      // Jobs of the round it is in.
    std::uint64_t answers_due = 0;
    Instant sent_at;
    std::string_view unsent;         // Of the batch of commands.
    std::string commands;            // Where that is, if it is made of ids or keys.
    std::vector<std::uint64_t> ids;  // Of the jobs it holds.
  };

  bool open_connection(const Address& address, std::size_t index, std::string& error);
  bool choose_tubes(Dialogue& dialogue, const std::string& own, std::string& error);
  bool begin_round(Connection& connection);
  bool begin_operation(Connection& connection);
  std::string_view puts_of(Connection& connection);
  bool send_rest(Connection& connection);
  bool handle(std::size_t index, std::uint32_t events);
  bool receive(Connection& connection);
  bool take_answers(Connection& connection, std::string_view bytes);
  bool check(Connection& connection, const Answer& answer);
  bool end_operation(Connection& connection);
  bool look_around(const Progress& progress);
  bool is_over() const;
  bool fail(std::string reason);

  const BenchOptions& options_;
  const BenchTubes& tubes_;
  std::string_view body_;
  std::size_t put_bytes_ = 0;  // Of one put and its body.
  std::string put_line_;       // Of one put, without CR LF.
  std::uint64_t last_key_ = 0;
  std::string puts_;  // A batch of them; and of reserves.
  std::string reserves_;
  std::string buffer_;
  os::Descriptor epoll_;
  std::vector<Connection> connections_;

  // Of the run that is on.
  Tally* tally_ = nullptr;
  std::string* error_ = nullptr;
  std::vector<std::uint64_t> jobs_left_;  // By tube; without end if time is the goal.
  std::uint64_t active_ = 0;              // Connections that are.
  Instant now_;
  Instant started_;
  Instant stop_at_;
  RateLimit look_{look_interval(), {}};  // Of looking around, see look_around().
};

}  // namespace haricot::tool
