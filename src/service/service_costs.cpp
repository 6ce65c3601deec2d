// Prices of commands: how many steps a command takes at most, as far as that is known beforehand. A
// command whose price exceeds what is left for all sessions waits for its turn in the backlog.
//
// Each session that was just read runs at least one cheap command in a turn, so the steps of one
// command are multiplied by the number of sessions that send it at once.

#include <algorithm>
#include <string_view>

#include "haricot/base/turn_limits.hpp"
#include "haricot/service/service.hpp"

namespace haricot {

// One function for each name in the price column of command_rows.inc. A price is in steps, and it
// grows with what the command touches, from the first thing on.
namespace prices {
namespace {

std::uint64_t cheap(const Engine&, const Client&, const Command&) {
  return 0;
}

// Returns what notifying clients with many watches adds to a change of so many tubes, all of which
// these clients may watch: at most about as much as is done in one go.
std::uint64_t watchers(std::uint64_t tubes, std::uint64_t clients, std::uint64_t each) {
  return std::min<std::uint64_t>(tubes * clients * each, turn_limits::kStepsOfBatch);
}

std::uint64_t put(const Engine& engine, const Client& client, const Command&) {
  return engine.watching().offer_steps(client.used());
}

std::uint64_t reserve(const Engine& engine, const Client& client, const Command&) {
  return engine.watching().reserve_steps(client);
}

// The last job of a batch may come when the bound is nearly reached.
std::uint64_t reserve_batch(const Engine& engine, const Client& client, const Command& command) {
  const std::uint64_t steps = engine.watching().reserve_steps(client);
  const std::uint64_t bound = command.bound;
  return std::min<std::uint64_t>(bound * steps, Engine::kStepsPerBatch) + steps +
         std::min<std::uint64_t>(bound, engine.counts().ready) * 2 * turn_limits::kStepsPerJob;
}

// The line names at most one job more than it has blanks.
std::uint64_t delete_batch(const Engine& engine, const Client&, const Command& command) {
  const std::string_view ids = command.ids;
  const auto jobs = static_cast<std::uint64_t>(std::count(ids.begin(), ids.end(), ' ')) + 1;
  return jobs * 2 * turn_limits::kStepsPerJob +
         watchers(jobs, engine.watching().clients_with_many(), turn_limits::kStepsPerJob);
}

// The jobs of one tube may be far apart.
std::uint64_t scan_jobs(const Engine& engine, const Client&, const Command& command) {
  const std::uint64_t jobs = engine.jobs().size();
  const std::uint64_t passed_over =
      command.tube.empty() ? 0 : std::min<std::uint64_t>(jobs, Looks::kScanned);
  return passed_over * 2 +
         std::min<std::uint64_t>(command.bound, jobs) * turn_limits::kStepsPerShownJob;
}

std::uint64_t list_jobs(const Engine& engine, const Client&, const Command& command) {
  return std::min<std::uint64_t>(command.bound, engine.jobs().size()) *
         turn_limits::kStepsPerShownJob;
}

// The clients of a page may be far apart.
std::uint64_t list_clients(const Engine& engine, const Client&, const Command& command) {
  const auto shown = std::min<std::uint64_t>(command.bound, engine.counts().clients);
  return Looks::kScanned / Looks::kRefsPerStep + shown * turn_limits::kStepsPerShownClient;
}

std::uint64_t stats_tubes(const Engine& engine, const Client&, const Command& command) {
  const auto shown = std::min<std::uint64_t>(command.bound, engine.tubes().size());
  return shown * turn_limits::kStepsPerShownTube +
         watchers(shown, engine.watching().clients_with_many(), 1);
}

std::uint64_t tube_report(const Engine& engine, const Client&, const Command& command) {
  const Tube* tube = engine.find_tube(command.tube);
  return tube == nullptr ? 0 : tube->many_watchers;
}

// Every page is checked when the list begins, and again when it is sent.
std::uint64_t list_tubes(const Engine& engine, const Client&, const Command&) {
  const std::uint64_t tubes = engine.tubes().size();
  return 2 * tubes / TubeList::kTubesPerPage +
         turn_limits::kStepsPerName * std::min<std::uint64_t>(tubes, TubeList::kTubesPerPage);
}

std::uint64_t watch(const Engine&, const Client& client, const Command&) {
  return Watching::watch_steps(client);
}

std::uint64_t ignore(const Engine&, const Client& client, const Command&) {
  return Watching::ignore_steps(client);
}

std::uint64_t tube_change(const Engine& engine, const Client&, const Command& command) {
  const Tube* tube = engine.find_tube(command.tube);
  return tube == nullptr ? 0 : engine.watching().offer_steps(*tube);
}

std::uint64_t offer_of_job(const Engine& engine, const Client&, const Command& command) {
  return engine.offer_steps(command.id);
}

std::uint64_t lane_of_job(const Engine& engine, const Client&, const Command& command) {
  return engine.next_of_lane_steps(command.id);
}

}  // namespace
}  // namespace prices

std::uint64_t Service::price_of(const Session& session, const Command& command) const {
  switch (command.verb) {
#define HARICOT_COMMAND(verb, word, arguments, counter, set, price, ...) \
  case Verb::verb:                                                       \
    return prices::price(engine_, session.client_, command);
#include "haricot/protocol/command_rows.inc"
  }
  return 0;
}

// Returns true if the command has to wait; the command then stays where it is. The first command
// that is counted in a part of the turn never waits.
bool Service::put_off(Session& session, const Command& command) {
  const Answer answer = row_of(command.verb).answer;
  const bool begins_page = answer == Answer::page || answer == Answer::tubes_in_pieces;
  if (begins_page && pages_to_begin() == 0) {
    wait_for_memory(session);
    return true;
  }
  const std::uint64_t price = price_of(session, command);
  const bool fits = price <= turn_limits::kStepsOfCheap || price <= commands_.left() ||
                    commands_.left() == commands_whole_;
  if (!fits) {
    const bool is_short =
        price <= std::min<std::uint64_t>(turn_limits::kStepsOfFirst, left_for_firsts_);
    if (!is_short || !is_first_) {
      wait_in_backlog(session, Stopped::put_off);
      return true;
    }
    left_for_firsts_ -= price;
  }
  // An answer that is held back may be taken back, and a list in pieces could not be. The session
  // goes on when its answers are safe.
  if (session.is_held_back_ && is_long_list(session, command)) {
    session.stopped_ = Stopped::held_back;
    return true;
  }
  if (begins_page) begin_page(session);
  return false;
}

}  // namespace haricot
