#include "os/descriptor_reserve.hpp"

#include <fcntl.h>

#include <algorithm>

namespace haricot::os {

std::size_t DescriptorReserve::share_of(std::size_t descriptors_max) {
  constexpr std::size_t kPart = 4;
  // The file that is written, those ahead of it, and those that wait for their last sync.
  constexpr std::size_t kEnough = 32;
  return std::min(descriptors_max / kPart, kEnough);
}

void DescriptorReserve::fill(int model, std::size_t count) {
  model_ = model;
  wanted_ = count;
  kept_.reserve(count);
  refill();
}

void DescriptorReserve::renew() {
  kept_.clear();
  refill();
}

bool DescriptorReserve::release_one() {
  if (kept_.empty()) return false;
  kept_.pop_back();
  return true;
}

void DescriptorReserve::refill() {
  while (kept_.size() < wanted_) {
    Descriptor another(::fcntl(model_, F_DUPFD_CLOEXEC, 0));
    if (!another) return;
    kept_.push_back(std::move(another));
  }
}

}  // namespace haricot::os
