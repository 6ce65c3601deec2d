// What is known of the tubes of a server at one moment, for very many tubes: about 40 bytes each.
//
// Most numbers of most tubes are 0. So a row is packed: its name, which numbers it has, and these
// with as few bytes as they need. Who wants a row unpacks it.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/sip_hash.hpp"

namespace haricot::web {

// In the order in which servers tell them.
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
  pause,          // Seconds that the pause had when it began; 0: not paused.
  pause_left,     // Seconds.
  oldest_ready,   // Seconds.
  oldest_buried,  // Seconds.
  wait_p50,       // Milliseconds, as the next three.
  wait_p99,
  work_p50,
  work_p99,
  tried_out,  // Buried because their tries were used up.
  // Derived from the fields above when they are exported, because sums of tubes need them by tube.
  overdue,     // oldest_ready of a tube that is not paused.
  unattended,  // oldest_ready of a tube that is not paused and has no worker.
};
inline constexpr std::size_t kTubeFields = 22;

// Returns the key of the field in reports of servers; empty for a derived field.
std::string_view key_of(TubeField field);

struct TubeRow {
  std::string_view name;  // Borrowed.
  std::array<std::uint64_t, kTubeFields> numbers{};
  // Jobs a second. Nothing: not measured.
  std::optional<double> put_rate;
  std::optional<double> delete_rate;
  std::uint8_t label = 0;  // Of TubeLabels; 0: it has none.

  std::uint64_t operator[](TubeField field) const {
    return numbers[static_cast<std::size_t>(field)];
  }
  std::uint64_t& operator[](TubeField field) { return numbers[static_cast<std::size_t>(field)]; }
  std::uint64_t paused_s() const;  // Until the pause ends; at least 1 as long as it is one.
};

class TubeRows final {
 public:
  // `key`: clients choose the names.
  explicit TubeRows(const HashKey& key) : key_(key) {}

  // Takes the memory for so many rows at once: it is twice as much for a moment where rows grow.
  void reserve(std::size_t rows, std::size_t bytes);
  // Requires: no row has this name, and names have at most 255 bytes.
  void add(const TubeRow& row);
  // Gives back what no row needs.
  void shrink();

  std::size_t size() const { return offsets_.size(); }
  std::size_t bytes() const { return packed_.size(); }
  // The name is valid as long as no row is added.
  TubeRow at(std::size_t index) const;
  std::string_view name_at(std::size_t index) const;
  std::optional<std::size_t> find(std::string_view name) const;

 private:
  void grow_entries(std::size_t wanted);
  void enter(std::string_view name, std::uint32_t index);

  HashKey key_;
  std::string packed_;
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint32_t> entries_;  // Index of a row and 1 by its name's hash; 0: free.
};

}  // namespace haricot::web
