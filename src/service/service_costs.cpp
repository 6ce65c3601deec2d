// Commands that are known beforehand to be costly: all of a turn together get a part of it, and the
// rest waits for the next turn.
//
// Each session runs at least one command in a turn, so what one command takes is multiplied by the
// number of sessions that send it at once.

#include <algorithm>

#include "haricot/service/service.hpp"

namespace haricot {
namespace {

// What a page or a batch takes for each of its jobs or tubes, at most.
constexpr std::uint32_t kWorkPerShownJob = 2;
constexpr std::uint32_t kWorkPerShownTube = 4;
constexpr std::uint32_t kWorkPerBatchedJob = 2;

// A page or a batch of so few is like any other command: who asks for it waits for no long ones.
constexpr std::uint64_t kFew = 32;

std::uint32_t work_for_many(std::uint64_t number, std::uint32_t each) {
  return number <= kFew ? 1 : static_cast<std::uint32_t>(number) * each;
}

}  // namespace

// What a command will take, as far as that is known beforehand.
Service::Work Service::price_of(const Session& session, const Command& command) const {
  switch (command.verb) {
    case Verb::reserve:
    case Verb::reserve_with_timeout:
      // Looking through the tubes, and waiting on each.
      return 2 * engine_.reserve_steps(session.client_) / Session::kStepsPerWork;
    case Verb::reserve_batch: {
      // The same for each job, and the last one may come when the bound is nearly reached.
      const std::uint64_t steps = engine_.reserve_steps(session.client_);
      const std::uint64_t all =
          std::min<std::uint64_t>(command.bound * steps, Engine::kStepsPerBatch) + steps;
      const std::uint64_t jobs = std::min<std::uint64_t>(command.bound, engine_.counts().ready);
      return static_cast<Work>(all / Session::kStepsPerWork) +
             work_for_many(jobs, kWorkPerBatchedJob);
    }
    case Verb::delete_batch: {
      // As many as there are blanks between them, or fewer.
      const auto blanks = std::count(command.ids.begin(), command.ids.end(), ' ');
      return work_for_many(static_cast<std::uint64_t>(blanks) + 1, kWorkPerBatchedJob);
    }
    case Verb::scan_jobs: {
      const std::uint64_t jobs = engine_.jobs().size();
      const std::uint64_t shown = std::min<std::uint64_t>(command.bound, jobs);
      // Those of one tube may be far apart.
      const std::uint64_t passed_over =
          command.tube.empty() ? 0 : std::min<std::uint64_t>(jobs, Engine::kScanned);
      return static_cast<Work>(passed_over * 2 / Session::kStepsPerWork) +
             work_for_many(shown, kWorkPerShownJob);
    }
    case Verb::list_jobs:
      return work_for_many(std::min<std::uint64_t>(command.bound, engine_.jobs().size()),
                           kWorkPerShownJob);
    case Verb::stats_tubes:
      return work_for_many(std::min(command.bound, engine_.tubes().size()), kWorkPerShownTube);
    case Verb::list_tubes:
      // Every page is looked at when the list begins, and again when it is sent.
      return engine_.tubes().size() / TubeList::kTubesPerPage / 2;
    case Verb::put:
      return engine_.offer_steps(session.client_.used()) / Session::kStepsPerWork;
    case Verb::release:
    case Verb::kick_job:
      return engine_.offer_steps(command.id) / Session::kStepsPerWork;
    case Verb::delete_job:
    case Verb::bury:
      return 1 + engine_.next_of_lane_steps(command.id) / Session::kStepsPerWork;
    default:
      return 1;
  }
}

// Whether the command was put off to a later turn: then it stays where it is. If not, it draws on
// what the costly ones of the turn have. The first costly one of a turn always runs.
bool Service::put_off_or_pay(Session& session, const Command& command, Work& work) {
  const Work price = price_of(session, command);
  const bool is_costly = price > Session::kCostlyWork;
  const bool is_too_costly =
      is_costly && price > costly_work_ && costly_work_ < Session::kCostlyWorkPerTurn;
  // An answer that is held back may be taken back, and a list in pieces could not be.
  if (is_too_costly || (session.is_held_back_ && is_long_list(session, command))) {
    session.is_put_off_ = true;
    costly_put_off_ = true;
    work = 0;
    return true;
  }
  if (is_costly) costly_work_ -= std::min(price, costly_work_);
  return false;
}

}  // namespace haricot
