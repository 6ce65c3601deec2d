// The last hour of each server, and of its busiest tubes: a point each 15 seconds, in memory.
//
// It is a part of the program's loop. It asks nobody: a point is made of the last sample, and what
// nobody has looked at has no points.

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
  std::uint32_t wait_p50_ms = 0;  // Of a tube, where has_times; as the next one.
  std::uint32_t wait_p99_ms = 0;
  // Jobs a second since the point before; below 0: not known.
  float puts = -1;
  float deletes = -1;
  float timeouts = -1;  // Of a server.
  bool is_known = false;
  bool has_times = false;
};

// The points of one server or tube.
class Track final {
 public:
  static constexpr std::size_t kPoints = 240;

  // How many jobs had come and gone at the last point: what its rates are measured from.
  struct Counts {
    Instant at;
    std::string process = {};  // Of the server.
    std::uint64_t puts = 0;
    std::uint64_t deletes = 0;
    std::uint64_t timeouts = 0;
  };

  // Sets the rates of the point, and keeps it. Requires: steps go up.
  void add(std::int64_t step, Point point, const Counts& counts);
  // Null: nothing is known of that step, or the step is more than an hour ago.
  const Point* at(std::int64_t step) const;
  // The step of the last point; nothing: there is none.
  std::optional<std::int64_t> last() const { return last_; }

 private:
  std::vector<Point> ring_;
  std::optional<std::int64_t> last_;
  std::optional<Counts> counts_;
};

class History final {
 public:
  static constexpr Duration kStep = Duration::seconds(15);
  // Bounds the memory: 12 KB each.
  static constexpr std::size_t kTubesMax = 100;

  // `observer` outlives it.
  explicit History(Observer& observer) : observer_(observer) {}

  Instant next_event() const { return due_; }
  void advance(Instant now);

  // The step that the last points belong to.
  std::int64_t step() const { return step_; }
  // Null: nothing is known of it. Valid until the next advance().
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

// Whether the backlog grew over the two minutes up to the step (tool/client/growth.hpp).
bool is_growing(const Track& track, std::int64_t step);

}  // namespace haricot::web
