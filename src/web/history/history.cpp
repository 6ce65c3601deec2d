#include "web/history/history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tool/client/tube_stats.hpp"

namespace haricot::web {
namespace {

// Points that determine if a tube grows: two minutes.
constexpr std::int64_t kGrowthPoints = 8;
// Weight of a tube that already has a track. It keeps the track until others are clearly busier, so
// that a quiet moment does not cost its history.
constexpr double kLoyalty = 2;
// Weight of an idle job, relative to one job moved per second.
constexpr double kIdleWeight = 0.001;
// Packed numbers: units of one job or one job per second, and codes for a doubling. The largest
// number has 42 doublings, which fit into 16 bits.
constexpr double kUnits = 1000;
constexpr double kOctave = 1550;
constexpr double kCountMax = std::numeric_limits<std::uint32_t>::max();

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

// Packs each number as a logarithm. 0 means unknown, and 1 means zero.
PointRing::Packed PointRing::pack(const Point& point) {
  const auto pack_number = [](double number) {
    if (number < 0) return std::uint16_t{0};
    const double bounded = std::min(number, kCountMax);
    return static_cast<std::uint16_t>(1 + std::lround(std::log2(1 + bounded * kUnits) * kOctave));
  };
  const double known_wait = point.has_times ? 0 : -std::numeric_limits<double>::infinity();
  return {pack_number(point.ready),
          pack_number(point.urgent),
          pack_number(point.reserved),
          pack_number(point.delayed),
          pack_number(point.buried),
          pack_number(point.waiting),
          pack_number(point.wait_p50_ms + known_wait),
          pack_number(point.wait_p99_ms + known_wait),
          pack_number(static_cast<double>(point.puts)),
          pack_number(static_cast<double>(point.deletes)),
          pack_number(static_cast<double>(point.timeouts))};
}

void PointRing::set(std::int64_t step, const Point& point) {
  if (ring_.empty()) ring_.resize(points_);
  const auto size = static_cast<std::int64_t>(points_);
  // Steps in between have no points.
  const std::int64_t first = last_ ? std::max(*last_ + 1, step - size) : step;
  for (std::int64_t each = first; each < step; ++each) {
    ring_[static_cast<std::size_t>(each % size)] = Packed{};
  }
  ring_[static_cast<std::size_t>(step % size)] = pack(point);
  last_ = step;
}

std::optional<Point> PointRing::at(std::int64_t step) const {
  const auto size = static_cast<std::int64_t>(points_);
  if (!last_ || step < 0 || step > *last_ || step <= *last_ - size) return std::nullopt;
  const Packed& packed = ring_[static_cast<std::size_t>(step % size)];
  if (packed[0] == 0) return std::nullopt;
  const auto number = [&packed](std::size_t i) {
    return packed[i] == 0 ? -1.0 : (std::exp2((packed[i] - 1) / kOctave) - 1) / kUnits;
  };
  const auto count = [&number](std::size_t i) {
    return static_cast<std::uint32_t>(std::min(std::round(std::max(number(i), 0.0)), kCountMax));
  };
  const auto rate = [&number](std::size_t i) { return static_cast<float>(number(i)); };
  return Point{.ready = count(0),
               .urgent = count(1),
               .reserved = count(2),
               .delayed = count(3),
               .buried = count(4),
               .waiting = count(5),
               .wait_p50_ms = count(6),
               .wait_p99_ms = count(7),
               .puts = rate(8),
               .deletes = rate(9),
               .timeouts = rate(10),
               .has_times = packed[6] != 0};
}

void Track::add(std::int64_t step, Point point, const Counts& counts) {
  if (counts_ && counts_->process == counts.process) {
    const double seconds = static_cast<double>((counts.at - counts_->at).count()) / 1e9;
    point.puts = rate_of(counts_->puts, counts.puts, seconds);
    point.deletes = rate_of(counts_->deletes, counts.deletes, seconds);
    point.timeouts = rate_of(counts_->timeouts, counts.timeouts, seconds);
  }
  counts_ = counts;
  hour_.set(step, point);
  add_to_day(step / kStepsOfDayStep, point);
}

void Track::add_to_day(std::int64_t step, const Point& point) {
  const bool is_new = day_.last() != step;
  if (is_new) {
    merged_ = point;
    merged_count_ = 0;
  }
  for (const auto member :
       {&Point::ready, &Point::urgent, &Point::reserved, &Point::delayed, &Point::buried,
        &Point::waiting, &Point::wait_p50_ms, &Point::wait_p99_ms}) {
    merged_.*member = std::max(merged_.*member, point.*member);
  }
  merged_.has_times = merged_.has_times || point.has_times;
  if (point.puts >= 0) {
    ++merged_count_;
    for (const auto member : {&Point::puts, &Point::deletes, &Point::timeouts}) {
      if (point.*member < 0) continue;
      const float mean = std::max(merged_.*member, 0.0F);
      merged_.*member = mean + (point.*member - mean) / static_cast<float>(merged_count_);
    }
  }
  day_.set(step, merged_);
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
    // A point must not come from an old sample.
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
  // Drops tubes that lost their place, or were deleted.
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
    if (const std::optional<Point> point = track.at(each)) ready.push_back(point->ready);
  }
  return tool::is_growing(ready);
}

}  // namespace haricot::web
