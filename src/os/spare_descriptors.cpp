#include "os/spare_descriptors.hpp"

#include <fcntl.h>

#include <algorithm>

namespace haricot::os {

std::size_t SpareDescriptors::share_of(std::size_t descriptors_max) {
  constexpr std::size_t kPart = 4;
  // The file being written, those ahead of it, and those that wait for their last sync.
  constexpr std::size_t kEnough = 32;
  return std::min(descriptors_max / kPart, kEnough);
}

void SpareDescriptors::fill(int model, std::size_t count) {
  model_ = model;
  wanted_ = count;
  spares_.reserve(count);
  refill();
}

void SpareDescriptors::renew() {
  spares_.clear();
  refill();
}

bool SpareDescriptors::release_one() {
  if (spares_.empty()) return false;
  spares_.pop_back();
  return true;
}

void SpareDescriptors::refill() {
  while (spares_.size() < wanted_) {
    Descriptor another(::fcntl(model_, F_DUPFD_CLOEXEC, 0));
    if (!another) return;
    spares_.push_back(std::move(another));
  }
}

}  // namespace haricot::os
