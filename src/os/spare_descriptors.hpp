// Descriptors that are kept for one user, so that nobody else can take the last ones.
//
// A busy server may have a connection for every descriptor, and still its binlog needs a descriptor
// for the next file. So the reserve takes some in advance, as duplicates of one that is open
// anyway, and closes one when a descriptor is needed. This works also if other processes have taken
// the last descriptors of the system.

#pragma once

#include <cstddef>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::os {

class SpareDescriptors {
 public:
  // How many to keep if a process may have so many: enough for the files of a binlog, but not all.
  static std::size_t share_of(std::size_t descriptors_max);

  // Takes so many, or as many as there are. `model` is open as long as this is in use.
  void fill(int model, std::size_t count);

  // Closes all and takes them anew, because the model is another file than before.
  void renew();

  // Closes one, so that the next call that needs a descriptor gets it. False: there is none left.
  [[nodiscard]] bool release_one();

  // Takes descriptors again for those that were closed, as far as there are any. To be called when
  // some other descriptor was closed.
  void refill();

 private:
  int model_ = -1;
  std::size_t wanted_ = 0;
  std::vector<Descriptor> spares_;  // Never allocates after fill().
};

}  // namespace haricot::os
