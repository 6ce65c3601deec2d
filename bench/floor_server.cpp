// A lower bound for the cost of a beanstalk server: it exchanges the same bytes by the same system
// calls, and has no queue.
//
// It calls epoll_wait once for all ready connections, and recv and send once for each of them. Its
// answers are constants. It parses only the ends of lines, the words of commands and the lengths
// of bodies, which determine the number and the sizes of the answers. Nearly all of its CPU time
// is spent in the kernel; the additional time of a real server is the server's own.
//
//   floor_server -p PORT     listens on 127.0.0.1 until it is killed; accepts and ignores -l and
//                            -z, so that it can be started like a real server
//   floor_server -s MIN      stores bodies of at least MIN bytes: receives each into its own
//   memory,
//                            sends it from there, and frees it at a delete
//
// A reserve returns the oldest stored job, or without one, a job of the size of the last put. Ids
// are constant, so a client that checks ids reports errors. A delete frees the job that has been
// reserved longest. The answer to other commands is USING x or WATCHING 1.

#include <malloc.h>
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
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kEventsMax = 128;
constexpr int kBacklog = 1024;
constexpr std::size_t kBufferBytes = 256 * 1024;
// Larger jobs are sent by reference instead of being copied, up to the number that one sendmsg
// takes.
constexpr std::size_t kCopiedBytesMax = 4096;
constexpr std::size_t kReferencesMax = 400;

// Most bytes that one call receives into a stored body.
constexpr std::size_t kStoredBytesMax = 256 * 1024;
// Bytes that the same call may receive after a stored body: the line of the next command.
constexpr std::size_t kLineBytes = 512;

// A body, including its CR LF.
struct Stored {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;
};

struct Connection {
  int socket = -1;
  bool waits_for_room = false;
  std::size_t body_left = 0;  // Bytes of a put's body that are still to come, including the CR LF.
  Stored body;                // Body of that put, if it is stored.
  std::string line;           // Beginning of an incomplete line.
  std::string unsent;
};

class FloorServer {
 public:
  bool open(std::uint16_t port) {
    listener_.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_.socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(listener_.socket, IPPROTO_TCP, TCP_NODELAY, &on,
                 sizeof on);  // Connections inherit it.
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

  void store_from(std::size_t bytes) { stored_bytes_min_ = bytes; }

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
    // The kernel's event owns the connection until it ends.
    if (watch(*connection, EPOLL_CTL_ADD, EPOLLIN)) {
      static_cast<void>(connection.release());
    } else {
      ::close(socket);
    }
  }

  // Handles events of a connection. Returns false if the connection has ended.
  bool serve(Connection& connection, std::uint32_t events) {
    if (connection.waits_for_room) {
      // Reads nothing before the old answers are sent.
      return (events & EPOLLOUT) == 0 || flush(connection);
    }
    const std::size_t direct_bytes =
        connection.body.bytes ? std::min(connection.body_left, kStoredBytesMax) : 0;
    const ssize_t received = receive(connection, direct_bytes);
    if (received < 0) return errno == EAGAIN || errno == EINTR;
    if (received == 0) return false;
    out_.clear();
    leaving_.clear();
    const auto bytes = static_cast<std::size_t>(received);
    const std::size_t direct = std::min(bytes, direct_bytes);
    connection.body_left -= direct;
    if (direct > 0 && connection.body_left == 0) end_body(connection);
    take({buffer_.data(), bytes - direct}, connection);
    std::size_t total = out_.size();
    for (const Leaving& job : leaving_) total += job.bytes.size();
    if (total == 0) return true;
    const ssize_t sent = send_answers(connection.socket);
    if (sent == static_cast<ssize_t>(total)) return true;
    if (sent < 0 && errno != EAGAIN) return false;
    keep_rest(connection, sent > 0 ? static_cast<std::size_t>(sent) : 0);
    connection.waits_for_room = true;
    return watch(connection, EPOLL_CTL_MOD, EPOLLOUT);
  }

  // Receives up to `direct_bytes` into the stored body, and more into the buffer. If bodies are
  // stored, the buffer receives only a line, because a body that begins in the buffer has to be
  // copied.
  ssize_t receive(Connection& connection, std::size_t direct_bytes) {
    const bool is_short = stored_bytes_min_ > 0 && job_bytes_ >= stored_bytes_min_;
    const std::size_t rest = is_short ? kLineBytes : buffer_.size();
    if (direct_bytes == 0) return ::recv(connection.socket, buffer_.data(), rest, 0);
    char* const to = connection.body.bytes.get() + connection.body.size - connection.body_left;
    const std::array<iovec, 2> pieces{iovec{to, direct_bytes}, iovec{buffer_.data(), rest}};
    return ::readv(connection.socket, pieces.data(), direct_bytes == connection.body_left ? 2 : 1);
  }

