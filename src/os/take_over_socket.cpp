#include "os/take_over_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "os/address.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

namespace haricot::os {
namespace {

constexpr std::string_view kTakeOver = "take over";
constexpr std::string_view kParts = "parts ";
constexpr std::string_view kNo = "no ";
constexpr std::string_view kMine = "mine";
constexpr std::string_view kYours = "yours";

// Longer than a server needs to finish its work, or to report that it cannot.
constexpr Duration kAnswerPatience = Duration::seconds(30);

using Room = std::array<char, 16 * 1024>;

bool send_message(int socket, std::string_view words, std::span<const int> descriptors = {}) {
  DescriptorMessage message(words, descriptors);
  return ::sendmsg(socket, message.header(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

// Receives a message. Valid as long as the room; empty if there is none now, or never will be.
std::string_view receive_message(int socket, Room& room) {
  const ssize_t bytes = ::recv(socket, room.data(), room.size(), 0);
  return bytes <= 0 ? std::string_view{}
                    : std::string_view(room.data(), static_cast<std::size_t>(bytes));
}

// Waits for a message until `patience` is over or this process is asked to end: that signal is not
// meant for the next one.
bool wait_for_message(int socket, Duration patience, Notifier& notifier) {
  constexpr Duration kPollInterval = Duration::milliseconds(100);
  const Instant end = read_clock() + patience;
  for (Instant now = read_clock(); now < end && !is_asked_to_end(); now = read_clock()) {
    if (notifier.wait_for(socket, std::min(kPollInterval, end - now))) return true;
  }
  return false;
}

// Returns true if the process at the other end may take over this server.
bool may_take_over(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

}  // namespace

// The running server ------------------------------------------------------------------------------

bool TakeOverSocket::attach(Daemon& daemon, std::string& error) {
  daemon_ = &daemon;
  listener_source_.descriptor = listener_.descriptor();
  if (daemon.add_source(listener_source_, EPOLLIN)) return true;
  error = "cannot wait on " + listener_.name() + ": " + std::strerror(errno);
  return false;
}

// A later process replaces one that has not asked yet.
void TakeOverSocket::handle_listener(EventSource& source, std::uint32_t) {
  Descriptor peer(::accept4(source.descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!peer) return;
  close_peer();
  peer_source_.descriptor = peer.get();
  if (daemon_->add_source(peer_source_, EPOLLIN)) peer_ = std::move(peer);
}

// Reads the request before an answer: if a socket is closed with unread input, the other end does
// not get the answer either.
void TakeOverSocket::handle_peer(EventSource& source, std::uint32_t) {
  Room room;
  if (receive_message(source.descriptor, room) != kTakeOver) {
    close_peer();
  } else if (!may_take_over(source.descriptor)) {
    refuse("only root and the user of the server may take over");
  } else {
    daemon_->pause();
  }
}

bool TakeOverSocket::give(const std::vector<NamedDescriptor>& parts, Duration patience,
                          Notifier& notifier, std::string& error) {
  std::string words(kParts);
  std::vector<int> descriptors;
  for (const NamedDescriptor& part : parts) {
    if (!descriptors.empty()) words += kNameSeparator;
    words += part.name;
    descriptors.push_back(part.descriptor.get());
  }
  const int socket = peer_.get();
  Room room;
  if (parts.size() > DescriptorMessage::kDescriptorsMax ||
      !send_message(socket, words, descriptors)) {
    error = std::string("cannot send the descriptors to the successor: ") + std::strerror(errno);
  } else if (const bool has_answered = wait_for_message(socket, patience, notifier);
             is_asked_to_end()) {
    error = "this server is stopping";
  } else if (!has_answered) {
    error = "the successor does not answer";
  } else {
    const std::string_view answer = receive_message(socket, room);
    if (answer == kMine && send_message(socket, kYours)) return true;
    error = answer.starts_with(kNo) ? std::string(answer.substr(kNo.size()))
                                    : "the successor has ended before it was ready";
  }
  close_peer();
  return false;
}

void TakeOverSocket::refuse(std::string_view why) {
  (void)send_message(peer_.get(), std::string(kNo).append(why));
  close_peer();
}

void TakeOverSocket::close_peer() {
  if (!peer_) return;
  daemon_->remove_source(peer_source_);
  peer_.reset();
}

// The successor ---------------------------------------------------------------------------------

bool TakeOverRequest::ask(const std::string& path, std::vector<NamedDescriptor>& parts,
                          Notifier& notifier, std::string& error) {
  const sockaddr_un address = unix_address(path);
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    error = "cannot connect to a server on " + path + ": " + std::strerror(errno);
    return false;
  }
  if (!send_message(socket.get(), kTakeOver) || !notifier.wait_for(socket.get(), kAnswerPatience)) {
    error = "the server does not answer on " + path;
    return false;
  }
  Room room;
  DescriptorMessage message(std::span<char>{room});
  const ssize_t bytes = ::recvmsg(socket.get(), message.header(), MSG_CMSG_CLOEXEC);
  const std::string_view words(room.data(), bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  std::vector<Descriptor> descriptors;
  const bool is_whole = bytes > 0 && message.move_to(descriptors);
  if (words.starts_with(kNo)) {
    error = "the predecessor refuses: " + std::string(words.substr(kNo.size()));
    return false;
  }
  if (!is_whole || !words.starts_with(kParts)) {
    error = "the predecessor exited before it sent anything";
    return false;
  }
  const std::vector<std::string> names = split_names(words.substr(kParts.size()));
  for (std::size_t i = 0; i < descriptors.size() && i < names.size(); ++i) {
    parts.push_back({names[i], std::move(descriptors[i])});
  }
  socket_ = std::move(socket);
  return true;
}

void TakeOverRequest::refuse(std::string_view why) {
  if (socket_) (void)send_message(socket_.get(), std::string(kNo).append(why));
  socket_.reset();
}

// Waits without limit: the server may have given everything up already, so this process must not be
// the one that ends.
bool TakeOverRequest::confirm(std::string& error) {
  Room room;
  if (send_message(socket_.get(), kMine) && receive_message(socket_.get(), room) == kYours) {
    while (!receive_message(socket_.get(), room).empty()) continue;
    socket_.reset();
    return true;
  }
  error = "the predecessor no longer waits";
  return false;
}

}  // namespace haricot::os
