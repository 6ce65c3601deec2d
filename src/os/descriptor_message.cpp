#include "os/descriptor_message.hpp"

#include <cstring>

#include "haricot/base/check.hpp"

namespace haricot::os {

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

}  // namespace haricot::os
