// All watched servers, and the coroutines that wait for them.
//
// It is a part of the program's loop: open() once, then next_event() and advance() in each turn.

#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/poller.hpp"
#include "tool/client/address.hpp"
#include "tool/client/remote.hpp"
#include "web/observe/coroutines.hpp"
#include "web/observe/kept_link.hpp"
#include "web/observe/name_pattern.hpp"
#include "web/observe/sampler.hpp"

namespace haricot::web {

// One watched server. Coroutines ask it, and resume with its answers in a later turn.
//
// Samples have a connection of their own, so requests of users never delay them. Those requests use
// a second connection, which is open only when needed.
class Server final {
 public:
  // Default time limit for an answer.
  static constexpr Duration kPatience = Duration::seconds(5);
  // Largest number of commands of users that are pending.
  static constexpr std::size_t kCommandsMax = 8192;
  static constexpr std::size_t kSearchesMax = 4;
  static constexpr std::size_t kSearchesWaitingMax = 100;

  // `buffer` is the receive buffer. Borrowed arguments must outlive the object.
  Server(tool::Address address, const SamplerOptions& options, std::span<char> buffer);

  const Facts& facts() const { return facts_; }
  // Returns a counter that changes with each sample, and each time the server is lost.
  std::uint64_t changes() const { return sampler_.samples() + losses_; }
  // Records a demand for the server's tubes.
  void demand_tubes(Instant now) { sampler_.demand_tubes(now); }

  // Limits concurrent searches.
  Semaphore& searches() { return searches_; }
  // Closes the connection for requests as soon as it is idle, because the server may count it as a
  // worker or a producer.
  void end_action() { user_link_.close_when_idle(); }

  // Sends the commands, some at a time, and passes each answer, valid during the call, to `take` in
  // order. Stores at most `body_bytes_max` bytes of each body. Returns false if the server was lost
  // or too many commands are pending; some answers may have arrived. If the first command is a
  // `use`, the others need its tube and are sent together: see tool::Request::gate_bytes.
  using Take = std::function<void(std::size_t index, const tool::Answer& answer)>;
  Part<bool> ask_all(std::vector<std::string> commands, Take take, std::uint64_t body_bytes_max,
                     Duration patience = kPatience);
  // Sends a few commands and returns copies of their answers. Returns nothing in the failure cases
  // of ask_all().
  using Responses = std::optional<std::vector<tool::Response>>;
  Part<Responses> ask_together(std::vector<std::string> commands,
                               std::uint64_t body_bytes_max = 1024 * 1024,
                               Duration patience = kPatience);
  // Sends one command and returns a copy of its answer. Returns nothing in the failure cases of
  // ask_all().
  Part<std::optional<tool::Response>> ask(std::string command,
                                          std::uint64_t body_bytes_max = 1024 * 1024,
                                          Duration patience = kPatience);

  void open(os::Poller& poller);
  // Closes the connections, and answers all pending questions with null. Must be called last.
  void close();
  Instant next_event() const;
  void advance(Instant now);

 private:
  void lost(Instant now, const std::string& reason);

  tool::Address address_;
  Facts facts_;
  KeptLink link_;
  Sampler sampler_;
  KeptLink user_link_;
  std::size_t user_commands_ = 0;  // Commands of unfinished calls of ask_all().
  Semaphore searches_{kSearchesMax, kSearchesWaitingMax};
  std::uint64_t losses_ = 0;
};

class Observer final {
 public:
  // `targets` are sampled like the others, but only /probe shows them.
  Observer(const std::vector<tool::Address>& addresses, const std::vector<tool::Address>& targets,
           const SamplerOptions& options);

  // `poller` must outlive the last turn.
  void open(os::Poller& poller);
  // Resumes all waiting coroutines and closes the servers. Must be called after the last turn.
  void close();
  Instant next_event() const;
  void advance(Instant now);
  // Returns a counter that changes with each sample and each lost server.
  std::uint64_t changes() const;
  // Returns true if every server has answered, or is known to be down.
  bool is_ready() const;

  // Return the monotonic clock, and the wall clock in seconds since 1970.
  static Instant now();
  static double wall_now();

  std::deque<Server>& servers() { return servers_; }
  // Returns null if there is no server with this name.
  Server* find(std::string_view name);
  // Finds a server or target for /probe. The name may omit the default port.
  Server* find_target(std::string_view name);

  // Awaitable for the next turn, or for a condition, which is checked in each turn until `until`.
  struct Waiting {
    Observer& observer;
    std::function<bool()> holds;
    Instant until;

    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      observer.waiting_.push_back({handle, std::move(holds), until});
    }
    void await_resume() const {}
  };
  Waiting next_turn() { return {*this, nullptr, Instant::never()}; }
  Waiting wait_for(std::function<bool()> holds, Instant until) {
    return {*this, std::move(holds), until};
  }

 private:
  struct Waiter {
    std::coroutine_handle<> handle;
    std::function<bool()> holds;  // Empty to wait for the next turn.
    Instant until;
  };

  std::vector<char> buffer_;
  std::deque<Server> servers_;
  std::deque<Server> targets_;
  std::vector<Waiter> waiting_;
};

}  // namespace haricot::web
