// What an action is to do: the body of the request, checked.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::web {

enum class Action : std::uint8_t { kick, kick_job, pause, bury, delete_jobs, flush, move, put };
std::string_view name_of(Action action);

struct ActionRequest {
  static constexpr std::size_t kIdsMax = 1000;
  static constexpr std::size_t kIdsLogged = 50;

  std::string server;
  Action action = Action::kick;
  std::string tube;                // Of kick, pause, flush and put.
  std::string to;                  // Of move.
  std::string state;               // Of flush; empty: ready, delayed and buried.
  std::vector<std::uint64_t> ids;  // Of kick-job, bury, delete and move.
  std::uint64_t count = 0;         // Of kick.
  std::uint64_t seconds = 0;       // Of pause.
  std::uint64_t priority = 1024;   // This and what follows: of put.
  std::uint64_t delay = 0;
  std::uint64_t ttr = 60;
  std::string body;

  // Nothing: `error` says what is wrong with it.
  static std::optional<ActionRequest> read(std::string_view json, std::string& error);
  // For the log: "tube=mail count=10", "jobs=2 ids=7,9".
  std::string words() const;
};

}  // namespace haricot::web
