// Descriptors that are reserved for one user, so that others cannot take the last ones.
//
// A busy server may have a connection for every descriptor, but its binlog still needs one for the
// next file. So the reserve takes some in advance, as duplicates of an open descriptor, and closes
// one when it is needed. This also works if other processes have taken the last descriptors of the
// system.

#pragma once

#include <cstddef>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::os {

class SpareDescriptors {
 public:
  // Returns the number to reserve if a process may have that many: enough for the files of a
  // binlog, but not all.
  static std::size_t share_of(std::size_t descriptors_max);

  // Takes `count` descriptors, or as many as there are. Requires: `model` stays open.
  void fill(int model, std::size_t count);

  // Closes all and takes them again, because the model is another file now.
  void renew();

  // Closes one, so that the next call that needs a descriptor gets it. Returns false if none is
  // left.
  [[nodiscard]] bool release_one();

  // Replaces descriptors that were closed, as far as possible. Called after another descriptor was
  // closed.
  void refill();

 private:
  int model_ = -1;
  std::size_t wanted_ = 0;
  std::vector<Descriptor> spares_;  // Never allocates after fill().
};

}  // namespace haricot::os
