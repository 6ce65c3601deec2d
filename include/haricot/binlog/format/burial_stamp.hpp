// Stamps of buried jobs: numbers in their records, which keep the order, time and cause of burials.
//
// A stamp is greater than the one before it. It is the time of the burial, in nanoseconds of the
// wall clock, except its low eight bits: bits 5 to 7 are the cause, and the others check it. Other
// readers, and earlier versions, use only the order of stamps. The stamps of earlier versions have
// a time and no cause, and one of 32 passes the check with a random one.

#pragma once

#include <cstdint>
#include <optional>

#include "haricot/queue/burial_times.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::binlog {

struct StampedBurial {
  std::int64_t at = 0;  // On the wall clock.
  BurialCause cause = BurialCause::unknown;
};

// Returns the stamp of a burial. It is greater than `last`, so its time may be later than that of
// the burial.
std::int64_t stamp_of(JobId id, const StampedBurial& burial, std::int64_t last);
// Returns a stamp for a job whose burial is known only by its order.
std::int64_t stamp_without_time(JobId id, std::int64_t last);
// Returns nullopt for a stamp without a time.
std::optional<StampedBurial> burial_of(JobId id, std::int64_t stamp);

}  // namespace haricot::binlog