  void end_body(Connection& connection) {
    out_ += "INSERTED 1234567\r\n";
    if (connection.body.bytes) ready_.push_back(std::move(connection.body));
    connection.body = {};
  }

  ssize_t send_answers(int socket) {
    if (leaving_.empty()) return ::send(socket, out_.data(), out_.size(), MSG_NOSIGNAL);
    pieces_.clear();
    std::size_t from = 0;
    for (const Leaving& job : leaving_) {
      if (job.at > from) pieces_.push_back({out_.data() + from, job.at - from});
      pieces_.push_back({const_cast<char*>(job.bytes.data()), job.bytes.size()});
      from = job.at;
    }
    if (out_.size() > from) pieces_.push_back({out_.data() + from, out_.size() - from});
    msghdr message{};
    message.msg_iov = pieces_.data();
    message.msg_iovlen = pieces_.size();
    return ::sendmsg(socket, &message, MSG_NOSIGNAL);
  }

  // Keeps the bytes that the socket did not accept.
  void keep_rest(Connection& connection, std::size_t sent) {
    if (leaving_.empty()) pieces_ = {{out_.data(), out_.size()}};
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

  // Appends an answer for each command that ends in these bytes.
  void take(std::string_view bytes, Connection& connection) {
    while (!bytes.empty()) {
      if (connection.body_left > 0) {
        const std::size_t taken = std::min(connection.body_left, bytes.size());
        if (Stored& body = connection.body; body.bytes) {
          std::memcpy(body.bytes.get() + body.size - connection.body_left, bytes.data(), taken);
        }
        bytes.remove_prefix(taken);
        connection.body_left -= taken;
        if (connection.body_left == 0) end_body(connection);
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
      if (stored_bytes_min_ > 0 && size >= stored_bytes_min_) {
        connection.body = {std::unique_ptr<char[]>(new char[size + 2]), size + 2};
      }
    } else if (line.starts_with("reserve-")) {
      out_ += "TIMED_OUT\r\n";  // A benchmark ends with it: no job is left.
    } else if (line.starts_with("reserve")) {
      if (!ready_.empty()) {
        reserved_.push_back(std::move(ready_.front()));
        ready_.pop_front();
        const Stored& job = reserved_.back();
        out_ += "RESERVED 1234567 " + std::to_string(job.size - 2) + "\r\n";
        leaving_.push_back({out_.size(), {job.bytes.get(), job.size}});
      } else if (job_.size() > kCopiedBytesMax && leaving_.size() < kReferencesMax) {
        leaving_.push_back({out_.size(), job_});
      } else {
        out_ += job_;
      }
    } else if (line.starts_with("delete")) {
      out_ += "DELETED\r\n";
      if (!reserved_.empty()) reserved_.pop_front();
    } else if (line.starts_with("use") || line.starts_with("list-tube-used")) {
      out_ += "USING x\r\n";
    } else {
      out_ += "WATCHING 1\r\n";
    }
  }

  // Prepares the answer to a reserve, with the body that haricot bench puts.
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
  // An answer or a body that is sent by reference, and its position in out_.
  struct Leaving {
    std::size_t at;
    std::string_view bytes;
  };
  std::vector<Leaving> leaving_;
  std::vector<iovec> pieces_;
  std::size_t stored_bytes_min_ = 0;  // 0: no body is stored.
  std::deque<Stored> ready_;
  std::deque<Stored> reserved_;
  std::size_t job_bytes_ = 0;
  std::string job_ = "RESERVED 1234567 0\r\n\r\n";
};

}  // namespace

int main(int argc, char** argv) {
  std::uint16_t port = 0;
  std::size_t stored_bytes_min = 0;
  bool good = argc % 2 == 1;
  for (int i = 1; good && i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string_view value = argv[i + 1];
    if (flag == "-l" || flag == "-z") continue;
    const char* const last = value.data() + value.size();
    const auto [end, error] = flag == "-s" ? std::from_chars(value.data(), last, stored_bytes_min)
                                           : std::from_chars(value.data(), last, port);
    good = (flag == "-p" || flag == "-s") && error == std::errc{} && end == last;
  }
  if (!good || port == 0) {
    std::fputs("Use: floor_server -p PORT [-s MIN]\n", stderr);
    return 5;
  }
  // Keeps freed memory in the process; otherwise the kernel has to zero new pages for each body.
  ::mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024);
  ::mallopt(M_TRIM_THRESHOLD, 1024 * 1024 * 1024);
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  FloorServer server;
  server.store_from(stored_bytes_min);
  if (!server.open(port)) {
    std::fprintf(stderr, "floor_server: cannot listen on port %u: %s\n", unsigned{port},
                 std::strerror(errno));
    return 111;
  }
  server.run();
}
