#include "web/api/listings.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "tool/client/list_page.hpp"
#include "web/api/answer.hpp"
#include "web/api/job_json.hpp"
#include "web/api/parameters.hpp"

namespace haricot::web {
namespace {

constexpr std::uint64_t kItems = 100;  // Default number of items.

struct Wish {
  std::string command;  // Without CR LF. Its first word is a capability.
  std::string_view lacking;
  std::string_view not_found;
};

std::uint64_t count_of(Parameters& parameters) {
  const std::uint64_t count = parameters.number("count", kItems, tool::kPageItemsMax);
  if (count == 0) parameters.complain("count must be at least 1");
  return count;
}

// Returns the server's report. On failure answers the request with the reason, and returns nothing.
Part<std::optional<std::string>> ask_for(Server& server, Exchange& exchange,
                                         const Parameters& parameters, Wish wish) {
  if (!parameters.error().empty()) {
    refuse(exchange, 400, parameters.error());
  } else if (!server.facts().can(wish.command.substr(0, wish.command.find(' ')))) {
    refuse(exchange, 501, wish.lacking);
  } else {
    std::optional<tool::Response> told = co_await server.ask(wish.command + "\r\n");
    if (!told) {
      refuse_lost(exchange);
    } else if (told->code == ReplyCode::not_found) {
      refuse(exchange, 404, wish.not_found);
    } else if (told->code == ReplyCode::ok) {
      co_return std::move(told->body);
    } else {
      refuse(exchange, 502, "the server answered: " + told->line);
    }
  }
  co_return std::nullopt;
}

void refuse_text(Exchange& exchange) {
  refuse(exchange, 502, "the server sent an invalid answer");
}

template <typename JsonOf>
std::string array_json(const std::vector<tool::StatsText>& items, JsonOf json_of) {
  std::string list = "[";
  for (const tool::StatsText& item : items) {
    if (list.size() > 1) list += ',';
    list += json_of(item);
  }
  return list + "]";
}

}  // namespace

Task answer_jobs(Server& server, std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  const std::string tube = parameters.wanted_tube("tube");
  std::string state = parameters.state("state");
  if (state.empty()) state = "ready";
  if (state == "reserved") parameters.complain("reserved jobs cannot be listed");
  const std::string count = std::to_string(count_of(parameters));
  Wish wish = {.command = "list-jobs " + tube + " " + state + " " + count,
               .lacking = "the server cannot list jobs",
               .not_found = "the server has no such tube"};
  const std::optional<std::string> told =
      co_await ask_for(server, *exchange, parameters, std::move(wish));
  if (!told) co_return;
  const std::optional<tool::ListPage> page = tool::parse_list_page(*told, "jobs");
  if (!page) co_return refuse_text(*exchange);
  const std::string jobs = array_json(page->items, [](const tool::StatsText& job) {
    JsonWriter json;
    add_job(json, job, std::nullopt);
    return json.take();
  });
  answer(*exchange, JsonWriter().add_json("jobs", jobs).take());
}

Task answer_clients(Server& server, std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  const std::uint64_t from =
      parameters.number("from", 0, std::numeric_limits<std::uint64_t>::max());
  const std::string count = std::to_string(count_of(parameters));
  Wish wish = {.command = "list-clients " + std::to_string(from) + " " + count,
               .lacking = "the server cannot list clients; only haricotd can",
               .not_found = "the server has no clients"};
  const std::optional<std::string> told =
      co_await ask_for(server, *exchange, parameters, std::move(wish));
  if (!told) co_return;
  const std::optional<tool::ListPage> page = tool::parse_list_page(*told, "clients");
  if (!page) co_return refuse_text(*exchange);
  JsonWriter json;
  json.add_json("clients", array_json(page->items, client_json));
  json.add("next", page->next == 0 ? std::nullopt : std::optional(page->next));
  answer(*exchange, json.take());
}

Task answer_group(Server& server, std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  const std::string name = parameters.text("group");
  if (!is_tag_key(name)) parameters.complain("group is not a group name");
  Wish wish = {.command = "stats-group " + name,
               .lacking = "the server does not have groups",
               .not_found = "the group has no jobs"};
  const std::optional<std::string> told =
      co_await ask_for(server, *exchange, parameters, std::move(wish));
  if (!told) co_return;
  const std::optional<tool::StatsText> stats = tool::StatsText::parse(*told);
  if (!stats) co_return refuse_text(*exchange);
  JsonWriter json;
  json.add("group", name);
  for (const std::string_view state : {"ready", "reserved", "delayed", "buried"}) {
    json.add(state, stats->number(state));
  }
  answer(*exchange, json.add("waiting_jobs", stats->number("waiting-jobs")).take());
}

}  // namespace haricot::web
