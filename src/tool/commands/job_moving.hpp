// Moving one job to another tube of its server, so that at no moment it is in neither of them.
//
// The protocol has no command for it. The job is reserved, so that no worker has it meanwhile, put
// into the other tube, and then deleted. Between the put and the deletion it is in both.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tool/client/errand.hpp"
#include "tool/client/put_tags.hpp"
#include "tool/commands/tube_choice.hpp"

namespace haricot::tool {

// A buried job is put with this delay and then buried, so that no worker gets it in between.
inline constexpr std::uint64_t kDelayBeforeBuryS = 3600;

// The delay to put a job with that has been seen with so many whole seconds left: never too short.
std::uint64_t remaining_delay_s(std::uint64_t time_left_s);

// Where a job was when it was reserved, from its statistics right before that and right after.
// Nothing: somebody held it, or its statistics are none.
std::optional<Place> place_at_reserve(const StatsText& before, const StatsText& after);

class JobMover final {
 public:
  enum class Outcome : std::uint8_t {
    moved,
    gone,    // The job is not there any more, a worker holds it, or it is not in a place that is
             // meant.
    stayed,  // It could not be moved, and is where it was. The message is printed.
    failed,  // The server has failed, and its failure() says why. What is known of the job is
             // printed.
  };

  // Requires: the tubes are two, and the connection is open.
  JobMover(Errand& errand, std::string from, std::string to, PlaceFlags places)
      : errand_(errand),
        support_(errand.server()),
        from_(std::move(from)),
        to_(std::move(to)),
        places_(places) {}

  // `tags`: those of the job, which it keeps.
  Outcome move(std::uint64_t id, const PutTags& tags);

 private:
  // What is known of the job that is being moved.
  struct Taken {
    std::uint64_t id = 0;
    Place place = Place::ready;
    std::uint64_t priority = 0;
    std::uint64_t delay_s = 0;  // Of a delayed job: what is left.
    std::uint64_t ttr_s = 0;
    std::string body;
    PutTags tags;
  };

  std::optional<Taken> take(std::uint64_t id, Outcome& outcome);
  std::optional<std::uint64_t> copy(const Taken& job, Outcome& outcome);
  Outcome leave(const Taken& job, const std::string& why);
  bool bury_copy(const Taken& job, std::uint64_t copy);
  Outcome remove_original(const Taken& job, std::uint64_t copy);
  Outcome fail(const std::string& what_is_known);
  bool give_back(const Taken& job);

  Errand& errand_;
  TagSupport support_;
  std::string from_;
  std::string to_;
  PlaceFlags places_;
};

}  // namespace haricot::tool
