// Statistics of a tube at one moment, tables of tubes, and growing backlogs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::tool {

// Times of a tube, from stats-tube-detail. They cover the jobs of the last minutes, and are 0
// without such jobs.
struct TubeTimes {
  std::uint64_t oldest_ready_s = 0;  // Age of the job that has been ready longest.
  std::uint64_t wait_p50_ms = 0;     // From ready to reserve.
  std::uint64_t wait_p99_ms = 0;
  std::uint64_t work_p50_ms = 0;  // From reserve to delete.
  std::uint64_t work_p99_ms = 0;
};

struct TubeStats {
  std::string name;
  std::string report;  // Answer of the server. Kept as text to save memory, because there may be
                       // very many tubes.
  std::uint64_t ready = 0;
  std::uint64_t urgent = 0;
  std::uint64_t reserved = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;
  std::uint64_t waiting = 0;
  std::optional<std::uint64_t> watching;  // Clients that watch the tube, waiting or not.
  std::uint64_t puts = 0;                 // Since the tube was created.
  std::optional<std::uint64_t> deletes;   // Since the tube was created; old servers do not count
                                          // them.
  std::uint64_t paused_s = 0;             // Time until the pause ends; 0 if not paused.
  std::optional<double> put_rate;         // Jobs per second; empty if not measured.
  std::optional<double> delete_rate;
  std::optional<TubeTimes> times;  // Empty if the server does not know them, or was not asked.

  bool is_idle() const { return ready + reserved + delayed + buried + waiting == 0; }
};

// Parses the answer of stats-tube. Returns nothing if it is malformed.
std::optional<TubeStats> tube_stats(std::string name, std::string report);

// Adds the answer of stats-tube-detail, also to the report. Returns false if it is malformed.
[[nodiscard]] bool add_times(TubeStats& tube, std::string_view detail);

// Sets the rates of a tube from its statistics `seconds` earlier. Leaves them empty if a counter
// has decreased, because then a new tube has the same name.
void set_rates(TubeStats& now, const TubeStats& before, double seconds);

enum class TubeColumn : std::uint8_t {
  ready,
  urgent,
  reserved,
  delayed,
  buried,
  waiting,
  put_rate,
  delete_rate,
  paused,
  name,
  // Only in tables whose tubes have times.
  oldest,
  wait,
  work
};

// Numbers of columns of tables without times, and with times. Columns without times come first in
// TubeColumn.
inline constexpr std::size_t kTubeColumns = 10;
inline constexpr std::size_t kAllTubeColumns = 13;

inline bool is_of_times(TubeColumn column) {
  return static_cast<std::size_t>(column) >= kTubeColumns;
}

// Returns the column's title, which is also its name on the command line.
std::string_view title_of(TubeColumn column);

// Returns the first `columns` titles as a list for messages: "ready, urgent or tube".
std::string titles_in_words(std::size_t columns);
// Returns the column with this title among the first `columns`.
std::optional<TubeColumn> column_called(std::string_view title, std::size_t columns);

// Sorts names from A to Z, numbers from the largest down, unknown values last, and equal tubes by
// name. `reversed` reverses the order. Wait and work are compared by median, then by 99th
// percentile.
void sort_tubes(std::vector<TubeStats>& tubes, TubeColumn column, bool reversed);

struct TubeTable {
  std::string header;
  std::vector<std::string> rows;
};

// Returns aligned columns, names last. If a tube has times, they come before the names: the age of
// the oldest ready job, and wait and work as MEDIAN/99TH-PERCENTILE.
TubeTable tube_table(const std::vector<TubeStats>& tubes);

// Returns an object with the values of the server, put-rate and delete-rate, which are null if not
// measured.
std::string to_json(const TubeStats& tube);

// Formats 900 as "900ms" and 1500 as "1.5s"; longer times in m, h or d.
std::string format_milliseconds(std::uint64_t milliseconds);
// Formats a rate with one decimal below 10, and as "-" if it is unknown.
std::string format_rate(std::optional<double> rate);
// Formats a rate as a JSON number or null.
std::string json_rate(std::optional<double> rate);

// Detects a growing backlog from the ready jobs of a tube at the last samples: returns true if
// every count of the newer half exceeds every count of the older half. If the number of counts is
// odd, the middle one belongs to the older half. Returns false for fewer than four counts. `ready`
// is ordered from oldest to newest.
bool is_growing(std::span<const std::uint32_t> ready);

}  // namespace haricot::tool
