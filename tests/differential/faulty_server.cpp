// A beanstalk server with one fault, for tests of the comparison: it relays between its clients and
// a real server that it starts, and makes one error, in the n-th piece of the server's answers.
//
//   faulty_server -l ADDRESS -p PORT --server BINARY --fault wrong|missing|extra --at N

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/server_process.hpp"
#include "support/wire_client.hpp"

namespace haricot::test {
namespace {

struct Arguments {
  std::uint16_t port = 0;
  std::string server;
  std::string fault;
  std::uint64_t at = 0;
};

Arguments read_arguments(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const char* value = words[i + 1];
    if (name == "-p") arguments.port = static_cast<std::uint16_t>(std::atoi(value));
    if (name == "--server") arguments.server = value;
    if (name == "--fault") arguments.fault = value;
    if (name == "--at") arguments.at = std::strtoull(value, nullptr, 10);
  }
  return arguments;
}

class FaultyServer {
 public:
  explicit FaultyServer(const Arguments& arguments) : arguments_(arguments) {}

  int run();

 private:
  // A client, and the connection to the real server on its behalf.
  struct Link {
    int client = -1;
    WireClient server;
  };

  bool listen();
  bool watch_for_drain_signal();
  void hand_on_drain_signal();
  void accept_client();
  bool serve(Link& link, short client_events, short server_events);
  void err_if_it_is_time(std::string& bytes);

  Arguments arguments_;
  ServerProcess server_;
  int listener_ = -1;
  int signals_ = -1;
  std::vector<std::unique_ptr<Link>> links_;
  std::uint64_t pieces_ = 0;
};

int FaultyServer::run() {
  if (!server_.start({.binary = arguments_.server}) || !watch_for_drain_signal() || !listen()) {
    const std::string reason = std::strerror(errno);
    std::fprintf(stderr, "cannot start: %s\n",
                 server_.failure().empty() ? reason.c_str() : server_.failure().c_str());
    return 1;
  }
  for (;;) {
    std::vector<pollfd> entries = {{.fd = listener_, .events = POLLIN, .revents = 0},
                                   {.fd = signals_, .events = POLLIN, .revents = 0}};
    for (const auto& link : links_) {
      entries.push_back({.fd = link->client, .events = POLLIN, .revents = 0});
      entries.push_back({.fd = link->server.fd(), .events = POLLIN, .revents = 0});
    }
    if (::poll(entries.data(), entries.size(), -1) < 0) return 1;
    std::vector<std::unique_ptr<Link>> kept;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const bool alive = serve(*links_[i], entries[2 + 2 * i].revents, entries[3 + 2 * i].revents);
      if (alive) {
        kept.push_back(std::move(links_[i]));
      } else {
        ::close(links_[i]->client);
      }
    }
    links_ = std::move(kept);
    if (entries[0].revents != 0) accept_client();
    if (entries[1].revents != 0) hand_on_drain_signal();
  }
}

bool FaultyServer::listen() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(arguments_.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
         ::listen(listener_, 64) == 0;
}

bool FaultyServer::watch_for_drain_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  return signals_ >= 0;
}

void FaultyServer::hand_on_drain_signal() {
  signalfd_siginfo info;
  if (::read(signals_, &info, sizeof info) > 0) server_.signal(SIGUSR1);
}

void FaultyServer::accept_client() {
  auto link = std::make_unique<Link>();
  link->client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (link->client < 0) return;
  const int on = 1;
  ::setsockopt(link->client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (link->server.connect(server_)) {
    links_.push_back(std::move(link));
  } else {
    ::close(link->client);
  }
}

// Returns false if the real server has closed the connection, or the client is gone.
bool FaultyServer::serve(Link& link, short client_events, short server_events) {
  char chunk[65536];
  if (client_events != 0) {
    const ssize_t n = ::recv(link.client, chunk, sizeof chunk, 0);
    if (n < 0) return false;
    if (n == 0) {
      link.server.shutdown_write();
    } else if (!link.server.send({chunk, static_cast<std::size_t>(n)})) {
      return false;
    }
  }
  if (server_events != 0) {
    const ssize_t n = ::recv(link.server.fd(), chunk, sizeof chunk, 0);
    if (n <= 0) return false;
    std::string bytes(chunk, static_cast<std::size_t>(n));
    err_if_it_is_time(bytes);
    ::send(link.client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  return true;
}

void FaultyServer::err_if_it_is_time(std::string& bytes) {
  if (++pieces_ != arguments_.at) return;
  if (arguments_.fault == "wrong") bytes[0] ^= 1;
  if (arguments_.fault == "missing") bytes.clear();
  if (arguments_.fault == "extra") bytes += "NOT_FOUND\r\n";
}

}  // namespace
}  // namespace haricot::test

int main(int count, char** words) {
  using namespace haricot::test;
  return FaultyServer(read_arguments(count, words)).run();
}
