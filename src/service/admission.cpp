#include "haricot/service/admission.hpp"

#include <string_view>

#include "haricot/base/check.hpp"

namespace haricot {

TurnShares::TurnShares(const std::uint64_t& steps)
    : steps_(steps),
      budget_(steps, turn_limits::kStepsOfReading),
      whole_(turn_limits::kStepsOfReading),
      read_share_(turn_limits::kStepsPerShare),
      left_for_firsts_(turn_limits::kStepsOfFirsts) {}

void TurnShares::begin_reading(bool has_backlog) {
  budget_ = Budget(steps_, turn_limits::kStepsOfReading);
  whole_ = turn_limits::kStepsOfReading;
  left_for_firsts_ = turn_limits::kStepsOfFirsts;
  read_share_ = has_backlog ? turn_limits::kStepsPerShareMin : steps_per_share();
}

void TurnShares::begin_backlog() {
  budget_ = Budget(steps_, turn_limits::kStepsOfSessions);
  whole_ = turn_limits::kStepsOfSessions;
  is_first_command_ = false;
}

bool TurnShares::admit(std::uint64_t price) {
  const std::uint64_t left = budget_.left();
  if (price <= turn_limits::kStepsOfCheap || price <= left || left == whole_) return true;
  if (!is_first_command_ ||
      price > std::min<std::uint64_t>(turn_limits::kStepsOfFirst, left_for_firsts_)) {
    return false;
  }
  left_for_firsts_ -= price;
  return true;
}

// Requires: the whole share of each would exceed the budget, so no share needs an upper bound.
std::uint32_t TurnShares::steps_per_share(std::uint32_t busy) {
  return std::max(turn_limits::kStepsOfSessions / busy,
                  turn_limits::kStepsPerShareMin + turn_limits::kStepsPerSend) -
         turn_limits::kStepsPerSend;
}

// The functions that the price column of command_rows.inc names. A price is proportional to the
// number of elements that the command touches.
namespace prices {
namespace {

std::uint64_t cheap(const Engine&, const Client&, const Command&) {
  return 0;
}

// Returns the price of notifying clients with many watches of changes to `tubes` tubes, if each of
// the clients watches all of them. Bounded by the steps that a command runs without a break.
std::uint64_t watchers(std::uint64_t tubes, std::uint64_t clients, std::uint64_t each) {
  return std::min<std::uint64_t>(tubes * clients * each, turn_limits::kStepsOfBatch);
}

std::uint64_t put(const Engine& engine, const Client& client, const Command&) {
  return price_of_put(engine, client);
}

std::uint64_t reserve(const Engine& engine, const Client& client, const Command&) {
  return engine.watching().reserve_steps(client);
}

// Adds the steps of one job to the bound, which may be nearly reached before the last job.
std::uint64_t reserve_batch(const Engine& engine, const Client& client, const Command& command) {
  const std::uint64_t steps = engine.watching().reserve_steps(client);
  const std::uint64_t bound = command.bound;
  return std::min<std::uint64_t>(bound * steps, Engine::kStepsPerBatch) + steps +
         std::min<std::uint64_t>(bound, engine.counts().ready) * 2 * turn_limits::kStepsPerJob;
}

// Counts blanks: the line has at most one job more.
std::uint64_t delete_batch(const Engine& engine, const Client&, const Command& command) {
  const std::string_view ids = command.ids;
  const auto jobs = static_cast<std::uint64_t>(std::count(ids.begin(), ids.end(), ' ')) + 1;
  return jobs * 2 * turn_limits::kStepsPerJob +
         watchers(jobs, engine.watching().clients_with_many(), turn_limits::kStepsPerJob);
}

// Includes the jobs of other tubes that the scan skips.
std::uint64_t scan_jobs(const Engine& engine, const Client&, const Command& command) {
  const std::uint64_t jobs = engine.jobs().size();
  const std::uint64_t passed_over =
      command.tube.empty() ? 0 : std::min<std::uint64_t>(jobs, Queries::kScanned);
  return passed_over * 2 +
         std::min<std::uint64_t>(command.bound, jobs) * turn_limits::kStepsPerShownJob;
}

// Includes a piece of the search for reserved jobs.
std::uint64_t list_jobs(const Engine& engine, const Client&, const Command& command) {
  const bool is_search = command.state == StateWord::reserved;
  return std::min<std::uint64_t>(command.bound, engine.jobs().size()) *
             turn_limits::kStepsPerShownJob +
         (is_search ? turn_limits::kStepsPerPiece : 0);
}

// Includes free references that the scan skips.
std::uint64_t list_clients(const Engine& engine, const Client&, const Command& command) {
  const auto shown = std::min<std::uint64_t>(command.bound, engine.counts().clients);
  return Queries::kScanned / Queries::kRefsPerStep + shown * turn_limits::kStepsPerShownClient;
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

// Counts each page twice: when the list begins, and when it is sent.
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

std::uint64_t price_of(const Engine& engine, const Client& client, const Command& command) {
  switch (command.verb) {
#define HARICOT_COMMAND(verb, word, arguments, counter, set, price, ...) \
  case Verb::verb:                                                       \
    return prices::price(engine, client, command);
#include "haricot/protocol/command_rows.inc"
  }
  CHECK(false);
  return 0;
}

std::uint64_t price_of_put(const Engine& engine, const Client& client) {
  return engine.watching().offer_steps(client.used());
}

}  // namespace haricot
