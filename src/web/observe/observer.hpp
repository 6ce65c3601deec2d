// All servers that are watched, and whoever waits for something of them.
//
// It is a part of the program's loop: open() once, then next_event() and advance() in each turn.

#pragma once

#include <coroutine>
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
#include "web/observe/facts.hpp"
#include "web/observe/link.hpp"
#include "web/observe/pipeline.hpp"
#include "web/observe/sampler.hpp"
#include "web/observe/task.hpp"
#include "web/observe/tube_labels.hpp"
#include "web/observe/turnstile.hpp"

namespace haricot::web {

// One of them. Coroutines ask it, and get its answers in a later turn.
//
// Samples have a connection of their own, so requests of people never delay them. These requests
// use a second connection, which is open only while there are some.
class Server final {
 public:
  static constexpr std::size_t kSearchesMax = 4;
  static constexpr std::size_t kSearchesWaitingMax = 100;

  // `buffer` is what is received into. What is borrowed outlives it.
  Server(tool::Address address, const SamplerOptions& options, std::span<char> buffer);

  const Facts& facts() const { return facts_; }
  // So many samples of it were taken, and so often it has gone.
  std::uint64_t changes() const { return sampler_.samples() + losses_; }
  // Somebody looks at its tubes.
  void look(Instant now) { sampler_.look(now); }

  // Limit of concurrent searches.
  Turnstile& searches() { return searches_; }
  // Closes the connection of people as soon as it is idle: the server may count it as a worker or a
  // producer.
  void end_act() { people_link_.close_when_idle(); }

  // Asks, for an answer each, and hands these over in their order; they are valid during the call.
  // False: the server is gone, or too much is asked of it already; some answers may have come.
  // Only so many bytes of each body are kept. If the first is a `use`, the others are for its tube:
  // Question::followers.
  using Take = std::function<void(std::size_t index, const tool::Answer& answer)>;
  Part<bool> ask_all(std::vector<std::string> commands, Take take, std::uint64_t body_bytes_max,
                     Duration patience = Question::kPatience);
  // The same for few commands, with copies of the answers. Nothing: as above.
  using Responses = std::optional<std::vector<tool::Response>>;
  Part<Responses> ask_together(std::vector<std::string> commands,
                               std::uint64_t body_bytes_max = 1024 * 1024,
                               Duration patience = Question::kPatience);
  // One command, and a copy of its answer. Nothing: as above.
  Part<std::optional<tool::Response>> ask(std::string command,
                                          std::uint64_t body_bytes_max = 1024 * 1024,
                                          Duration patience = Question::kPatience);

  void open(os::Poller& poller);
  // Whoever waits for answers hears that there are none. Nothing follows.
  void close();
  Instant next_event() const;
  void advance(Instant now);

 private:
  void lost(Instant now, const std::string& reason);

  tool::Address address_;
  Facts facts_;
  Pipeline pipeline_;
  Sampler sampler_;
  Link link_;
  Pipeline people_;
  Link people_link_;
  Turnstile searches_{kSearchesMax, kSearchesWaitingMax};
  std::uint64_t losses_ = 0;
};

class Observer final {
 public:
  // `targets` are asked as the others are, but only /probe shows them.
  Observer(const std::vector<tool::Address>& addresses, const std::vector<tool::Address>& targets,
           const SamplerOptions& options);

  // `poller` outlives the last turn.
  void open(os::Poller& poller);
  // After the last turn: whoever waits goes on to its end.
  void close();
  Instant next_event() const;
  void advance(Instant now);
  // Counts samples, and servers that come and go: whether there is something new.
  std::uint64_t changes() const;
  // Every server has been heard of, or is known to be gone.
  bool is_ready() const;

  // The clock, and the wall clock in seconds since 1970.
  static Instant now();
  static double wall_now();

  std::deque<Server>& servers() { return servers_; }
  // Null: there is none of this name.
  Server* find(std::string_view name);
  // The same for /probe, also without the usual port.
  Server* find_target(std::string_view name);

  // What a coroutine may await: the next turn, and that something holds, which is looked at in each
  // turn, but not after `until`.
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
    std::function<bool()> holds;  // Empty: the next turn.
    Instant until;
  };

  std::vector<char> buffer_;
  std::deque<Server> servers_;
  std::deque<Server> targets_;
  std::vector<Waiter> waiting_;
};

}  // namespace haricot::web
