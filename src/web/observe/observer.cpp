#include "web/observe/observer.hpp"

#include <algorithm>
#include <utility>

#include "os/clock.hpp"

namespace haricot::web {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr std::string_view kUsualPort = ":11300";

// Larger than any useful report or body: the names of 100,000 tubes take 20 MB at most.
constexpr std::uint64_t kBodyBytesMax = 32 * 1024 * 1024;

// Awaitable for the answers to a request. Returns false if the connection was lost.
struct Answers {
  tool::Request request;
  tool::Pipeline& pipeline;
  const Server::Take& take;
  std::size_t first;  // Index of the first command.
  bool was_lost = false;
  std::coroutine_handle<> waiting = {};

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    waiting = handle;
    request.take = tool::AnswerHandler::to<&Answers::receive>(*this);
    pipeline.ask(request);
  }
  bool await_resume() const { return !was_lost; }

  void receive(tool::Request& /*request*/, const tool::Answer* answer) {
    was_lost = answer == nullptr;
    if (!was_lost && take) take(first + request.answered, *answer);
    // Must come last, because it ends this object.
    if (!request.is_pending()) waiting.resume();
  }
};

}  // namespace

Server::Server(tool::Address address, const SamplerOptions& options, std::span<char> buffer)
    : address_(std::move(address)),
      link_(KeptLink::Kind::permanent, address_, buffer,
            {.opened = [this](Instant now) { sampler_.restart(now); },
             .lost = [this](Instant now, const std::string& why) { lost(now, why); }}),
      sampler_(link_.pipeline(), facts_, options),
      user_link_(KeptLink::Kind::on_demand, address_, buffer, {}) {
  facts_.name = address_.name();
}

void Server::open(os::Poller& poller) {
  link_.open(poller);
  user_link_.open(poller);
}

void Server::close() {
  link_.close();
  user_link_.close();
}

void Server::lost(Instant now, const std::string& reason) {
  sampler_.stop();
  ++losses_;
  facts_.go_down(reason, now);
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
  if (!link_.is_connected() || user_commands_ + commands.size() > kCommandsMax) co_return false;
  user_commands_ += commands.size();
  const bool is_in_tube = !commands.empty() && commands.front().starts_with("use ");
  const std::size_t at_once = is_in_tube ? commands.size() : KeptLink::kAnswersMax;
  bool is_whole = true;
  for (std::size_t first = 0; is_whole && first < commands.size(); first += at_once) {
    const std::size_t count = std::min(at_once, commands.size() - first);
    std::string text = std::move(commands[first]);
    const std::size_t first_bytes = text.size();
    for (std::size_t i = 1; i < count; ++i) text += commands[first + i];
    Answers answers{.request = {.commands = text,
                                .answers = count,
                                .patience = patience,
                                .body_bytes_max = std::min(body_bytes_max, kBodyBytesMax),
                                .gate_bytes = is_in_tube && count > 1 ? first_bytes : 0},
                    .pipeline = user_link_.pipeline(),
                    .take = take,
                    .first = first};
    is_whole = co_await answers;
  }
  user_commands_ -= commands.size();
  co_return is_whole;
}

Part<Server::Responses> Server::ask_together(std::vector<std::string> commands,
                                             std::uint64_t body_bytes_max, Duration patience) {
  std::vector<tool::Response> responses(commands.size());
  Take take = [&responses](std::size_t index, const tool::Answer& answer) {
    responses[index] = tool::copy_of(answer);
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
