#include "web/api/jobs.hpp"

#include <array>
#include <limits>
#include <utility>

#include "haricot/base/encoding.hpp"
#include "haricot/base/job_tags.hpp"
#include "tool/client/list_page.hpp"
#include "tool/client/put_tags.hpp"

namespace haricot::web {
namespace {

std::string text_json(const tool::StatsText& stats, std::string_view key) {
  const std::string* value = stats.find(key);
  return value == nullptr ? "null" : json_string(*value);
}

void add_text(JsonWriter& json, const tool::StatsText& stats, std::string_view key) {
  json.add_json(key, text_json(stats, key));
}

}  // namespace

void add_job(JsonWriter& json, const tool::StatsText& stats, std::optional<std::uint64_t> bytes) {
  json.add("id", stats.number("id"));
  for (const std::string_view key : {"tube", "state"}) add_text(json, stats, key);
  json.add("priority", stats.number("pri")).add("age", stats.number("age"));
  json.add("delay", stats.number("delay")).add("ttr", stats.number("ttr"));
  json.add("time_left", stats.number("time-left"));
  for (const std::string_view key : {"reserves", "timeouts", "releases", "buries", "kicks"}) {
    json.add(key, stats.number(key));
  }
  const std::optional<std::uint64_t> reported = stats.number("bytes");
  json.add("bytes", reported ? reported : bytes);
  JsonWriter tags;
  bool has_tags = false;
  for (const TagRow& row : kTagTable) {
    const tool::StatsText::Line* line = stats.find_line(row.word);
    if (line == nullptr) continue;
    tags.add_json(row.word, stats.json_value(*line));
    has_tags = true;
  }
  json.add_json("tags", has_tags ? tags.take() : "null");
  // Reports that contain the size of the body contain these members, too.
  if (reported) {
    json.add("is_held", tool::is_held(stats));
  } else {
    json.add_null("is_held");
  }
  json.add("holder", stats.number("holder"));
  json.add_json("buried_by", text_json(stats, "buried-by"));
  json.add("buried_ago", stats.number("buried-ago"));
  json.add_json("last_try", text_json(stats, "last-try"));
  json.add("reserved_for", stats.number("reserved-for"));
  json.add_json("note", text_json(stats, "note"));
}

std::string client_json(const tool::StatsText& stats) {
  JsonWriter json;
  json.add("id", stats.number("id"));
  for (const std::string_view key : {"address", "used", "state"}) add_text(json, stats, key);
  for (const std::string_view key : {"age", "idle", "watching", "jobs", "commands"}) {
    json.add(key, stats.number(key));
  }
  return json.take();
}

// Single jobs -------------------------------------------------------------------------------------

namespace {

constexpr std::array<std::string_view, 3> kNext = {"ready", "delayed", "buried"};

std::string job_json(const tool::StatsText& stats, std::uint64_t bytes, std::string_view body) {
  JsonWriter json;
  add_job(json, stats, bytes);
  json.add_json("body_base64", json_base64(body)).add("is_cut", body.size() < bytes);
  return json.take();
}

// Returns the size of the whole body, from a line such as "FOUND 17 5".
std::uint64_t bytes_of(const tool::Response& found) {
  ReplyLine line;
  return read_reply_line(found.line, line) ? line.body_bytes : 0;
}

}  // namespace

std::vector<std::string> in_tube(const std::string& tube, std::vector<std::string> commands) {
  commands.insert(commands.begin(), "use " + tube + "\r\n");
  commands.emplace_back("use default\r\n");
  return commands;
}

Part<MaybeJob> ask_job(Server& server, std::uint64_t id) {
  const bool has_pages = server.facts().can("scan-jobs");
  const std::string command = has_pages ? "scan-jobs " + std::to_string(id) + " 1\r\n"
                                        : "stats-job " + std::to_string(id) + "\r\n";
  const std::optional<tool::Response> answer = co_await server.ask(command);
  if (!answer) co_return std::nullopt;
  if (!has_pages) co_return MaybeJob(tool::StatsText::parse(answer->body));
  std::optional<tool::JobPage> page = tool::parse_job_page(answer->body);
  const bool is_there = page && !page->jobs.empty() && page->jobs.front().number("id") == id;
  if (!is_there) co_return MaybeJob(std::optional<tool::StatsText>());
  co_return MaybeJob(std::move(page->jobs.front()));
}

Part<std::optional<std::string>> next_jobs_json(Server& server, std::string tube) {
  std::vector<std::string> peeks;
  peeks.reserve(kNext.size());
  for (const std::string_view state : kNext) {
    peeks.push_back("peek-" + std::string(state) + "\r\n");
  }
  const Server::Responses found =
      co_await server.ask_together(in_tube(tube, std::move(peeks)), kBodyBytesShown);
  if (!found) co_return std::nullopt;
  JsonWriter next;
  for (std::size_t i = 0; i < kNext.size(); ++i) {
    const tool::Response& answer = (*found)[i + 1];
    std::optional<tool::StatsText> stats;
    if (answer.code == ReplyCode::found) {
      const MaybeJob job = co_await ask_job(server, answer.number);
      if (!job) co_return std::nullopt;
      stats = *job;
    }
    next.add_json(kNext[i], stats ? job_json(*stats, bytes_of(answer), answer.body) : "null");
  }
  co_return next.take();
}

Task answer_job(Server& server, std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  const std::optional<std::uint64_t> id = parameters.optional_number("id");
  if (!id) parameters.reject("missing id");
  const std::uint64_t bytes = parameters.number("bytes", kBodyBytesShown, 1024 * 1024);
  if (!parameters.error().empty()) co_return exchange->refuse(400, parameters.error());
  const std::optional<tool::Response> found =
      co_await server.ask("peek " + std::to_string(*id) + "\r\n", bytes);
  if (!found) co_return refuse_lost(*exchange);
  MaybeJob job;
  if (found->code == ReplyCode::found) {
    job = co_await ask_job(server, *id);
    if (!job) co_return refuse_lost(*exchange);
  }
  if (!job || !*job) co_return exchange->refuse(404, "the server has no such job");
  answer(*exchange, job_json(**job, bytes_of(*found), found->body));
}

// Lists -------------------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t kItems = 100;  // Default number of items.

// A command for a report, and the reasons for a refusal.
struct ReportQuery {
  std::string command;  // Without CR LF. Its first word is a capability.
  std::string_view unsupported;
  std::string_view not_found;
};

std::uint64_t count_of(Parameters& parameters) {
  const std::uint64_t count = parameters.number("count", kItems, tool::kPageItemsMax);
  if (count == 0) parameters.reject("count must be at least 1");
  return count;
}

// Returns the server's report. On failure answers the request with the reason, and returns nothing.
Part<std::optional<std::string>> ask_for(Server& server, Exchange& exchange,
                                         const Parameters& parameters, ReportQuery query) {
  if (!parameters.error().empty()) {
    exchange.refuse(400, parameters.error());
  } else if (!server.facts().can(query.command.substr(0, query.command.find(' ')))) {
    exchange.refuse(501, query.unsupported);
  } else {
    std::optional<tool::Response> answer = co_await server.ask(query.command + "\r\n");
    if (!answer) {
      refuse_lost(exchange);
    } else if (answer->code == ReplyCode::not_found) {
      exchange.refuse(404, query.not_found);
    } else if (answer->code == ReplyCode::ok) {
      co_return std::move(answer->body);
    } else {
      exchange.refuse(502, "the server answered: " + answer->line);
    }
  }
  co_return std::nullopt;
}

void refuse_report(Exchange& exchange) {
  exchange.refuse(502, "the server sent an invalid answer");
}

}  // namespace

