// /api/actions: changes of a server by users.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

enum class Action : std::uint8_t { kick, kick_job, pause, bury, delete_jobs, flush, move, put };
std::string_view name_of(Action action);

struct ActionRequest {
  static constexpr std::size_t kIdsMax = 1000;
  static constexpr std::size_t kIdsLogged = 50;

  std::string server;
  Action action = Action::kick;
  std::string tube;                // For kick, pause, flush and put.
  std::string to;                  // For move.
  std::string state;               // For flush; empty for ready, delayed and buried.
  std::vector<std::uint64_t> ids;  // For kick-job, bury, delete and move.
  std::uint64_t count = 0;         // For kick.
  std::uint64_t seconds = 0;       // For pause.
  std::uint64_t priority = 1024;   // For put, like the next three.
  std::uint64_t delay = 0;
  std::uint64_t ttr = 60;
  std::string body;

  // Returns nothing and sets `error` if the request is invalid.
  static std::optional<ActionRequest> read(std::string_view json, std::string& error);
  // Returns the parameters for the log: "tube=mail count=10", "jobs=2 ids=7,9".
  std::string log_text() const;
};

Task answer_action(Observer& observer, std::shared_ptr<Exchange> exchange);

}  // namespace haricot::web
