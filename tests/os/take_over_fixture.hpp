// Servers of which each takes everything over from the previous one.

#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/daemon_fixture.hpp"

namespace haricot::test {

// One end of the socket between servers, used by the test.
class Talk {
 public:
  explicit Talk(int socket = -1) : socket_(socket) {}
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;
  ~Talk() { close(); }
  static sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
  }

  bool connect(const std::string& path) {
    close();
    socket_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(path);
    return ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  bool listen(const std::string& path) {
    close();
    socket_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(path);
    return ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
           ::listen(socket_, 1) == 0;
  }
  int accept() const { return ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC); }
  bool say(const std::string& words, const std::vector<int>& descriptors = {}) const {
    iovec piece{const_cast<char*>(words.data()), words.size()};
    alignas(cmsghdr) std::array<char, 1024> control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
      const std::size_t bytes = descriptors.size() * sizeof(int);
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(bytes);
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(bytes);
      std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
    }
    return ::sendmsg(socket_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(words.size());
  }
  // Receives a message; empty: the other end is closed. The caller owns the received descriptors.
  std::string hear(std::vector<int>& descriptors) const {
    std::array<char, 4096> room{};
    iovec piece{room.data(), room.size()};
    alignas(cmsghdr) std::array<char, 1024> control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t bytes = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
    const cmsghdr* const header = bytes > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (header != nullptr) {
      descriptors.resize((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(descriptors.data(), CMSG_DATA(header), descriptors.size() * sizeof(int));
    }
    return {room.data(), bytes < 0 ? 0 : static_cast<std::size_t>(bytes)};
  }
  // Receives a message, and closes its descriptors.
  std::string hear() const {
    std::vector<int> descriptors;
    std::string words = hear(descriptors);
    for (const int descriptor : descriptors) ::close(descriptor);
    return words;
  }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  int socket_ = -1;
};

// Stands between two servers, and passes on what they say.
class Relay {
 public:
  // Asks the server that listens at `first` for everything, and listens at `late` for the next one.
  bool begin(const std::string& first, const std::string& late) {
    if (!here_.connect(first) || !here_.say("take over")) return false;
    parts_ = here_.hear(descriptors_);
    return parts_.starts_with("parts ") && listener_.listen(late);
  }
  // Gives the next one everything, and waits until it is ready.
  bool pass_parts() {
    there_ = std::make_unique<Talk>(listener_.accept());
    const bool has_asked = there_->hear() == "take over" && there_->say(parts_, descriptors_);
    for (const int descriptor : descriptors_) ::close(descriptor);
    descriptors_.clear();
    return has_asked && there_->hear() == "mine";
  }
  // The first one gives everything up.
  bool end_first() { return here_.say("mine") && here_.hear() == "yours" && here_.hear().empty(); }
  bool let_next_begin() {
    const bool is_said = there_->say("yours");
    there_->close();
    return is_said;
  }

 private:
  Talk here_;
  Talk listener_;
  std::unique_ptr<Talk> there_;
  std::string parts_;
  std::vector<int> descriptors_;
};

// With and without a binlog.
class TakeOver : public DaemonTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) binlog_ = {"-b", jobs_.path()};
  }
  std::string path() const { return folder_.file("next"); }

  void start_first(std::vector<std::string> arguments = {}) {
    arguments.push_back("--take-over-socket=" + path());
    arguments.insert(arguments.end(), binlog_.begin(), binlog_.end());
    ASSERT_TRUE(start(arguments)) << server_.failure();
    arguments_ = {"-l", "127.0.0.1", "-p", std::to_string(server_.port())};
    arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
  }
  // Starts a server that asks the first one, or the one that has taken over from it. `binary`: of
  // another build.
  ServerProcess& launch_next(std::vector<std::string> arguments, const std::string& binary = {}) {
    arguments.push_back("--take-over=" + path());
    next_.push_back(std::make_unique<ServerProcess>());
    ServerOptions options = options_with(std::move(arguments));
    if (!binary.empty()) options.binary = binary;
    EXPECT_TRUE(next_.back()->launch(options));
    return *next_.back();
  }
  ServerProcess& last() { return next_.empty() ? server_ : *next_.back(); }
  void take_over(const std::string& binary = {}) {
    ServerProcess& before = last();
    ServerProcess& next = launch_next(arguments_, binary);
    EXPECT_EQ(before.wait_exit(), kGood) << before.standard_error() << next.standard_error();
    ASSERT_TRUE(says(next, "event=taken-over")) << next.standard_error();
  }
  static bool says(const ServerProcess& server, const std::string& text) {
    return eventually([&] { return server.standard_error().find(text) != std::string::npos; });
  }
  // Expects that a server that was asked in vain continues, and logs why.
  void expect_refusal(const ServerProcess& server, const std::string& why) {
    EXPECT_TRUE(says(server, "event=hand-over-refused message=\"" + why))
        << server.standard_error();
  }

  TemporaryFolder jobs_;
  std::vector<std::string> binlog_;
  std::vector<std::string> arguments_;
  std::vector<std::unique_ptr<ServerProcess>> next_;
};

}  // namespace haricot::test
