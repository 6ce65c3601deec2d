// Puts with keys for tests, and their outcomes.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "queue/engine_flush.hpp"
#include "support/engine_world.hpp"

namespace haricot::test {

// Outcome of a put with a key.
struct Again {
  Outcome outcome = Outcome::duplicate;
  JobId job = 0;  // Duplicates only: the job that has the key.
  bool is_raised = false;
  bool is_deleted = false;  // `job` is deleted.

  bool operator==(const Again&) const = default;
};

inline void PrintTo(const Again& again, std::ostream* out) {
  *out << "{outcome " << static_cast<int>(again.outcome) << " job " << again.job
       << (again.is_raised ? " raised" : "") << (again.is_deleted ? " deleted}" : "}");
}

inline Again tombstone(JobId id) {
  return {Outcome::duplicate, id, false};
}
inline Again raised(JobId id) {
  return {Outcome::duplicate, id, true};
}
inline Again deleted(JobId id) {
  return {Outcome::duplicate, id, false, true};
}

class EngineKeys : public EngineFlush {
 protected:
  // Puts a job, which must be created.
  JobId put(std::string_view tags = "idp:k", std::uint32_t priority = 100) {
    return world.put(producer, {.priority = priority, .tags = tags});
  }
  Again again(const PutOptions& options) {
    const Outcome outcome = world.try_put(producer, engine.take_id(), options);
    engine.check_invariants();
    if (outcome != Outcome::duplicate) return {outcome};
    const DuplicatePut& duplicate = engine.duplicate();
    return {outcome, world.id_of(duplicate.job), duplicate.is_raised, duplicate.is_deleted};
  }
  Again again(std::string_view tags = "idp:k", std::uint32_t priority = 100) {
    return again(PutOptions{.priority = priority, .tags = tags});
  }
  std::uint32_t priority(JobId id) { return world.report(id).priority; }

  Client& producer = world.connect();
  Client& worker = world.connect();
};

}  // namespace haricot::test
