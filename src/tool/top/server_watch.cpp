#include "tool/top/server_watch.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

#include "os/clock.hpp"
#include "tool/client/list_page.hpp"

namespace haricot::tool {
namespace {

void notify(const os::Descriptor& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = ::write(event.get(), &one, sizeof one);
}

}  // namespace

ServerWatch::ServerWatch(Address address, std::vector<std::string> patterns, Duration patience)
    : address_(std::move(address)), patterns_(std::move(patterns)), patience_(patience) {}

ServerWatch::~ServerWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  notify(stopping_);
  thread_.join();
}

bool ServerWatch::start(std::string& error) {
  ready_ = os::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  stopping_ = os::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // Blocks signals: the owner handles them, together with the terminal.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_good = ready_ && stopping_;
  try {
    if (is_good) thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    is_good = false;
    errno = EAGAIN;
  }
  const int reason = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!is_good) error = std::string("cannot watch a server: ") + std::strerror(reason);
  return is_good;
}

void ServerWatch::ask() {
  is_asking_ = true;
  {
    const std::lock_guard lock(mutex_);
    is_wanted_ = true;
  }
  changed_.notify_one();
}

std::optional<Finding> ServerWatch::take() {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t count = ::read(ready_.get(), &ignored, sizeof ignored);
  const std::lock_guard lock(mutex_);
  if (finding_) is_asking_ = false;
  return std::exchange(finding_, std::nullopt);
}

void ServerWatch::run() {
  Remote server(address_, patience_);
  server.also_watch({stopping_.get()}, [] { return false; });
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_wanted_ || is_over_; });
      if (is_over_) return;
      is_wanted_ = false;
    }
    Finding finding = find_out(server);
    {
      const std::lock_guard lock(mutex_);
      finding_ = std::move(finding);
    }
    notify(ready_);
  }
}

Finding ServerWatch::find_out(Remote& server) {
  const Instant begin = os::read_clock();
  Finding finding;
  Sample sample;
  if (!server.is_open()) {
    server.set_patience(std::min(patience_, kConnectPatience));
    if (server.open()) server.set_patience(patience_);
  }
  if (server.is_open() && take_sample(server, patterns_, sample)) {
    finding.sample = std::move(sample);
  } else {
    finding.failure = server.failure();
    server.close();
  }
  finding.cost = os::read_clock() - begin;
  return finding;
}

