#include "web/observe/observer.hpp"

#include <algorithm>
#include <utility>

#include "os/clock.hpp"

namespace haricot::web {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr std::string_view kUsualPort = ":11300";

// Pending answers of several questions, and the coroutine that awaits them.
struct Round {
  Server::Take take;
  std::size_t left = 0;
  bool is_whole = true;
  std::coroutine_handle<> waiting;
};

}  // namespace

Server::Server(tool::Address address, const SamplerOptions& options, std::span<char> buffer)
    : address_(std::move(address)),
      sampler_(pipeline_, facts_, options),
      link_(Link::Kind::permanent, address_, pipeline_, buffer),
      user_link_(Link::Kind::on_demand, address_, user_pipeline_, buffer) {
  facts_.name = address_.name();
}

void Server::open(os::Poller& poller) {
  link_.open(poller, {.opened = [this](Instant now) { sampler_.restart(now); },
                      .lost = [this](Instant now, const std::string& why) { lost(now, why); }});
  user_link_.open(poller, {.opened = [](Instant) {}, .lost = [](Instant, const std::string&) {}});
}

void Server::close() {
  link_.close();
  pipeline_.abort();
  user_link_.close();
  user_pipeline_.abort();
}

void Server::lost(Instant now, const std::string& reason) {
  sampler_.stop();
  ++losses_;
  if (facts_.state != ServerState::down) facts_.since = now;
  facts_.state = ServerState::down;
  facts_.error = reason;
  facts_.rates = {};
}

Instant Server::next_event() const {
  return std::min({link_.next_event(), sampler_.next_event(), user_link_.next_event()});
}

void Server::advance(Instant now) {
  sampler_.advance(now);
  link_.advance(now);
  user_link_.advance(now);
}

Part<bool> Server::ask_all(std::vector<std::string> commands, Take take,
                           std::uint64_t body_bytes_max, Duration patience) {
  if (!link_.is_connected() || !user_pipeline_.can_ask(commands.size())) co_return false;
  Round round{.take = std::move(take), .left = commands.size(), .is_whole = true, .waiting = {}};
  const bool is_in_tube = !commands.empty() && commands.front().starts_with("use ");
  for (std::size_t i = 0; i < commands.size(); ++i) {
    user_pipeline_.ask({.command = std::move(commands[i]),
                        .take =
                            [&round, i](const tool::Answer* answer) {
                              round.is_whole = round.is_whole && answer != nullptr;
                              if (answer != nullptr && round.take) round.take(i, *answer);
                              // Must come last, because it ends this round.
                              if (--round.left == 0) round.waiting.resume();
                            },
                        .body_bytes_max = body_bytes_max,
                        .patience = patience,
                        .followers = is_in_tube && i == 0 ? commands.size() - 1 : 0});
  }
  struct Rest {
    Round& round;
    bool await_ready() const { return round.left == 0; }
    void await_suspend(std::coroutine_handle<> handle) { round.waiting = handle; }
    void await_resume() const {}
  };
  co_await Rest{round};
  co_return round.is_whole;
}

Part<Server::Responses> Server::ask_together(std::vector<std::string> commands,
                                             std::uint64_t body_bytes_max, Duration patience) {
  std::vector<tool::Response> responses(commands.size());
  Take take = [&responses](std::size_t index, const tool::Answer& answer) {
    responses[index] = {answer.code, answer.number, std::string(answer.line),
                        std::string(answer.body)};
  };
  const bool is_there =
      co_await ask_all(std::move(commands), std::move(take), body_bytes_max, patience);
  if (!is_there) co_return std::nullopt;
  co_return Responses(std::move(responses));
}

Part<std::optional<tool::Response>> Server::ask(std::string command, std::uint64_t body_bytes_max,
                                                Duration patience) {
  std::vector<std::string> commands;
  commands.push_back(std::move(command));
  Responses responses = co_await ask_together(std::move(commands), body_bytes_max, patience);
  if (!responses) co_return std::nullopt;
  co_return std::optional<tool::Response>(std::move(responses->front()));
}

Observer::Observer(const std::vector<tool::Address>& addresses,
                   const std::vector<tool::Address>& targets, const SamplerOptions& options)
    : buffer_(kBufferBytes) {
  const std::span<char> buffer(buffer_);
  for (const tool::Address& address : addresses) servers_.emplace_back(address, options, buffer);
  for (const tool::Address& address : targets) targets_.emplace_back(address, options, buffer);
}

void Observer::open(os::Poller& poller) {
  for (Server& server : servers_) server.open(poller);
  for (Server& server : targets_) server.open(poller);
}

void Observer::close() {
  while (!waiting_.empty()) {
    const std::vector<Waiter> waiting = std::move(waiting_);
    waiting_.clear();
    for (const Waiter& waiter : waiting) waiter.handle.resume();
  }
  for (Server& server : servers_) server.close();
  for (Server& server : targets_) server.close();
}

Instant Observer::next_event() const {
  Instant next = Instant::never();
  for (const Server& server : servers_) next = std::min(next, server.next_event());
  for (const Server& server : targets_) next = std::min(next, server.next_event());
  for (const Waiter& waiter : waiting_) {
    next = std::min(next, waiter.holds ? waiter.until : Instant::at(0));
  }
  return next;
}

void Observer::advance(Instant now) {
  // Coroutines that wait again meanwhile wait for the next turn.
  std::vector<Waiter> waiting = std::move(waiting_);
  waiting_.clear();
  for (Waiter& waiter : waiting) {
    if (waiter.holds && !waiter.holds() && now < waiter.until) {
      waiting_.push_back(std::move(waiter));
    } else {
      waiter.handle.resume();
    }
  }
  for (Server& server : servers_) server.advance(now);
  for (Server& server : targets_) server.advance(now);
}

std::uint64_t Observer::changes() const {
  std::uint64_t sum = 0;
  for (const Server& server : servers_) sum += server.changes();
  return sum;
}

bool Observer::is_ready() const {
  return std::none_of(servers_.begin(), servers_.end(), [](const Server& server) {
    return server.facts().state == ServerState::unknown;
  });
}

Instant Observer::now() {
  return os::read_clock();
}

double Observer::wall_now() {
  return static_cast<double>(os::read_wall_clock()) / 1e9;
}

Server* Observer::find(std::string_view name) {
  for (Server& server : servers_) {
    if (server.facts().name == name) return &server;
  }
  return nullptr;
}

Server* Observer::find_target(std::string_view name) {
  for (std::deque<Server>* list : {&servers_, &targets_}) {
    for (Server& server : *list) {
      const std::string& own = server.facts().name;
      if (own == name || own == std::string(name).append(kUsualPort)) return &server;
    }
  }
  return nullptr;
}

}  // namespace haricot::web
