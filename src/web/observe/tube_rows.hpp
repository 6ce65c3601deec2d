// The numbers of all tubes of a server: read from its answers, and packed.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/sip_hash.hpp"

namespace haricot::web {

// In the order of the servers' reports.
enum class TubeField : std::uint8_t {
  urgent,
  ready,
  reserved,
  delayed,
  buried,
  puts,
  using_clients,
  watching,
  waiting,
  deletes,
  pauses,
  pause,       // Whole length of the pause in seconds; 0 if not paused.
  pause_left,  // Seconds.
  // The fields from here on are known to haricotd only.
  oldest_ready,   // Seconds.
  oldest_buried,  // Seconds.
  wait_p50,       // Milliseconds, like the next three.
  wait_p99,
  work_p50,
  work_p99,
  tried_out,  // Jobs buried after their last try.
  blocked,    // Ready jobs beyond the limits of their tags `con`.
  // Derived from the fields above for each tube when it is exported, because sums over tubes need
  // them.
  overdue,     // oldest_ready of a tube that is not paused and has jobs that are not blocked.
  unattended,  // oldest_ready of a tube that is not paused and has no worker.
};
inline constexpr std::size_t kTubeFields = 23;
// Returns true if only haricotd reports the field.
inline bool is_detail(TubeField field) {
  return field >= TubeField::oldest_ready;
}

// Returns the key of the field in reports of servers; empty for a derived field.
std::string_view key_of(TubeField field);

struct TubeRow {
  std::string_view name;  // Borrowed.
  std::array<std::uint64_t, kTubeFields> numbers{};
  // Jobs per second; empty if not measured.
  std::optional<double> put_rate;
  std::optional<double> delete_rate;
  std::uint8_t label = 0;  // Label of TubeLabels; 0 if there is none.

  std::uint64_t operator[](TubeField field) const {
    return numbers[static_cast<std::size_t>(field)];
  }
  std::uint64_t& operator[](TubeField field) { return numbers[static_cast<std::size_t>(field)]; }
  std::uint64_t paused_s() const;  // Time until the pause ends; at least 1 while the tube is
                                   // paused, otherwise 0.
};

// The tubes of a server at one moment, packed for very many tubes: about 40 bytes each.
//
// Most numbers of most tubes are 0. So a packed row has the name, a mask of its numbers that are
// not 0, and these in as few bytes as possible. at() unpacks a row.
class TubeRows final {
 public:
  // `key` hashes the names, which clients can choose.
  explicit TubeRows(const HashKey& key) : key_(key) {}

  // Allocates memory for rows in advance. Growing would need twice as much for a moment.
  void reserve(std::size_t rows, std::size_t bytes);
  // Adds a row. Requires: no row has this name, and it has at most 255 bytes.
  void add(const TubeRow& row);
  // Frees memory that no row needs.
  void shrink();

  std::size_t size() const { return offsets_.size(); }
  std::size_t bytes() const { return packed_.size(); }
  // The name is valid until the next add().
  TubeRow at(std::size_t index) const;
  std::string_view name_at(std::size_t index) const;
  std::optional<std::size_t> find(std::string_view name) const;

 private:
  void grow_entries(std::size_t wanted);
  void enter(std::string_view name, std::uint32_t index);

  HashKey key_;
  std::string packed_;
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint32_t> entries_;  // Hash table of names: index of a row plus 1; 0 if the
                                        // entry is free.
};

// Answers of servers: stats-tube, and pages of stats-tubes ----------------------------------------
//
// Unlike StatsText, these functions store no text, and read only the keys of TubeField.

// Reads `key: value` lines into the row, except its name. Returns false if the text is no such
// answer.
[[nodiscard]] bool read_tube(std::string_view answer, TubeRow& row);

// Passes the tubes of a page to `take`; a row is valid during the call. Sets `next` to the first
// name of the next page, or to an empty text after the last page. Returns false if the text is no
// page.
[[nodiscard]] bool read_tubes_page(std::string_view answer, std::string& next,
                                   const std::function<void(TubeRow& row)>& take);

}  // namespace haricot::web
