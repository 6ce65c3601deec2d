// What is known of a tube at one moment, and tables of tubes.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::tool {

// What stats-tube-detail tells of a tube. The times are of the jobs of the last minutes, 0 if there
// were none.
struct TubeTimes {
  std::uint64_t oldest_ready_s = 0;  // Since the job became ready that has waited longest.
  std::uint64_t wait_p50_ms = 0;     // From getting ready to being reserved.
  std::uint64_t wait_p99_ms = 0;
  std::uint64_t work_p50_ms = 0;  // From the reserve to the delete.
  std::uint64_t work_p99_ms = 0;
};

struct TubeStats {
  std::string name;
  std::string report;  // As the server has said it: text, for there may be very many tubes.
  std::uint64_t ready = 0;
  std::uint64_t urgent = 0;
  std::uint64_t reserved = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;
  std::uint64_t waiting = 0;
  std::optional<std::uint64_t> watching;  // Clients that watch the tube, waiting or not.
  std::uint64_t puts = 0;                 // Since the tube is there.
  std::optional<std::uint64_t> deletes;   // The same; old servers do not count them.
  std::uint64_t paused_s = 0;             // Until the pause ends; 0: not paused.
  std::optional<double> put_rate;         // Jobs a second; nothing: not measured.
  std::optional<double> delete_rate;
  std::optional<TubeTimes> times;  // Nothing: the server does not tell them, or was not asked.

  bool is_idle() const { return ready + reserved + delayed + buried + waiting == 0; }
};

// Nothing: the report is none.
std::optional<TubeStats> tube_stats(std::string name, std::string report);

// Adds what stats-tube-detail has answered, to the report too. False: the answer is none.
[[nodiscard]] bool add_times(TubeStats& tube, std::string_view detail);

// Fills in the rates of a tube from what it was `seconds` before. Counters that went back belong to
// another tube of the same name: then there are none.
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

// Columns of a table without times, which come first in TubeColumn, and of one with times.
inline constexpr std::size_t kTubeColumns = 10;
inline constexpr std::size_t kAllTubeColumns = 13;

inline bool is_of_times(TubeColumn column) {
  return static_cast<std::size_t>(column) >= kTubeColumns;
}

// Its title in tables, and its name on the command line.
std::string_view title_of(TubeColumn column);

// The first `columns` titles, as the value that a flag wants: "ready, urgent or tube".
std::string titles_in_words(std::size_t columns);
// Returns the column with this title among the first `columns`.
std::optional<TubeColumn> column_called(std::string_view title, std::size_t columns);

// Sorts names from A to Z, numbers from the largest down, unknown values last, and equal tubes by
// name. `reversed` reverses the order. Waits and works are compared by their medians, and then by
// their 99th percentiles.
void sort_tubes(std::vector<TubeStats>& tubes, TubeColumn column, bool reversed);

struct TubeTable {
  std::string header;
  std::vector<std::string> rows;
};

// Aligned columns, names last. Where one of the tubes has times, they stand before the names: the
// age of the oldest ready job, and the times of waiting and of work, each as
// MEDIAN/99TH-PERCENTILE.
TubeTable tube_table(const std::vector<TubeStats>& tubes);

// An object: what the server has said, and put-rate and delete-rate, null if not measured.
std::string to_json(const TubeStats& tube);

// 900 as "900ms", 1500 as "1.5s", then m, h and d.
std::string format_milliseconds(std::uint64_t milliseconds);
// "-" for one that is not known; one decimal below 10.
std::string format_rate(std::optional<double> rate);
// A number of JSON, or null.
std::string json_rate(std::optional<double> rate);

}  // namespace haricot::tool
