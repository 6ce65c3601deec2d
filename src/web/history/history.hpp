// History of each server and of its busiest tubes in memory: points of 15 seconds for an hour, and
// points of two minutes for a day.
//
// It is a part of the program's loop. It makes points of the last samples and asks no server. Tubes
// that were not sampled have no points.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

struct Point {
  std::uint32_t ready = 0;
  std::uint32_t urgent = 0;
  std::uint32_t reserved = 0;
  std::uint32_t delayed = 0;
  std::uint32_t buried = 0;
  std::uint32_t waiting = 0;
  std::uint32_t wait_p50_ms = 0;  // For tubes with has_times, like the next one.
  std::uint32_t wait_p99_ms = 0;
  // Jobs per second since the previous point; below 0 if unknown.
  float puts = -1;
  float deletes = -1;
  float timeouts = -1;  // For servers only.
  bool has_times = false;
};

// A ring of packed points, 22 bytes each. Numbers have a precision of 0.02 %; those below 2000 are
// exact.
class PointRing final {
 public:
  explicit PointRing(std::size_t points) : points_(points) {}

  // Sets the point of a step, and replaces an earlier one. Requires: steps do not decrease.
  void set(std::int64_t step, const Point& point);
  // Returns nothing if the step has no point, or no longer has one.
  std::optional<Point> at(std::int64_t step) const;
  // Returns the step of the last point.
  std::optional<std::int64_t> last() const { return last_; }

 private:
  static constexpr std::size_t kNumbers = 11;
  using Packed = std::array<std::uint16_t, kNumbers>;
  static Packed pack(const Point& point);

  std::size_t points_;
  std::vector<Packed> ring_;
  std::optional<std::int64_t> last_;
};

// The points of one server or tube.
class Track final {
 public:
  static constexpr std::size_t kPoints = 240;     // Points of an hour.
  static constexpr std::size_t kDayPoints = 720;  // Points of a day.
  static constexpr std::int64_t kStepsOfDayStep = 8;

  // Counters at the last point, the base of its rates.
  struct Counts {
    Instant at;
    std::string process = {};  // Identity of the server's process.
    std::uint64_t puts = 0;
    std::uint64_t deletes = 0;
    std::uint64_t timeouts = 0;
  };

  // Sets the rates of the point and stores it. Requires: steps increase.
  void add(std::int64_t step, Point point, const Counts& counts);
  // Returns nothing if the step has no point, or is more than an hour ago.
  std::optional<Point> at(std::int64_t step) const { return hour_.at(step); }
  // Returns a point of two minutes: the largest numbers and the mean rates.
  std::optional<Point> at_day_step(std::int64_t step) const { return day_.at(step); }
  // Returns the step of the last point, or nothing if there is none.
  std::optional<std::int64_t> last() const { return hour_.last(); }

 private:
  void add_to_day(std::int64_t step, const Point& point);

  PointRing hour_{kPoints};
  PointRing day_{kDayPoints};
  Point merged_;          // The last point of day_, unpacked.
  int merged_count_ = 0;  // Points in it that have rates.
  std::optional<Counts> counts_;
};

class History final {
 public:
  static constexpr Duration kStep = Duration::seconds(15);
  // Bounds the memory: 21 KB for each.
  static constexpr std::size_t kTubesMax = 100;

  // `observer` must outlive the object.
  explicit History(Observer& observer) : observer_(observer) {}

  Instant next_event() const { return due_; }
  void advance(Instant now);

  // Returns the step of the last points.
  std::int64_t step() const { return step_; }
  // Return null if there is no history. Valid until the next advance().
  const Track* server(std::string_view name) const;
  const Track* tube(std::string_view server, std::string_view tube) const;

 private:
  struct ServerTracks {
    Track server;
    std::map<std::string, Track, std::less<>> tubes;
  };

  void add_server(const Facts& facts, ServerTracks& tracks);
  void add_tubes(const Facts& facts, ServerTracks& tracks);

  Observer& observer_;
  Instant due_ = Instant::at(0);
  std::int64_t step_ = 0;
  std::map<std::string, ServerTracks, std::less<>> servers_;
};

// Returns true if the backlog grew over the two minutes up to the step
// (tool/client/tube_stats.hpp).
bool is_growing(const Track& track, std::int64_t step);

}  // namespace haricot::web
