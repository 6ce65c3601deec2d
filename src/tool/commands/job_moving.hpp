// Moves jobs of a tube to another tube of an errand's server (tool/client/job_move.hpp).

#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "tool/client/errand.hpp"
#include "tool/client/job_move.hpp"
#include "tool/client/put_tags.hpp"

namespace haricot::tool {

class JobMover final {
 public:
  // Requires: the tubes differ, and the connection is open.
  JobMover(Errand& errand, std::string from, std::string to, PlaceFlags places)
      : errand_(errand),
        support_(errand.server()),
        from_(std::move(from)),
        to_(std::move(to)),
        places_(places) {}

  // Moves a job; `tags` are its tags, which the copy keeps. Prints messages for the operator. After
  // Outcome::failed the server's failure() has the reason.
  JobMove::Outcome move(std::uint64_t id, const PutTags& tags);

 private:
  Errand& errand_;
  TagSupport support_;
  std::string from_;
  std::string to_;
  PlaceFlags places_;
};

}  // namespace haricot::tool
