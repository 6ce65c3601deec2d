#include "web/api/tubes.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

#include "tool/client/tube_stats.hpp"
#include "web/api/jobs.hpp"
#include "web/observe/tube_rows.hpp"

namespace haricot::web {
namespace {

struct Order {
  std::string_view name;
  TubeField field = {};  // Unused for the name and the rates.
};
// In the order of TubeOrder.
constexpr Order kOrders[] = {{"name"},
                             {"ready", TubeField::ready},
                             {"urgent", TubeField::urgent},
                             {"reserved", TubeField::reserved},
                             {"delayed", TubeField::delayed},
                             {"buried", TubeField::buried},
                             {"waiting", TubeField::waiting},
                             {"put_rate"},
                             {"delete_rate"},
                             {"oldest", TubeField::oldest_ready}};
constexpr int kSparkNumbers = 60;
constexpr int kPointsOfNumber = static_cast<int>(Track::kPoints) / kSparkNumbers;

// Returns the sort key of a tube; larger ones come first.
double key_of_row(const TubeRow& row, TubeOrder order) {
  if (order == TubeOrder::name) return 0;
  if (order == TubeOrder::put_rate) return row.put_rate.value_or(-1);
  if (order == TubeOrder::delete_rate) return row.delete_rate.value_or(-1);
  return static_cast<double>(row[kOrders[static_cast<std::size_t>(order)].field]);
}

// Formats a rate as "1.5", or "null" if it is unknown.
std::string rate_text(float rate) {
  return tool::json_rate(rate < 0 ? std::nullopt : std::optional<double>(rate));
}

// Returns a JSON array with a mean of `number_of` for each group of points; null if all of them are
// unknown.
template <typename NumberOf>
std::string spark(const Track& track, std::int64_t step, NumberOf number_of) {
  std::string text = "[";
  const std::int64_t first = step - static_cast<std::int64_t>(Track::kPoints) + 1;
  bool has_begun = false;
  for (std::int64_t at = first; at <= step; at += kPointsOfNumber) {
    double sum = 0;
    int known = 0;
    for (std::int64_t each = at; each < at + kPointsOfNumber; ++each) {
      const std::optional<Point> point = track.at(each);
      const double number = !point ? -1.0 : static_cast<double>(number_of(*point));
      if (number < 0) continue;
      sum += number;
      ++known;
    }
    // Omit the time before the first known point.
    if (known == 0 && !has_begun) continue;
    if (has_begun) text += ',';
    has_begun = true;
    text += tool::json_rate(known == 0 ? std::nullopt : std::optional(sum / known));
  }
  return text + "]";
}

}  // namespace

std::optional<TubeOrder> find_tube_order(std::string_view name) {
  const auto found = std::find_if(std::begin(kOrders), std::end(kOrders),
                                  [name](const Order& order) { return order.name == name; });
  if (found == std::end(kOrders)) return std::nullopt;
  return static_cast<TubeOrder>(found - std::begin(kOrders));
}

TubePage::TubePage(std::shared_ptr<const TubeSample> sample, TubeQuery query)
    : sample_(std::move(sample)), query_(std::move(query)) {
  query_.filter = lower(query_.filter);
}

bool TubePage::read(std::size_t tubes) {
  const TubeRows& rows = sample_->rows;
  std::string small;
  const auto is_wanted = [this, &small](std::string_view name) {
    small.assign(name);
    for (char& c : small) c = lower(c);
    return small.find(query_.filter) != std::string::npos;
  };
  for (; tubes > 0 && next_ < rows.size(); --tubes, ++next_) {
    const TubeRow row = rows.at(next_);
    if (!query_.filter.empty() && !is_wanted(row.name)) continue;
    ranks_.push_back({key_of_row(row, query_.order), static_cast<std::uint32_t>(next_)});
    for (std::size_t i = 0; i < kTubeFields; ++i) sums_.numbers[i] += row.numbers[i];
    puts_ += row.put_rate.value_or(0);
    deletes_ += row.delete_rate.value_or(0);
  }
  if (next_ < rows.size()) return true;
  const auto is_less = [this](const Rank& a, const Rank& b) { return is_before(a, b); };
  const auto from = static_cast<std::ptrdiff_t>(std::min(query_.from, ranks_.size()));
  const auto to = static_cast<std::ptrdiff_t>(
      std::min(ranks_.size(), static_cast<std::size_t>(from) + query_.count));
  // Sort only the page.
  if (from > 0 && to > from) {
    std::nth_element(ranks_.begin(), ranks_.begin() + from, ranks_.end(), is_less);
  }
  std::partial_sort(ranks_.begin() + from, ranks_.begin() + to, ranks_.end(), is_less);
  for (auto at = from; at < to; ++at) page_.push_back(ranks_[static_cast<std::size_t>(at)].index);
  return false;
}

bool TubePage::is_before(const Rank& a, const Rank& b) const {
  const Rank& first = query_.is_reversed ? b : a;
  const Rank& second = query_.is_reversed ? a : b;
  if (first.key != second.key) return first.key > second.key;
  return sample_->rows.name_at(first.index) < sample_->rows.name_at(second.index);
}

std::string TubePage::sums_json() const {
  JsonWriter json;
  json.add("ready", sums_[TubeField::ready]).add("urgent", sums_[TubeField::urgent]);
  json.add("reserved", sums_[TubeField::reserved]).add("delayed", sums_[TubeField::delayed]);
  json.add("buried", sums_[TubeField::buried]).add("waiting", sums_[TubeField::waiting]);
  json.add("put_rate", std::optional<double>(puts_));
  json.add("delete_rate", std::optional<double>(deletes_));
  return json.take();
}

void add_tube(JsonWriter& json, const TubeRow& row, bool has_details, const Track* track,
              std::int64_t step) {
  json.add("name", row.name).add("ready", row[TubeField::ready]);
  json.add("urgent", row[TubeField::urgent]).add("reserved", row[TubeField::reserved]);
  json.add("delayed", row[TubeField::delayed]).add("buried", row[TubeField::buried]);
  json.add("waiting", row[TubeField::waiting]).add("using", row[TubeField::using_clients]);
  json.add("watching", row[TubeField::watching]).add("puts", row[TubeField::puts]);
  json.add("deletes", row[TubeField::deletes]);
  json.add("put_rate", row.put_rate).add("delete_rate", row.delete_rate);
  json.add("paused_seconds", row.paused_s());
  json.add("oldest_ready_seconds",
           has_details ? std::optional(row[TubeField::oldest_ready]) : std::nullopt);
  json.add("is_growing", track != nullptr && is_growing(*track, step));
  if (track == nullptr) {
    json.add_null("spark").add_null("spark_in").add_null("spark_out");
    return;
  }
  json.add_json("spark", spark(*track, step, [](const Point& point) { return point.ready; }));
  json.add_json("spark_in", spark(*track, step, [](const Point& point) { return point.puts; }));
  json.add_json("spark_out", spark(*track, step, [](const Point& point) { return point.deletes; }));
}

std::string history_json(const Track* track, bool is_tube, HistoryRange range, std::int64_t step,
                         double end) {
  const bool is_day = range == HistoryRange::day;
  const std::int64_t last = is_day ? step / Track::kStepsOfDayStep : step;
  const std::size_t points = is_day ? Track::kDayPoints : Track::kPoints;
  const auto at = [&](std::int64_t each) {
    return is_day ? track->at_day_step(each) : track->at(each);
  };
  std::int64_t first = last + 1;
  if (track != nullptr) {
    first = last - static_cast<std::int64_t>(points) + 1;
    while (first <= last && !at(first)) ++first;
  }
  const auto series = [&](auto text_of) {
    std::string text = "[";
    for (std::int64_t each = first; each <= last; ++each) {
      if (text.size() > 1) text += ',';
      const std::optional<Point> point = track == nullptr ? std::nullopt : at(each);
      text += point ? text_of(*point) : std::string("null");
    }
    return text + "]";
  };
  const auto count = [&](std::uint32_t Point::*member) {
    return series([member](const Point& point) { return std::to_string(point.*member); });
  };
  const auto rate = [&](float Point::*member) {
    return series([member](const Point& point) { return rate_text(point.*member); });
  };
  const auto wait = [&](std::uint32_t Point::*member) {
    return series([member](const Point& point) {
      return point.has_times ? std::to_string(point.*member) : std::string("null");
    });
  };
  JsonWriter json;
  const std::uint64_t steps = is_day ? std::uint64_t{Track::kStepsOfDayStep} : 1;
  json.add("step_seconds", History::kStep.whole_seconds() * steps);
  json.add("end", std::optional<double>(end));
  json.add("points", static_cast<std::uint64_t>(last - first + 1));
  json.add_json("ready", count(&Point::ready)).add_json("urgent", count(&Point::urgent));
  json.add_json("reserved", count(&Point::reserved)).add_json("delayed", count(&Point::delayed));
  json.add_json("buried", count(&Point::buried)).add_json("waiting", count(&Point::waiting));
  json.add_json("put_rate", rate(&Point::puts)).add_json("delete_rate", rate(&Point::deletes));
  if (!is_tube) return json.add_json("timeout_rate", rate(&Point::timeouts)).take();
  return json.add_json("wait_p50_ms", wait(&Point::wait_p50_ms))
      .add_json("wait_p99_ms", wait(&Point::wait_p99_ms))
      .take();
}

// Requests ----------------------------------------------------------------------------------------

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
  const auto tube_json = [&](std::uint32_t index) {
    const TubeRow row = sample.rows.at(index);
    JsonWriter tube;
    add_tube(tube, row, sample.has_details, history.tube(server, row.name), history.step());
    return tube.take();
  };
  return JsonWriter()
      .add("sample_age_seconds", std::optional<double>(age_of(sample)))
      .add("total", std::uint64_t{sample.rows.size()})
      .add("matching", std::uint64_t{page.matching()})
      .add("from", from)
      .add_json("sums", page.sums_json())
      .add_json("tubes", array_json(page.tubes(), tube_json))
      .take();
}

}  // namespace

