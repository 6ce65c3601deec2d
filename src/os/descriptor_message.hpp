// A message on a unix socket that carries open descriptors (SCM_RIGHTS).

#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "os/descriptor.hpp"

namespace haricot::os {

class DescriptorMessage {
 public:
  // The kernel accepts three more in a message.
  static constexpr std::size_t kDescriptorsMax = 250;

  // Message to send. Requires: the bytes outlive it, and there are at most kDescriptorsMax
  // descriptors.
  explicit DescriptorMessage(std::string_view bytes, std::span<const int> descriptors = {});
  // Message to receive into `room`, which outlives it.
  explicit DescriptorMessage(std::span<char> room);
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  // For sendmsg() and recvmsg().
  msghdr* header() { return &header_; }
  // Appends the received descriptors, which the caller owns then. Returns false if bytes or
  // descriptors are missing. Called once, for a received message.
  [[nodiscard]] bool move_to(std::vector<Descriptor>& to);

 private:
  iovec piece_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control_;
  msghdr header_{};
};

}  // namespace haricot::os