Task answer_jobs(Server& server, std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  const std::string tube = parameters.wanted_tube("tube");
  std::string state = parameters.state("state");
  if (state.empty()) state = "ready";
  if (state == "reserved") parameters.reject("reserved jobs cannot be listed");
  const std::string count = std::to_string(count_of(parameters));
  ReportQuery query = {.command = "list-jobs " + tube + " " + state + " " + count,
                       .unsupported = "the server cannot list jobs",
                       .not_found = "the server has no such tube"};
  const std::optional<std::string> report =
      co_await ask_for(server, *exchange, parameters, std::move(query));
  if (!report) co_return;
  const std::optional<tool::ListPage> page = tool::parse_list_page(*report, "jobs");
  if (!page) co_return refuse_report(*exchange);
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
  ReportQuery query = {.command = "list-clients " + std::to_string(from) + " " + count,
                       .unsupported = "the server cannot list clients; only haricotd can",
                       .not_found = "the server has no clients"};
  const std::optional<std::string> report =
      co_await ask_for(server, *exchange, parameters, std::move(query));
  if (!report) co_return;
  const std::optional<tool::ListPage> page = tool::parse_list_page(*report, "clients");
  if (!page) co_return refuse_report(*exchange);
  JsonWriter json;
  json.add_json("clients", array_json(page->items, client_json));
  json.add("next", page->next == 0 ? std::nullopt : std::optional(page->next));
  answer(*exchange, json.take());
}

Task answer_group(Server& server, std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  const std::string name = parameters.text("group");
  if (!is_tag_key(name)) parameters.reject("group is not a group name");
  ReportQuery query = {.command = "stats-group " + name,
                       .unsupported = "the server does not have groups",
                       .not_found = "the group has no jobs"};
  const std::optional<std::string> report =
      co_await ask_for(server, *exchange, parameters, std::move(query));
  if (!report) co_return;
  const std::optional<tool::StatsText> stats = tool::StatsText::parse(*report);
  if (!stats) co_return refuse_report(*exchange);
  JsonWriter json;
  json.add("group", name);
  for (const std::string_view state : {"ready", "reserved", "delayed", "buried"}) {
    json.add(state, stats->number(state));
  }
  answer(*exchange, json.add("waiting_jobs", stats->number("waiting-jobs")).take());
}

}  // namespace haricot::web
