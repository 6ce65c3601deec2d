// Times and causes of the burials of jobs in a JobStore.
//
// Few jobs are buried, so no job has fields for this. A chunk of the store with a buried job has a
// column of four bytes for each of its pieces, until the last of its burials is forgotten. If
// memory for a column is short, a burial is not stored.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "haricot/base/time.hpp"

namespace haricot {

// Cause of a burial. Binlogs and states store these numbers; 0 to 7 are possible.
enum class BurialCause : std::uint8_t {
  client = 1,  // The command bury.
  // The tries of the job were used up, and the last one ended by a release, by the end of the TTR,
  // or by the end of the connection.
  released = 2,
  timed_out = 3,
  closed = 4,
  memory = 6,  // There was no memory to delay the job at the end of a try.
  unknown = 7,
};
// Returns the cause with that number; `unknown` if there is none.
constexpr BurialCause burial_cause(std::uint32_t number) {
  const auto cause = static_cast<BurialCause>(number);
  switch (cause) {
    case BurialCause::client:
    case BurialCause::released:
    case BurialCause::timed_out:
    case BurialCause::closed:
    case BurialCause::memory:
    case BurialCause::unknown:
      return cause;
  }
  return BurialCause::unknown;
}

struct Burial {
  Instant since;
  BurialCause cause = BurialCause::unknown;
};

// A piece of a chunk of the JobStore.
struct PieceRef {
  std::uint32_t chunk;
  std::uint32_t piece;
};

class BurialTimes {
 public:
  // Stores the burial of the job in a piece. `pieces` is the number of pieces of its chunk.
  void set(PieceRef at, std::uint32_t pieces, const Burial& burial);
  // Forgets the burial of the job in a piece, if there is one.
  void clear(PieceRef at);
  // Returns the burial of the job in a piece, its time rounded down to a second; nullopt if none is
  // stored. The time counts modulo 17 years, and is at most twelve days later than `now`.
  std::optional<Burial> get(PieceRef at, Instant now) const;
  // Returns true if the burial of the job in a piece is stored.
  bool has(PieceRef at) const { return stored(at) != 0; }

  // Number of stored burials.
  std::uint64_t size() const { return size_; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  struct Column {
    // By piece, 0 for one without a burial. Null: no piece of the chunk has one.
    std::unique_ptr<std::uint32_t[]> burials;
    std::uint32_t pieces = 0;
    std::uint32_t size = 0;  // Number of burials.
  };

  bool make(Column& column, std::uint32_t pieces);
  std::uint32_t stored(PieceRef at) const;

  std::vector<Column> columns_;  // By number of chunk.
  std::uint64_t size_ = 0;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace haricot
