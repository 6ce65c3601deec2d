// The floor below every beanstalk server: the same exchange with the same system calls, and no
// queue.
//
// One epoll_wait for all that is ready, one recv and one send for each connection that is, answers
// made of constants. It looks only at what shows how many answers are due and how long they
// are: where lines end, how long bodies are, which command it is. What a real server costs beyond
// this is its own; what this costs is the kernel's, nearly all of it.
//
//   floor_server -p PORT     listens on 127.0.0.1 until it is killed; -l is accepted and ignored,
//   so
//                            that it can be started like a real server
//
// A reserve is answered with a job of the size that was last put. Ids do not matter; a client that
// checks them will complain. Commands that are not known are answered WATCHING 1, or USING x.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kEventsMax = 128;
constexpr int kBacklog = 1024;
constexpr std::size_t kBufferBytes = 256 * 1024;
// Larger jobs leave by reference, as from any server that can help it; but not more of them at once
// than one sendmsg takes.
constexpr std::size_t kCopiedBytesMax = 4096;
constexpr std::size_t kReferencesMax = 400;

struct Connection {
  int socket = -1;
  bool waits_for_room = false;
  std::size_t body_left = 0;  // Of a put, its CR LF included.
  std::string line;           // The beginning of one that was cut.
  std::string unsent;
};

