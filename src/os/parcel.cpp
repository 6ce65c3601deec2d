#include "os/parcel.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "os/descriptor_message.hpp"

namespace haricot::os {
namespace {

constexpr std::string_view kStateName = "parcel-state";
constexpr std::string_view kSocketName = "parcel-descriptors-";

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

std::string failure(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

// Returns the bytes of a message: the number of its descriptors.
std::string_view bytes_of(const std::uint32_t& count) {
  return {reinterpret_cast<const char*>(&count), sizeof count};
}

std::string socket_name(std::size_t index) {
  return std::string(kSocketName) + std::to_string(index);
}

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
    const std::size_t count = std::min(descriptors.size(), DescriptorMessage::kDescriptorsMax);
    if (!add_some(descriptors.first(count), error)) return false;
    descriptors = descriptors.subspan(count);
  }
  return true;
}

// Sends a message. The buffer of a socket takes some ten thousand descriptors; then the next pair
// begins.
bool ParcelWriter::add_some(std::span<const int> descriptors, std::string& error) {
  const auto count = static_cast<std::uint32_t>(descriptors.size());
  DescriptorMessage message(bytes_of(count), descriptors);
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
  sender_.reset();  // The end of the input marks it as complete.
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
  errno = 0;
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
    // A peek advances past the bytes that it has returned, without consuming them.
    const int from_first = 0;
    if (::setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &from_first, sizeof from_first) != 0) {
      error = failure("cannot peek at the sockets of the parcel");
      return false;
    }
    while (true) {
      std::uint32_t count = 0;
      const std::size_t before = copies.size();
      DescriptorMessage message(std::span(reinterpret_cast<char*>(&count), sizeof count));
      const ssize_t received =
          ::recvmsg(socket, message.header(), MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
      if (received == 0) break;
      if (received < 0) {
        error = failure("the parcel is not finished");
        return false;
      }
      if (!message.move_to(copies) || copies.size() - before != count) {
        error = "cannot receive all descriptors of the parcel: too many are open";
        errno = EMFILE;
        return false;
      }
    }
  }
  return true;
}

}  // namespace haricot::os
