// Descriptors that are kept for one user, so that nobody else can take the last ones.
//
// A busy server has a connection for every descriptor it may have, and its binlog needs one for the
// next file all the same. So some are taken in advance, as duplicates of one that is open anyway,
// and given up one by one when they are needed. That holds against other processes, too, where the
// whole system is short of them.

#pragma once

#include <cstddef>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::os {

class DescriptorReserve {
 public:
  // How many to keep where a process may have so many: enough for the files of a binlog, and not
  // all that there are.
  static std::size_t share_of(std::size_t descriptors_max);

  // Takes so many, or as many as there are. `model` is open as long as this is in use.
  void fill(int model, std::size_t count);

  // Closes all and takes them anew: the model stands for something else than before.
  void renew();

  // Gives one up, so that the next call that needs a descriptor gets it. False: there is none left.
  [[nodiscard]] bool release_one();

  // Takes back what was given up, as far as there is something to be had. For whenever a descriptor
  // was closed.
  void refill();

 private:
  int model_ = -1;
  std::size_t wanted_ = 0;
  std::vector<Descriptor> kept_;  // Never allocates after fill().
};

}  // namespace haricot::os
