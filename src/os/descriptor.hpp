// File descriptors: owned, in messages to other processes, and reserved in advance.

#pragma once

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace haricot::os {

// A file descriptor that its owner's destructor closes.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // Returns the descriptor, which the caller has to close.
  int release() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

// A descriptor that comes from, or goes to, another process, which recognizes it by the name.
struct NamedDescriptor {
  std::string name;
  Descriptor descriptor;
};

// A message on a unix socket that carries open descriptors (SCM_RIGHTS).
class DescriptorMessage {
 public:
  // Maximum number of descriptors in a message; the kernel accepts 253.
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

// Descriptors that are reserved for one purpose, so that other code cannot take the last ones.
//
// A busy server may have a connection for every descriptor, but its binlog still needs one for the
// next file. So the reserve takes some in advance, as duplicates of an open descriptor, and closes
// one when it is needed. This also works if other processes have taken the last descriptors of the
// system.
class SpareDescriptors {
 public:
  // Returns the number to reserve if a process may have that many: enough for the files of a
  // binlog, but not all.
  static std::size_t share_of(std::size_t descriptors_max);

  // Takes `count` descriptors, or as many as there are. Requires: `model` stays open.
  void fill(int model, std::size_t count);

  // Closes all and takes them again, because the model is another file now.
  void renew();

  // Closes one, so that the next call that needs a descriptor gets it. Returns false if none is
  // left.
  [[nodiscard]] bool release_one();

  // Replaces descriptors that were closed, as far as possible. Called after another descriptor was
  // closed.
  void refill();

 private:
  int model_ = -1;
  std::size_t wanted_ = 0;
  std::vector<Descriptor> spares_;  // Never allocates after fill().
};

}  // namespace haricot::os
