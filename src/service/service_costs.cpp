// Commands that cost much, as far as that is known before they run: all of a turn share an amount,
// and what goes beyond it waits for the next turn.

#include <algorithm>
#include <cstdint>

#include "haricot/service/service.hpp"

namespace haricot {

// What a command will take, as far as that is known beforehand.
Service::Work Service::price_of(const Session& session, const Command& command) const {
  switch (command.verb) {
    case Verb::reserve:
    case Verb::reserve_with_timeout:
      // Looking through the tubes, and waiting on each.
      return 2 * engine_.reserve_steps(session.client_) / kStepsPerWork;
    case Verb::reserve_batch: {
      // The same for each job, and the last one may come when the bound is nearly reached.
      const std::uint64_t steps = engine_.reserve_steps(session.client_);
      const std::uint64_t all =
          std::min<std::uint64_t>(command.bound * steps, Engine::kStepsPerBatch) + steps;
      return static_cast<Work>(all / kStepsPerWork);
    }
    case Verb::list_tubes:
      // Every page is looked at when the list begins, and again when it is sent.
      return engine_.tubes().size() / TubeList::kTubesPerPage / 2;
    case Verb::put:
      return engine_.offer_steps(session.client_.used()) / kStepsPerWork;
    case Verb::release:
    case Verb::kick_job:
      return engine_.offer_steps(command.id) / kStepsPerWork;
    default:
      return 1;
  }
}

// Whether a command has to wait for a later turn. The first costly one of a turn always runs.
bool Service::is_put_off(const Session& session, const Command& command) const {
  // An answer that is held back may be taken back, and a list in pieces could not be.
  if (session.is_held_back_ && is_long_list(session, command)) return true;
  const Work price = price_of(session, command);
  return price > Session::kCostlyWork && price > costly_work_ &&
         costly_work_ < Session::kCostlyWorkPerTurn;
}

void Service::pay_if_costly(const Session& session, const Command& command) {
  const Work price = price_of(session, command);
  if (price > Session::kCostlyWork) costly_work_ -= std::min(price, costly_work_);
}

}  // namespace haricot
