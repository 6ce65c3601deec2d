#include "tool/top/details.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "os/clock.hpp"
#include "tool/client/client_list.hpp"

namespace haricot::tool {
namespace {

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
