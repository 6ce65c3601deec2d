// A message on a unix socket with open descriptors beside its bytes (SCM_RIGHTS).

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
  // As many as the kernel takes in one message are three more.
  static constexpr std::size_t kDescriptorsMax = 250;

  // One to send. The bytes outlive it. Requires: no more than kDescriptorsMax.
  explicit DescriptorMessage(std::string_view bytes, std::span<const int> descriptors = {});
  // One to receive, of as many bytes as there is room for, which outlives it.
  explicit DescriptorMessage(std::span<char> room);
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  // For sendmsg() and recvmsg().
  msghdr* header() { return &header_; }
  // Appends the descriptors that came with it, which are the caller's then. False: the bytes, or
  // the descriptors, are not all that were sent. Called once, of a message that was received.
  [[nodiscard]] bool move_to(std::vector<Descriptor>& to);

 private:
  iovec piece_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control_;
  msghdr header_{};
};

}  // namespace haricot::os