class FloorServer {
 public:
  bool open(std::uint16_t port) {
    listener_.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_.socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(listener_.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // Is inherited.
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    return listener_.socket >= 0 && epoll_ >= 0 &&
           ::bind(listener_.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
               0 &&
           ::listen(listener_.socket, kBacklog) == 0 && watch(listener_, EPOLL_CTL_ADD, EPOLLIN);
  }

  void run() {
    std::array<epoll_event, kEventsMax> events;
    while (true) {
      const int count = ::epoll_wait(epoll_, events.data(), kEventsMax, -1);
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        auto& connection = *static_cast<Connection*>(event.data.ptr);
        if (&connection == &listener_) {
          accept();
        } else if (!serve(connection, event.events)) {
          ::close(connection.socket);
          delete &connection;
        }
      }
    }
  }

 private:
  bool watch(Connection& connection, int operation, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = &connection;
    return ::epoll_ctl(epoll_, operation, connection.socket, &event) == 0;
  }

  void accept() {
    const int socket = ::accept4(listener_.socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    auto connection = std::make_unique<Connection>();
    connection->socket = socket;
    // Ownership goes to the kernel's event until the connection ends.
    if (watch(*connection, EPOLL_CTL_ADD, EPOLLIN)) {
      static_cast<void>(connection.release());
    } else {
      ::close(socket);
    }
  }

  // False: the connection is over.
  bool serve(Connection& connection, std::uint32_t events) {
    if (connection.waits_for_room) {
      // Nothing is read before the old answers have left.
      return (events & EPOLLOUT) == 0 || flush(connection);
    }
    const ssize_t received = ::recv(connection.socket, buffer_.data(), buffer_.size(), 0);
    if (received < 0) return errno == EAGAIN || errno == EINTR;
    if (received == 0) return false;
    out_.clear();
    jobs_at_.clear();
    take({buffer_.data(), static_cast<std::size_t>(received)}, connection);
    const std::size_t total = out_.size() + jobs_at_.size() * job_.size();
    if (total == 0) return true;
    const ssize_t sent = send_answers(connection.socket);
    if (sent == static_cast<ssize_t>(total)) return true;
    if (sent < 0 && errno != EAGAIN) return false;
    keep_rest(connection, sent > 0 ? static_cast<std::size_t>(sent) : 0);
    connection.waits_for_room = true;
    return watch(connection, EPOLL_CTL_MOD, EPOLLOUT);
  }

  ssize_t send_answers(int socket) {
    if (jobs_at_.empty()) return ::send(socket, out_.data(), out_.size(), MSG_NOSIGNAL);
    pieces_.clear();
    std::size_t from = 0;
    for (const std::size_t at : jobs_at_) {
      if (at > from) pieces_.push_back({out_.data() + from, at - from});
      pieces_.push_back({job_.data(), job_.size()});
      from = at;
    }
    if (out_.size() > from) pieces_.push_back({out_.data() + from, out_.size() - from});
    msghdr message{};
    message.msg_iov = pieces_.data();
    message.msg_iovlen = pieces_.size();
    return ::sendmsg(socket, &message, MSG_NOSIGNAL);
  }

  // What the socket did not take.
  void keep_rest(Connection& connection, std::size_t sent) {
    if (jobs_at_.empty()) pieces_ = {{out_.data(), out_.size()}};
    for (const iovec& piece : pieces_) {
      const std::size_t skipped = std::min(sent, piece.iov_len);
      connection.unsent.append(static_cast<const char*>(piece.iov_base) + skipped,
                               piece.iov_len - skipped);
      sent -= skipped;
    }
  }

  bool flush(Connection& connection) {
    std::string& unsent = connection.unsent;
    const ssize_t sent = ::send(connection.socket, unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    unsent.erase(0, static_cast<std::size_t>(sent));
    if (!unsent.empty()) return true;
    connection.waits_for_room = false;
    return watch(connection, EPOLL_CTL_MOD, EPOLLIN);
  }

  // Makes an answer for each command that ends in these bytes.
  void take(std::string_view bytes, Connection& connection) {
    while (!bytes.empty()) {
      if (connection.body_left > 0) {
        const std::size_t taken = std::min(connection.body_left, bytes.size());
        bytes.remove_prefix(taken);
        connection.body_left -= taken;
        if (connection.body_left == 0) out_ += "INSERTED 1234567\r\n";
        continue;
      }
      const void* end = std::memchr(bytes.data(), '\n', bytes.size());
      if (end == nullptr) {
        connection.line += bytes;
        return;
      }
      const auto taken = static_cast<std::size_t>(static_cast<const char*>(end) - bytes.data()) + 1;
      if (connection.line.empty()) {
        answer(bytes.substr(0, taken), connection);
      } else {
        connection.line += bytes.substr(0, taken);
        answer(connection.line, connection);
        connection.line.clear();
      }
      bytes.remove_prefix(taken);
    }
  }

  void answer(std::string_view line, Connection& connection) {
    if (line.starts_with("put ")) {
      std::size_t size = 0;
      const std::size_t number = line.rfind(' ') + 1;
      std::from_chars(line.data() + number, line.data() + line.size(), size);
      if (size != job_bytes_) make_job(size);
      connection.body_left = size + 2;
    } else if (line.starts_with("reserve-")) {
      out_ += "TIMED_OUT\r\n";  // Nothing is left over at the end of a benchmark.
    } else if (line.starts_with("reserve")) {
      if (job_.size() > kCopiedBytesMax && jobs_at_.size() < kReferencesMax) {
        jobs_at_.push_back(out_.size());
      } else {
        out_ += job_;
      }
    } else if (line.starts_with("delete")) {
      out_ += "DELETED\r\n";
    } else if (line.starts_with("use") || line.starts_with("list-tube-used")) {
      out_ += "USING x\r\n";
    } else {
      out_ += "WATCHING 1\r\n";
    }
  }

  // Answers a reserve. The body is the one that haricot bench puts.
  void make_job(std::size_t size) {
    job_bytes_ = size;
    job_ = "RESERVED 1234567 " + std::to_string(size) + "\r\n";
    for (std::size_t i = 0; i < size; ++i) {
      job_ += static_cast<char>('!' + (i * 7 + i / 251) % 94);
    }
    job_ += "\r\n";
  }

  Connection listener_;
  int epoll_ = -1;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
  std::string out_;
  std::vector<std::size_t> jobs_at_;  // Where in out_ a job belongs that is not copied.
  std::vector<iovec> pieces_;
  std::size_t job_bytes_ = 0;
  std::string job_ = "RESERVED 1234567 0\r\n\r\n";
};

}  // namespace

int main(int argc, char** argv) {
  std::uint16_t port = 0;
  bool good = argc % 2 == 1;
  for (int i = 1; good && i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string_view value = argv[i + 1];
    if (flag == "-l") continue;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), port);
    good = flag == "-p" && error == std::errc{} && end == value.data() + value.size();
  }
  if (!good || port == 0) {
    std::fputs("Use: floor_server -p PORT\n", stderr);
    return 5;
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  FloorServer server;
  if (!server.open(port)) {
    std::fprintf(stderr, "floor_server: cannot listen on port %u: %s\n", unsigned{port},
                 std::strerror(errno));
    return 111;
  }
  server.run();
}
