#include "odd_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

namespace haricot::test {
namespace {

constexpr int kPollStepMs = 5;

}  // namespace

OddServer::OddServer(std::string command, std::string answer)
    : command_(std::move(command)), answer_(std::move(answer)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, length) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, generic, &length) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

OddServer::~OddServer() {
  is_over_ = true;
  thread_.join();
  for (const auto& [descriptor, client] : clients_) ::close(descriptor);
  ::close(listener_);
}

void OddServer::serve() {
  while (!is_over_) {
    std::vector<pollfd> wanted = {{listener_, POLLIN, 0}};
    for (const auto& [descriptor, client] : clients_) wanted.push_back({descriptor, POLLIN, 0});
    if (::poll(wanted.data(), wanted.size(), kPollStepMs) <= 0) continue;
    if (wanted[0].revents != 0) clients_[::accept(listener_, nullptr, nullptr)] = {};
    for (std::size_t i = 1; i < wanted.size(); ++i) {
      const int descriptor = wanted[i].fd;
      if (wanted[i].revents == 0 || serve_client(descriptor, clients_[descriptor])) continue;
      ::close(descriptor);
      clients_.erase(descriptor);
    }
  }
}

bool OddServer::serve_client(int descriptor, Client& client) {
  char bytes[65536];
  const ssize_t received = ::recv(descriptor, bytes, sizeof bytes, 0);
  if (received <= 0) return false;
  client.input.append(bytes, static_cast<std::size_t>(received));
  std::string answers;
  while (true) {
    const std::size_t end = client.input.find("\r\n");
    if (end == std::string::npos) break;
    const std::string line = client.input.substr(0, end);
    std::size_t used = end + 2;
    if (line.starts_with("put ")) {
      const std::size_t size = std::strtoul(line.c_str() + line.rfind(' '), nullptr, 10);
      if (client.input.size() < used + size + 2) break;
      client.last_body = client.input.substr(used, size);
      used += size + 2;
    }
    client.input.erase(0, used);
    const std::string answer = answer_to(line, client);
    if (answer == "CLOSE") return false;
    answers += answer;
  }
  return ::send(descriptor, answers.data(), answers.size(), MSG_NOSIGNAL) >= 0;
}

std::string OddServer::answer_to(std::string_view line, Client& client) {
  if (line.substr(0, line.find(' ')) == command_) return answer_;
  if (line.starts_with("use ")) return "USING x\r\n";
  if (line.starts_with("watch ") || line.starts_with("ignore ")) return "WATCHING 1\r\n";
  if (line.starts_with("put ")) return "INSERTED 1\r\n";
  if (line.starts_with("delete ")) return "DELETED\r\n";
  if (line.starts_with("reserve-with-timeout")) return "TIMED_OUT\r\n";
  return "RESERVED 1 " + std::to_string(client.last_body.size()) + "\r\n" + client.last_body +
         "\r\n";
}

}  // namespace haricot::test
