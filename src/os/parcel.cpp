#include "os/parcel.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot::os {
namespace {

constexpr std::string_view kStateName = "parcel-state";
constexpr std::string_view kSocketName = "parcel-descriptors-";

// As many as the kernel takes in one message are three more.
constexpr std::size_t kDescriptorsPerMessage = 250;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

std::string failure(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

std::string socket_name(std::size_t index) {
  return std::string(kSocketName) + std::to_string(index);
}

// A message with descriptors, and a number that tells its place among all.
class Message {
 public:
  Message() {
    header_.msg_iov = &piece_;
    header_.msg_iovlen = 1;
    header_.msg_control = control_.data();
    header_.msg_controllen = control_.size();
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void fill(std::span<const int> descriptors) {
    CHECK(descriptors.size() <= kDescriptorsPerMessage);
    count_ = static_cast<std::uint32_t>(descriptors.size());
    header_.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const control = CMSG_FIRSTHDR(&header_);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(control), descriptors.data(), descriptors.size_bytes());
  }
  // Appends those that came with it. False: it is none of ours, or not all could be had.
  bool move_to(std::vector<Descriptor>& to) {
    std::size_t came = 0;
    for (cmsghdr* at = CMSG_FIRSTHDR(&header_); at != nullptr; at = CMSG_NXTHDR(&header_, at)) {
      if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i, ++came) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(at) + i * sizeof number, sizeof number);
        to.emplace_back(number);
      }
    }
    return came == count_ && (header_.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0;
  }
  msghdr* header() { return &header_; }

 private:
  std::uint32_t count_ = 0;
  iovec piece_{&count_, sizeof count_};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsPerMessage * sizeof(int))> control_{};
  msghdr header_{};
};

}  // namespace

bool ParcelWriter::open(std::string& error) {
  state_ = Descriptor(::memfd_create("haricot-state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!state_) error = failure("cannot make a file in memory");
  return static_cast<bool>(state_);
}

bool ParcelWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(state_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool ParcelWriter::add(std::span<const int> descriptors, std::string& error) {
  while (!descriptors.empty()) {
    const std::size_t count = std::min(descriptors.size(), kDescriptorsPerMessage);
    if (!add_some(descriptors.first(count), error)) return false;
    descriptors = descriptors.subspan(count);
  }
  return true;
}

// The buffer of a socket takes some ten thousand descriptors; then the next pair is begun.
bool ParcelWriter::add_some(std::span<const int> descriptors, std::string& error) {
  Message message;
  message.fill(descriptors);
  for (bool is_new = false;; is_new = true) {
    if (!sender_ && !begin_pair(error)) return false;
    if (::sendmsg(sender_.get(), message.header(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
    if (errno != EAGAIN || is_new) break;
    sender_.reset();
  }
  error = failure("cannot put descriptors into a socket");
  return false;
}

bool ParcelWriter::begin_pair(std::string& error) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    error = failure("cannot make a pair of sockets");
    return false;
  }
  sender_ = Descriptor(ends[0]);
  receivers_.emplace_back(ends[1]);
  return true;
}

bool ParcelWriter::finish(std::vector<NamedDescriptor>& parts, std::string& error) {
  sender_.reset();  // The end of what is received tells that it was all.
  if (::fcntl(state_.get(), F_ADD_SEALS, kSeals) != 0) {
    error = failure("cannot seal the file in memory");
    return false;
  }
  parts.push_back({std::string(kStateName), std::move(state_)});
  for (std::size_t i = 0; i < receivers_.size(); ++i) {
    parts.push_back({socket_name(i), std::move(receivers_[i])});
  }
  receivers_.clear();
  return true;
}

bool Parcel::is_part(std::string_view name) {
  return name == kStateName || name.starts_with(kSocketName);
}

std::optional<Parcel> Parcel::open(std::vector<NamedDescriptor> parts, std::string& error) {
  std::vector<NamedDescriptor> in_order;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string wanted = i == 0 ? std::string(kStateName) : socket_name(i - 1);
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const NamedDescriptor& part) {
      return part.name == wanted;
    });
    if (found == parts.end()) {
      error = "the parcel has no part " + wanted;
      return std::nullopt;
    }
    in_order.push_back({wanted, std::move(found->descriptor)});
    found->name.clear();
  }
  if (in_order.empty()) {
    error = "the parcel is empty";
    return std::nullopt;
  }
  Parcel parcel(std::move(in_order));
  if (!parcel.map_state(error)) return std::nullopt;
  return parcel;
}

Parcel::Parcel(Parcel&& other) noexcept
    : parts_(std::move(other.parts_)), state_(std::exchange(other.state_, {})) {}

Parcel::~Parcel() {
  if (!state_.empty()) ::munmap(const_cast<char*>(state_.data()), state_.size());
}

bool Parcel::map_state(std::string& error) {
  const int file = parts_[0].descriptor.get();
  struct stat status {};
  if (::fcntl(file, F_GET_SEALS) != kSeals || ::fstat(file, &status) != 0) {
    error = "the state in the parcel is not sealed";
    return false;
  }
  if (status.st_size == 0) return true;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    error = failure("cannot map the state in the parcel");
    return false;
  }
  state_ = {static_cast<const char*>(memory), bytes};
  return true;
}

bool Parcel::copy_descriptors(std::vector<Descriptor>& copies, std::string& error) const {
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    const int socket = parts_[i].descriptor.get();
    // A peek passes what it has looked at, and takes nothing out.
    const int from_first = 0;
    if (::setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &from_first, sizeof from_first) != 0) {
      error = failure("cannot look into the sockets of the parcel");
      return false;
    }
    while (true) {
      Message message;
      const ssize_t received =
          ::recvmsg(socket, message.header(), MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
      if (received == 0) break;
      if (received < 0) {
        error = failure("the parcel is not finished");
        return false;
      }
      if (!message.move_to(copies)) {
        error = "not all descriptors of the parcel can be had: too many are open";
        return false;
      }
    }
  }
  return true;
}

}  // namespace haricot::os
