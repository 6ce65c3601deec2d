#include "web/api/jobs.hpp"

#include <array>
#include <utility>

#include "haricot/base/json.hpp"
#include "tool/client/job_page.hpp"
#include "web/api/answer.hpp"
#include "web/api/job_json.hpp"
#include "web/api/parameters.hpp"

namespace haricot::web {
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
  const std::optional<tool::Response> told = co_await server.ask(command);
  if (!told) co_return std::nullopt;
  if (!has_pages) co_return MaybeJob(tool::StatsText::parse(told->body));
  std::optional<tool::JobPage> page = tool::parse_job_page(told->body);
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
  if (!id) parameters.complain("missing id");
  const std::uint64_t bytes = parameters.number("bytes", kBodyBytesShown, 1024 * 1024);
  if (!parameters.error().empty()) {
    refuse(*exchange, 400, parameters.error());
    co_return;
  }
  const std::optional<tool::Response> found =
      co_await server.ask("peek " + std::to_string(*id) + "\r\n", bytes);
  if (!found) {
    refuse_lost(*exchange);
    co_return;
  }
  MaybeJob job;
  if (found->code == ReplyCode::found) {
    job = co_await ask_job(server, *id);
    if (!job) {
      refuse_lost(*exchange);
      co_return;
    }
  }
  if (!job || !*job) {
    refuse(*exchange, 404, "the server has no such job");
    co_return;
  }
  answer(*exchange, job_json(**job, bytes_of(*found), found->body));
}

}  // namespace haricot::web
