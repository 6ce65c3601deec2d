#include "web/api/tubes.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "web/api/answer.hpp"
#include "web/api/job_json.hpp"
#include "web/api/jobs.hpp"
#include "web/api/parameters.hpp"
#include "web/api/tubes_json.hpp"
#include "web/observe/tube_reader.hpp"

namespace haricot::web {
namespace {

constexpr std::uint64_t kTubesMax = 500;
constexpr std::size_t kTubesOfTurn = 10'000;
// An older sample was taken for an earlier demand.
constexpr Duration kAgeMax = Duration::seconds(30);
// Longest wait for the first sample.
constexpr Duration kPatience = Duration::seconds(2);

double age_of(const TubeSample& sample) {
  return static_cast<double>((Observer::now() - sample.at).count()) / 1e9;
}

std::string tubes_json(const TubePage& page, const TubeSample& sample, std::uint64_t from,
                       const History& history, const std::string& server) {
  std::string list = "[";
  for (const std::uint32_t index : page.tubes()) {
    if (list.size() > 1) list += ',';
    const TubeRow row = sample.rows.at(index);
    JsonWriter tube;
    add_tube(tube, row, sample.has_details, history.tube(server, row.name), history.step());
    list += tube.take();
  }
  return JsonWriter()
      .add("sample_age_seconds", std::optional<double>(age_of(sample)))
      .add("total", std::uint64_t{sample.rows.size()})
      .add("matching", std::uint64_t{page.matching()})
      .add("from", from)
      .add_json("sums", page.sums_json())
      .add_json("tubes", list + "]")
      .take();
}

}  // namespace

Task answer_tubes(Observer& observer, const History& history, Server& server,
                  std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  TubeQuery query;
  const std::string order = parameters.text("sort");
  if (const auto known = tube_order_called(order.empty() ? "name" : order)) {
    query.order = *known;
  } else {
    parameters.complain("sort is not a column");
  }
  query.is_reversed = parameters.number("reverse", 0, 1) == 1;
  query.filter = parameters.text("filter");
  query.from = parameters.number("from", 0, std::numeric_limits<std::uint32_t>::max());
  query.count = parameters.number("count", 100, kTubesMax);
  if (!parameters.error().empty()) {
    refuse(*exchange, 400, parameters.error());
    co_return;
  }
  const Instant now = Observer::now();
  server.look(now);
  const auto has_news = [&server, now] {
    const Facts& facts = server.facts();
    return facts.state != ServerState::up || (facts.tubes && now < facts.tubes->at + kAgeMax);
  };
  if (!has_news()) co_await observer.wait_for(has_news, now + kPatience);
  const std::shared_ptr<const TubeSample> sample = server.facts().tubes;
  if (!sample) {
    refuse(*exchange, 502, "the server has not reported its tubes yet");
    co_return;
  }
  const std::uint64_t from = query.from;
  TubePage page(sample, std::move(query));
  while (page.look_at(kTubesOfTurn)) co_await observer.next_turn();
  answer(*exchange, tubes_json(page, *sample, from, history, server.facts().name));
}

Task answer_tube(const History& history, Server& server, std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  const std::string tube = parameters.wanted_tube("tube");
  if (!parameters.error().empty()) {
    refuse(*exchange, 400, parameters.error());
    co_return;
  }
  server.look(Observer::now());
  const bool has_details = server.facts().can("stats-tube-detail");
  std::vector<std::string> commands = {"stats-tube " + tube + "\r\n"};
  if (has_details) commands.push_back("stats-tube-detail " + tube + "\r\n");
  const Server::Responses told = co_await server.ask_together(std::move(commands));
  if (!told) {
    refuse_lost(*exchange);
    co_return;
  }
  TubeRow row;
  row.name = tube;
  const auto stats = tool::StatsText::parse(told->front().body);
  if (!stats || !read_tube(told->front().body, row)) {
    refuse(*exchange, 404, "the server has no such tube");
    co_return;
  }
  const auto detail = tool::StatsText::parse(told->back().body);
  if (has_details && detail) static_cast<void>(read_tube(told->back().body, row));
  const std::shared_ptr<const TubeSample> sample = server.facts().tubes;
  const std::optional<std::size_t> known =
      sample ? sample->rows.find(tube) : std::optional<std::size_t>();
  if (known) {
    const TubeRow last = sample->rows.at(*known);
    row.put_rate = last.put_rate;
    row.delete_rate = last.delete_rate;
  }
  const std::optional<std::string> next = co_await next_jobs_json(server, tube);
  if (!next) {
    refuse_lost(*exchange);
    co_return;
  }
  JsonWriter json;
  const Track* track = history.tube(server.facts().name, tube);
  add_tube(json, row, has_details && detail, track, history.step());
  json.add_json("stats", "{" + stats->json_members() + "}");
  json.add_json("detail", has_details && detail ? "{" + detail->json_members() + "}" : "null");
  json.add_json("next", *next);
  answer(*exchange, json.take());
}

}  // namespace haricot::web
