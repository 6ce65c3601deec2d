// What commands cost, as far as that is known beforehand. A command that costs more than what is
// left for all sessions waits for its turn in the backlog.
//
// Each session that was just read runs at least one cheap command in a turn, so what one command
// takes is multiplied by the number of sessions that send it at once.

#include <algorithm>
#include <string_view>

#include "haricot/base/turn_limits.hpp"
#include "haricot/service/service.hpp"

namespace haricot {
namespace {

// A page with so many of them, which may be far apart.
std::uint64_t price_of_clients(std::uint64_t shown) {
  return Looks::kScanned / Looks::kRefsPerStep + shown * turn_limits::kStepsPerShownClient;
}

// Those of one tube may be far apart.
std::uint64_t price_of_scan(const Command& scan, std::uint64_t jobs) {
  const std::uint64_t passed_over =
      scan.tube.empty() ? 0 : std::min<std::uint64_t>(jobs, Looks::kScanned);
  return passed_over * 2 +
         std::min<std::uint64_t>(scan.bound, jobs) * turn_limits::kStepsPerShownJob;
}

// What those with many watches add to something about so many tubes, which all of them may watch:
// about as much as it does in one go.
std::uint64_t price_of_watchers(std::uint64_t tubes, std::uint64_t clients, std::uint64_t each) {
  return std::min<std::uint64_t>(tubes * clients * each, turn_limits::kStepsOfBatch);
}

// A page with so many of them.
std::uint64_t price_of_tubes(std::uint64_t shown, std::uint64_t with_many) {
  return shown * turn_limits::kStepsPerShownTube + price_of_watchers(shown, with_many, 1);
}

// To delete so many: as many as there are blanks between them, or fewer.
std::uint64_t price_of_ids(std::string_view ids, std::uint64_t with_many) {
  const auto blanks = static_cast<std::uint64_t>(std::count(ids.begin(), ids.end(), ' '));
  return (blanks + 1) * 2 * turn_limits::kStepsPerJob +
         price_of_watchers(blanks + 1, with_many, turn_limits::kStepsPerJob);
}

}  // namespace

// In steps. It grows with what is touched, from the first thing on.
std::uint64_t Service::price_of(const Session& session, const Command& command) const {
  const Client& client = session.client_;
  const std::uint64_t jobs = engine_.jobs().size();
  const std::uint64_t tubes = engine_.tubes().size();
  const std::uint64_t bound = command.bound;
  const std::uint64_t with_many = engine_.watching().clients_with_many();
  switch (command.verb) {
    case Verb::reserve:
    case Verb::reserve_with_timeout:
    case Verb::reserve_with_abort:
      return engine_.watching().reserve_steps(client);
    case Verb::reserve_batch: {
      // The same for each job, and the last one may come when the bound is nearly reached.
      const std::uint64_t steps = engine_.watching().reserve_steps(client);
      return std::min<std::uint64_t>(bound * steps, Engine::kStepsPerBatch) + steps +
             std::min<std::uint64_t>(bound, engine_.counts().ready) * 2 * turn_limits::kStepsPerJob;
    }
    case Verb::delete_batch:
      return price_of_ids(command.ids, with_many);
    case Verb::scan_jobs:
      return price_of_scan(command, jobs);
    case Verb::list_jobs:
      return std::min(bound, jobs) * turn_limits::kStepsPerShownJob;
    case Verb::list_clients:
      return price_of_clients(std::min<std::uint64_t>(bound, engine_.counts().clients));
    case Verb::stats_tubes:
      return price_of_tubes(std::min(bound, tubes), with_many);
    case Verb::stats_tube:
    case Verb::stats_tube_detail: {
      const Tube* tube = engine_.find_tube(command.tube);
      return tube == nullptr ? 0 : tube->many_watchers;
    }
    case Verb::list_tubes:
      // Every page is looked at when the list begins, and again when it is sent.
      return 2 * tubes / TubeList::kTubesPerPage +
             turn_limits::kStepsPerName * std::min<std::uint64_t>(tubes, TubeList::kTubesPerPage);
    case Verb::watch:
    case Verb::watch_by_weight:
      return Watching::watch_steps(client);
    case Verb::ignore:
      return Watching::ignore_steps(client);
    case Verb::put:
      return engine_.watching().offer_steps(client.used());
    case Verb::flush_tube:
    case Verb::flush_buried:
    case Verb::pause_tube: {
      const Tube* tube = engine_.find_tube(command.tube);
      return tube == nullptr ? 0 : engine_.watching().offer_steps(*tube);
    }
    case Verb::release:
    case Verb::reserve_job:
    case Verb::kick_job:
      return engine_.offer_steps(command.id);
    case Verb::delete_job:
    case Verb::bury:
      return engine_.next_of_lane_steps(command.id);
    default:
      return 0;
  }
}

// Whether the command has to wait: then it stays where it is. The first one that is counted in a
// part of the turn never does.
bool Service::put_off(Session& session, const Command& command) {
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
  if (!session.is_held_back_ || !is_long_list(session, command)) return false;
  session.stopped_ = Stopped::held_back;
  return true;
}

}  // namespace haricot
