#include "tool/top/server_watch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "os/clock.hpp"
#include "tool/client/list_page.hpp"

namespace haricot::tool {

ServerWatch::ServerWatch(Address address, std::vector<std::string> patterns, Duration patience)
    : patterns_(std::move(patterns)), server_(std::move(address), patience) {
  request_.take = AnswerHandler::to<&ServerWatch::take_answer>(*this);
  request_.patience = patience;
}

void ServerWatch::ask() {
  began_ = os::read_clock();
  round_.emplace(patterns_);
  if (!server_.is_open()) {
    server_.link().open(std::min(request_.patience, kConnectPatience), began_);
  }
  ask_next();
}

void ServerWatch::ask_next() {
  request_.commands = round_->commands();
  request_.answers = round_->answers();
  server_.link().pipeline().ask(request_);
}

void ServerWatch::take_answer(Request& /*request*/, const Answer* answer) {
  if (answer != nullptr) round_->take(*answer);
}

std::optional<Finding> ServerWatch::take() {
  const Instant now = os::read_clock();
  server_.link().advance(now);
  if (!is_asking() || request_.is_pending()) return std::nullopt;
  const bool is_good =
      server_.is_open() ? round_->proceed(server_) : server_.fail_by_loss(round_->name());
  if (is_good && !round_->is_over()) {
    ask_next();
    return std::nullopt;
  }
  Finding finding{.sample = {}, .failure = {}, .cost = now - began_};
  if (is_good) {
    finding.sample = std::move(round_->sample());
  } else {
    finding.failure = server_.failure();
    server_.close();
  }
  round_.reset();
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