namespace {

bool list_jobs(Remote& server, const std::string& tube, std::size_t count, NextJobs& found) {
  std::string commands;
  for (const std::string_view state : kSeenStates) {
    commands +=
        "list-jobs " + tube + " " + std::string(state) + " " + std::to_string(count) + "\r\n";
  }
  std::size_t next = 0;
  std::string odd;
  const auto take = [&](const Answer& answer) {
    std::vector<StatsText>& jobs = found.jobs[next++];
    if (answer.code == ReplyCode::not_found) return;  // The tube was deleted meanwhile.
    std::optional<JobPage> page;
    if (answer.code == ReplyCode::ok) page = parse_job_page(answer.body);
    if (page) {
      jobs = std::move(page->jobs);
    } else {
      odd = answer.line;
    }
  };
  if (!server.ask("list-jobs", commands, kSeenStates.size(), take)) return false;
  if (!odd.empty()) server.refuse("list-jobs", ReplyCode::none, odd);
  return odd.empty();
}

struct Peeked {
  std::uint64_t id = 0;
  std::size_t bytes = 0;
};

bool peek_jobs(Remote& server, const std::string& tube, NextJobs& found) {
  // Return to `default` afterwards: using a tube keeps it alive as long as the screen is shown.
  std::string commands = "use " + tube + "\r\n";
  for (const std::string_view state : kSeenStates)
    commands += "peek-" + std::string(state) + "\r\n";
  commands += "use default\r\n";
  std::array<std::optional<Peeked>, kSeenStates.size()> peeked;
  std::size_t next = 0;
  std::string odd;
  const auto take = [&](const Answer& answer) {
    const std::size_t i = next++;
    const bool is_peek = i > 0 && i <= kSeenStates.size();
    if (is_peek && answer.code == ReplyCode::found) {
      peeked[i - 1] = {answer.number, answer.body.size()};
    } else if (answer.code != (is_peek ? ReplyCode::not_found : ReplyCode::now_using)) {
      odd = answer.line;
    }
  };
  if (!server.ask("peek", commands, kSeenStates.size() + 2, take)) return false;
  if (!odd.empty()) {
    server.refuse("peek", ReplyCode::none, odd);
    return false;
  }
  for (std::size_t i = 0; i < kSeenStates.size(); ++i) {
    if (!peeked[i]) continue;
    const auto response = server.ask("stats-job " + std::to_string(peeked[i]->id), ReplyCode::ok);
    if (!response) return false;
    if (response->code == ReplyCode::not_found) continue;  // Deleted meanwhile.
    std::optional<StatsText> job =
        StatsText::parse(response->body + "bytes: " + std::to_string(peeked[i]->bytes) + "\n");
    // A worker may have reserved it meanwhile.
    const std::string* state = job ? job->find("state") : nullptr;
    if (state != nullptr && *state == kSeenStates[i]) found.jobs[i].push_back(std::move(*job));
  }
  return true;
}

// Returns the abilities of the server, none if it does not know the command `capabilities`. Returns
// nothing if the server failed; server.failure() has the reason.
std::optional<Abilities> ask_abilities(Remote& server) {
  const std::optional<Response> response = server.ask("capabilities");
  if (!response) return std::nullopt;
  Abilities abilities;
  if (response->code != ReplyCode::ok) return abilities;
  const std::vector<std::string> words =
      parse_list(response->body).value_or(std::vector<std::string>{});
  const auto has = [&words](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  abilities.lists_jobs = has("list-jobs");
  abilities.lists_clients = has("list-clients");
  abilities.flushes = has("flush-tube");
  return abilities;
}

// Asks for at most `count` jobs of each state. Leaves the connection using the tube `default`.
// Returns false if the server failed. Requires: the tube existed just before.
bool ask_next_jobs(Remote& server, const Abilities& abilities, const std::string& tube,
                   std::size_t count, NextJobs& found) {
  found = {.tube = tube, .jobs = {}, .is_first_only = !abilities.lists_jobs};
  return abilities.lists_jobs ? list_jobs(server, tube, std::max<std::size_t>(count, 1), found)
                              : peek_jobs(server, tube, found);
}

// Time limit for one server, because the others are not asked meanwhile.
constexpr auto kDetailPatience = Duration::seconds(2);

}  // namespace

Details::Details(Errand& errand, const TopView& view)
    : errand_(errand), view_(view), has_abilities_(errand.servers().size(), false) {}

Duration Details::ask(std::size_t index, std::size_t jobs, TopState& state) {
  const bool needs_clients = view_.clients.is_shown;
  const bool needs_jobs = !needs_clients && !view_.tube.empty();
  if (!needs_clients && !needs_jobs && !view_.allows_changes) return {};
  const Instant begin = os::read_clock();
  Remote& server = errand_.servers()[index];
  server.set_patience(std::min(errand_.patience(), kDetailPatience));
  if (!server.is_open()) has_abilities_[index] = false;
  bool is_good = server.is_open() || server.open();
  if (is_good && !has_abilities_[index]) {
    const std::optional<Abilities> abilities = ask_abilities(server);
    is_good = abilities.has_value();
    has_abilities_[index] = is_good;
    if (is_good) state.abilities = *abilities;
  }
  if (is_good && needs_clients) is_good = ask_for_clients(server, state);
  if (is_good && needs_jobs) is_good = ask_for_jobs(server, jobs, state);
  if (!is_good) state.trouble = server.failure().reason;
  return os::read_clock() - begin;
}

bool Details::ask_for_jobs(Remote& server, std::size_t count, TopState& state) {
  const std::string tube = view_.tube;
  const bool is_there = std::any_of(state.sample.tubes.begin(), state.sample.tubes.end(),
                                    [&tube](const TubeStats& each) { return each.name == tube; });
  if (!is_there) return true;
  NextJobs jobs;
  if (!ask_next_jobs(server, state.abilities, tube, count, jobs)) return false;
  state.jobs = std::move(jobs);
  return true;
}

bool Details::ask_for_clients(Remote& server, TopState& state) {
  SeenClients seen{.can_be_listed = state.abilities.lists_clients, .clients = {}};
  const auto take = [this, &seen](ListPage& page) {
    std::move(page.items.begin(), page.items.end(), std::back_inserter(seen.clients));
    return view_.clients.is_shown;
  };
  if (seen.can_be_listed && !ask_clients(server, 1, kPageItemsMax, take)) return false;
  state.clients = std::move(seen);
  return true;
}

}  // namespace haricot::tool