Task answer_tubes(Observer& observer, const History& history, Server& server,
                  std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  TubeQuery query;
  const std::string order = parameters.text("sort");
  if (const auto known = find_tube_order(order.empty() ? "name" : order)) {
    query.order = *known;
  } else {
    parameters.reject("sort is not a column");
  }
  query.is_reversed = parameters.number("reverse", 0, 1) == 1;
  query.filter = parameters.text("filter");
  query.from = parameters.number("from", 0, std::numeric_limits<std::uint32_t>::max());
  query.count = parameters.number("count", 100, kTubesMax);
  if (!parameters.error().empty()) co_return exchange->refuse(400, parameters.error());
  const Instant now = Observer::now();
  server.demand_tubes(now);
  const auto has_news = [&server, now] {
    const Facts& facts = server.facts();
    return facts.state != ServerState::up || (facts.tubes && now < facts.tubes->at + kAgeMax);
  };
  if (!has_news()) co_await observer.wait_for(has_news, now + kPatience);
  const std::shared_ptr<const TubeSample> sample = server.facts().tubes;
  if (!sample) co_return exchange->refuse(502, "the server has not reported its tubes yet");
  const std::uint64_t from = query.from;
  TubePage page(sample, std::move(query));
  while (page.read(kTubesOfTurn)) co_await observer.next_turn();
  answer(*exchange, tubes_json(page, *sample, from, history, server.facts().name));
}

