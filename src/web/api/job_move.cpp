#include "web/api/job_move.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "tool/client/put_tags.hpp"
#include "web/api/jobs.hpp"

namespace haricot::web {
namespace {

// A job with a larger body is not moved: its body has to fit into the memory of this program.
constexpr std::uint64_t kBodyBytesMax = 64 * 1024 * 1024;

// Sends the commands of a move. Returns nothing if the server was lost.
Part<Server::Responses> ask(Server& server, std::vector<std::string> commands) {
  const std::size_t wanted = commands.size();
  // The connection is shared, so return to the default tube at once.
  if (commands.front().starts_with("use ")) commands.emplace_back("use default\r\n");
  Server::Responses told = co_await server.ask_together(std::move(commands), kBodyBytesMax);
  if (told) told->resize(wanted);
  co_return told;
}

}  // namespace

Part<std::optional<Moved>> move_job(Server& server, std::uint64_t id, std::string to) {
  using Outcome = tool::JobMove::Outcome;
  const MaybeJob job = co_await ask_job(server, id);
  if (!job) co_return std::nullopt;
  if (!*job) co_return Moved{.outcome = Outcome::gone};
  const std::string* tube = (*job)->find("tube");
  if (tube == nullptr) co_return Moved{.outcome = Outcome::gone};
  if (*tube == to)
    co_return Moved{.message = "job " + std::to_string(id) + " is already in this tube"};
  tool::JobMove move(id, *tube, std::move(to), tool::tags_of(**job), tool::kAllPlaces);
  while (!move.is_over()) {
    const Server::Responses told = co_await ask(server, move.commands());
    if (!told) co_return std::nullopt;
    move.take(*told);
  }
  Moved moved{.outcome = move.outcome()};
  if (const auto& refused = move.refused()) {
    moved.outcome = Outcome::stayed;
    moved.message = std::string(refused->command) + " was answered: " + refused->line;
  }
  if (!move.messages().empty()) moved.message = move.messages().back();
  co_return moved;
}

}  // namespace haricot::web
