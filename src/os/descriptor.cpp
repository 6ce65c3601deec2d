#include "os/descriptor.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "haricot/base/check.hpp"

namespace haricot::os {

// Messages ----------------------------------------------------------------------------------------

DescriptorMessage::DescriptorMessage(std::string_view bytes, std::span<const int> descriptors)
    : piece_{const_cast<char*>(bytes.data()), bytes.size()} {
  CHECK(descriptors.size() <= kDescriptorsMax);
  header_.msg_iov = &piece_;
  header_.msg_iovlen = 1;
  if (descriptors.empty()) return;
  header_.msg_control = control_.data();
  header_.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  std::memset(control_.data(), 0, header_.msg_controllen);
  cmsghdr* const control = CMSG_FIRSTHDR(&header_);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(control), descriptors.data(), descriptors.size_bytes());
}

DescriptorMessage::DescriptorMessage(std::span<char> room) : piece_{room.data(), room.size()} {
  header_.msg_iov = &piece_;
  header_.msg_iovlen = 1;
  header_.msg_control = control_.data();
  header_.msg_controllen = control_.size();
}

bool DescriptorMessage::move_to(std::vector<Descriptor>& to) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&header_); at != nullptr; at = CMSG_NXTHDR(&header_, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(at) + i * sizeof number, sizeof number);
      to.emplace_back(number);
    }
  }
  return (header_.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0;
}

// Reserved descriptors ----------------------------------------------------------------------------

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