Task answer_tube(const History& history, Server& server, std::shared_ptr<Exchange> exchange) {
  Parameters parameters(exchange->request());
  const std::string tube = parameters.wanted_tube("tube");
  if (!parameters.error().empty()) co_return exchange->refuse(400, parameters.error());
  server.demand_tubes(Observer::now());
  const bool has_details = server.facts().can("stats-tube-detail");
  std::vector<std::string> commands = {"stats-tube " + tube + "\r\n"};
  if (has_details) commands.push_back("stats-tube-detail " + tube + "\r\n");
  const Server::Responses answers = co_await server.ask_together(std::move(commands));
  if (!answers) co_return refuse_lost(*exchange);
  TubeRow row;
  row.name = tube;
  const auto stats = tool::StatsText::parse(answers->front().body);
  if (!stats || !read_tube(answers->front().body, row))
    co_return exchange->refuse(404, "the server has no such tube");
  const auto detail = tool::StatsText::parse(answers->back().body);
  if (has_details && detail) static_cast<void>(read_tube(answers->back().body, row));
  const std::shared_ptr<const TubeSample> sample = server.facts().tubes;
  const std::optional<std::size_t> known =
      sample ? sample->rows.find(tube) : std::optional<std::size_t>();
  if (known) {
    const TubeRow last = sample->rows.at(*known);
    row.put_rate = last.put_rate;
    row.delete_rate = last.delete_rate;
  }
  const std::optional<std::string> next = co_await next_jobs_json(server, tube);
  if (!next) co_return refuse_lost(*exchange);
  JsonWriter json;
  const Track* track = history.tube(server.facts().name, tube);
  add_tube(json, row, has_details && detail, track, history.step());
  json.add_json("stats", "{" + stats->json_members() + "}");
  json.add_json("detail", has_details && detail ? "{" + detail->json_members() + "}" : "null");
  json.add_json("next", *next);
  answer(*exchange, json.take());
}

}  // namespace haricot::web
