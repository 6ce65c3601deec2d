#include "web/history/history.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tool/client/growth.hpp"

namespace haricot::web {
namespace {

// Points that tell whether a tube grows: two minutes.
constexpr std::int64_t kGrowthPoints = 8;
// A tube that has a track keeps it until others are so much busier, so that no hour is lost to a
// quiet moment.
constexpr double kLoyalty = 2;
// What a job that just lies there counts beside one that moves each second.
constexpr double kIdleWeight = 0.001;

std::uint32_t small(std::uint64_t number) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(number, std::numeric_limits<std::uint32_t>::max()));
}

float rate_of(std::uint64_t before, std::uint64_t now, double seconds) {
  if (now < before || seconds <= 0) return -1;
  return static_cast<float>(static_cast<double>(now - before) / seconds);
}

double business_of(const TubeRow& row) {
  const std::uint64_t jobs = row[TubeField::ready] + row[TubeField::reserved] +
                             row[TubeField::delayed] + row[TubeField::buried];
  return row.put_rate.value_or(0) + row.delete_rate.value_or(0) +
         kIdleWeight * static_cast<double>(jobs);
}

Point point_of(const TubeRow& row, bool has_times) {
  Point point;
  point.ready = small(row[TubeField::ready]);
  point.urgent = small(row[TubeField::urgent]);
  point.reserved = small(row[TubeField::reserved]);
  point.delayed = small(row[TubeField::delayed]);
  point.buried = small(row[TubeField::buried]);
  point.waiting = small(row[TubeField::waiting]);
  point.wait_p50_ms = small(row[TubeField::wait_p50]);
  point.wait_p99_ms = small(row[TubeField::wait_p99]);
  point.has_times = has_times;
  return point;
}

}  // namespace

void Track::add(std::int64_t step, Point point, const Counts& counts) {
  if (ring_.empty()) ring_.resize(kPoints);
  if (counts_ && counts_->process == counts.process) {
    const double seconds = static_cast<double>((counts.at - counts_->at).count()) / 1e9;
    point.puts = rate_of(counts_->puts, counts.puts, seconds);
    point.deletes = rate_of(counts_->deletes, counts.deletes, seconds);
    point.timeouts = rate_of(counts_->timeouts, counts.timeouts, seconds);
  }
  counts_ = counts;
  // What lies between has no points.
  const std::int64_t first = last_ ? std::max(*last_ + 1, step - std::int64_t{kPoints}) : step;
  for (std::int64_t each = first; each < step; ++each) {
    ring_[static_cast<std::size_t>(each) % kPoints] = Point{};
  }
  point.is_known = true;
  ring_[static_cast<std::size_t>(step) % kPoints] = point;
  last_ = step;
}

const Point* Track::at(std::int64_t step) const {
  if (!last_ || step < 0 || step > *last_ || step <= *last_ - std::int64_t{kPoints}) return nullptr;
  const Point& point = ring_[static_cast<std::size_t>(step) % kPoints];
  return point.is_known ? &point : nullptr;
}

void History::advance(Instant now) {
  if (now < due_) return;
  step_ = now.count() / kStep.count();
  due_ = Instant::at((step_ + 1) * kStep.count());
  for (const Server& server : observer_.servers()) {
    const Facts& facts = server.facts();
    ServerTracks& tracks = servers_[facts.name];
    if (facts.state != ServerState::up || !facts.sample) continue;
    add_server(facts, tracks);
    // An old sample is no point of now.
    if (facts.tubes && now < facts.tubes->at + kStep) add_tubes(facts, tracks);
  }
}

void History::add_server(const Facts& facts, ServerTracks& tracks) {
  const tool::StatsText& stats = facts.sample->server;
  const auto number = [&stats](std::string_view key) { return stats.number(key).value_or(0); };
  Point point;
  point.ready = small(number("current-jobs-ready"));
  point.urgent = small(number("current-jobs-urgent"));
  point.reserved = small(number("current-jobs-reserved"));
  point.delayed = small(number("current-jobs-delayed"));
  point.buried = small(number("current-jobs-buried"));
  point.waiting = small(number("current-waiting"));
  tracks.server.add(step_, point,
                    {.at = facts.sample->at,
                     .process = process_of(stats),
                     .puts = number("total-jobs"),
                     .deletes = number("cmd-delete"),
                     .timeouts = number("job-timeouts")});
}

void History::add_tubes(const Facts& facts, ServerTracks& tracks) {
  const TubeSample& sample = *facts.tubes;
  std::vector<std::pair<double, std::uint32_t>> ranks;
  ranks.reserve(sample.rows.size());
  for (std::size_t i = 0; i < sample.rows.size(); ++i) {
    const TubeRow row = sample.rows.at(i);
    double rank = business_of(row);
    if (!tracks.tubes.empty() && tracks.tubes.contains(row.name)) rank *= kLoyalty;
    ranks.emplace_back(rank, static_cast<std::uint32_t>(i));
  }
  if (ranks.size() > kTubesMax) {
    std::nth_element(ranks.begin(), ranks.begin() + kTubesMax, ranks.end(), std::greater<>());
    ranks.resize(kTubesMax);
  }
  for (const auto& [rank, index] : ranks) {
    const TubeRow row = sample.rows.at(index);
    auto found = tracks.tubes.find(row.name);
    if (found == tracks.tubes.end()) found = tracks.tubes.emplace(row.name, Track{}).first;
    found->second.add(step_, point_of(row, sample.has_details),
                      {.at = sample.at,
                       .process = sample.process,
                       .puts = row[TubeField::puts],
                       .deletes = row[TubeField::deletes]});
  }
  // The others have made room, as has what is gone.
  std::erase_if(tracks.tubes, [this](const auto& entry) { return entry.second.last() != step_; });
}

const Track* History::server(std::string_view name) const {
  const auto found = servers_.find(name);
  return found == servers_.end() ? nullptr : &found->second.server;
}

const Track* History::tube(std::string_view server, std::string_view tube) const {
  const auto found = servers_.find(server);
  if (found == servers_.end()) return nullptr;
  const auto track = found->second.tubes.find(tube);
  return track == found->second.tubes.end() ? nullptr : &track->second;
}

bool is_growing(const Track& track, std::int64_t step) {
  std::vector<std::uint32_t> ready;
  for (std::int64_t each = step - kGrowthPoints + 1; each <= step; ++each) {
    if (const Point* point = track.at(each)) ready.push_back(point->ready);
  }
  return tool::is_growing(ready);
}

}  // namespace haricot::web
