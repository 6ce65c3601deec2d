#include "os/listener.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "os/address.hpp"

namespace haricot::os {
namespace {

constexpr std::string_view kInherited = " (inherited)";

constexpr std::string_view kOtherUser =
    ": the predecessor has the port as another user; only root can share it";

// Maximum number of tries to find a free port for all addresses of a name.
constexpr int kPortAttemptsMax = 100;

std::string failure(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

void set_flag(int descriptor, int level, int option, int value = 1) {
  ::setsockopt(descriptor, level, option, &value, sizeof value);
}

// Sets options that accepted connections inherit, so that they need no system calls of their own.
void set_tcp_options(int descriptor) {
  set_flag(descriptor, SOL_SOCKET, SO_KEEPALIVE);
  set_flag(descriptor, IPPROTO_TCP, TCP_NODELAY);
}

// Returns true if a server answers on a unix socket, or its queue is full.
bool is_answered(const sockaddr_un& address, int type) {
  const Descriptor probe(::socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return true;  // Unknown: leave the socket alone.
  const int result =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return result == 0 || errno != ECONNREFUSED;
}

std::string bound_name(int descriptor) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(descriptor, generic, &length) != 0) return "?";
  if (address.ss_family == AF_UNIX) return "a unix socket";
  return address_name(generic, length);
}

// Returns the port of an address of either family, in network order.
in_port_t* port_field(sockaddr* address) {
  return address->sa_family == AF_INET6 ? &reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                        : &reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

in_port_t bound_port(int descriptor) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  return ::getsockname(descriptor, generic, &length) == 0 ? *port_field(generic) : in_port_t{0};
}

// Returns true if it is bound to that address, and to that port unless it is 0.
bool is_bound_to(int descriptor, const addrinfo& wanted) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  auto* const generic = reinterpret_cast<sockaddr*>(&bound);
  if (::getsockname(descriptor, generic, &length) != 0 || bound.ss_family != wanted.ai_family) {
    return false;
  }
  const in_port_t port = *port_field(wanted.ai_addr);
  if (port != 0 && port != *port_field(generic)) return false;
  if (wanted.ai_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(bound).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(wanted.ai_addr)->sin_addr.s_addr;
  }
  const auto& has = reinterpret_cast<const sockaddr_in6&>(bound);
  const auto& wants = *reinterpret_cast<const sockaddr_in6*>(wanted.ai_addr);
  return IN6_ARE_ADDR_EQUAL(&has.sin6_addr, &wants.sin6_addr) &&
         has.sin6_scope_id == wants.sin6_scope_id;
}

// Removes and returns the first listener that matches.
template <typename IsWanted>
std::optional<Listener> take_from(std::vector<Listener>* predecessor, const IsWanted& is_wanted) {
  if (predecessor == nullptr) return std::nullopt;
  const auto found = std::find_if(predecessor->begin(), predecessor->end(), is_wanted);
  if (found == predecessor->end()) return std::nullopt;
  std::optional<Listener> result(std::move(*found));
  predecessor->erase(found);
  return result;
}

bool bind_and_listen(int descriptor, const addrinfo& at) {
  return ::bind(descriptor, at.ai_addr, at.ai_addrlen) == 0 &&
         ::listen(descriptor, Listener::kBacklog) == 0;
}

// Gives a new socket to the user of the others, because only sockets of one user can share a port.
// Returns false if this process may not.
bool take_user_of(const std::vector<Listener>& others, int socket) {
  struct stat theirs {};
  struct stat ours {};
  if (others.empty() || ::fstat(others.front().descriptor(), &theirs) != 0) return true;
  return (::fstat(socket, &ours) == 0 && ours.st_uid == theirs.st_uid) ||
         ::fchown(socket, theirs.st_uid, theirs.st_gid) == 0;
}

// Binds and listens on an address that may overlap with those of `others`, which keep listening.
// The ports are shared during the call only.
bool listen_beside(int descriptor, const addrinfo& at, const std::vector<Listener>& others) {
  const auto share = [&](int value) {
    set_flag(descriptor, SOL_SOCKET, SO_REUSEPORT, value);
    for (const Listener& other : others) {
      set_flag(other.descriptor(), SOL_SOCKET, SO_REUSEPORT, value);
    }
  };
  share(1);
  const bool listens = bind_and_listen(descriptor, at);
  const int why = errno;
  share(0);
  errno = why;
  return listens;
}

}  // namespace

std::vector<Listener> Listener::open(const std::string& listen, const std::string& port,
                                     std::string& error, std::vector<Listener>* predecessor) {
  if (!listen.starts_with(kUnixPrefix)) return open_inet(listen, port, error, predecessor);
  const std::string path = listen.substr(kUnixPrefix.size());
  std::optional<Listener> listener =
      take_from(predecessor, [&](const Listener& each) { return each.is_at(path); });
  const bool is_new = !listener;
  if (is_new) listener = open_unix(path, SOCK_STREAM, error);
  std::vector<Listener> result;
  if (listener && (!is_new || listener->begin(error))) result.push_back(std::move(*listener));
  return result;
}

std::vector<Listener> Listener::open_inet(const std::string& host, const std::string& port,
                                          std::string& error, std::vector<Listener>* predecessor) {
  const Addresses found = addresses_to_listen_on(host, port, error);
  if (!found) return {};
  const in_port_t wanted = *port_field(found->ai_addr);
  for (int attempt = 1;; ++attempt) {
    bool is_taken = false;
    std::vector<Listener> result = open_all(found.get(), wanted, is_taken, error, predecessor);
    const bool may_choose_again = wanted == 0 && is_taken && attempt < kPortAttemptsMax;
    if (!may_choose_again) return result;
  }
}

// Skips the addresses that this machine lacks: the name may belong to several machines, and ::1 is
// missing if IPv6 is off. Every other failure is final: if two servers listened on a name, each
// client would reach either of them.
std::vector<Listener> Listener::open_all(addrinfo* found, in_port_t port, bool& is_taken,
                                         std::string& error, std::vector<Listener>* predecessor) {
  std::vector<Listener> result;
  bool has_predecessor = false;
  for (addrinfo* at = found; at != nullptr; at = at->ai_next) {
    *port_field(at->ai_addr) = port;
    const std::string name = address_name(at->ai_addr, at->ai_addrlen);
    const bool is_repeated = std::any_of(
        result.begin(), result.end(), [&name](const auto& other) { return other.name() == name; });
    if (is_repeated) continue;  // /etc/hosts may list an address twice.
    std::optional<Listener> same = take_from(
        predecessor, [at](const Listener& each) { return is_bound_to(each.descriptor(), *at); });
    if (same) {
      if (port == 0) port = bound_port(same->descriptor());
      result.push_back(std::move(*same));
      has_predecessor = true;
      continue;
    }
    Descriptor descriptor(
        ::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol));
    if (descriptor) {
      set_flag(descriptor.get(), SOL_SOCKET, SO_REUSEADDR);
      set_tcp_options(descriptor.get());
    }
    bool listens = descriptor && bind_and_listen(descriptor.get(), *at);
    bool is_of_another_user = false;
    if (!listens && descriptor && errno == EADDRINUSE && predecessor != nullptr) {
      is_of_another_user = !take_user_of(*predecessor, descriptor.get());
      listens = listen_beside(descriptor.get(), *at, *predecessor);
    }
    if (!listens) {
      is_taken = errno == EADDRINUSE && !has_predecessor;
      const bool is_missing = is_missing_address(errno);
      error = failure("cannot listen on " + name);
      if (is_of_another_user) error += kOtherUser;
      if (is_missing) continue;
      return {};
    }
    if (port == 0) port = bound_port(descriptor.get());
    std::string bound = bound_name(descriptor.get());
    result.push_back(Listener(std::move(descriptor), std::move(bound)));
  }
  if (!result.empty()) error.clear();
  return result;
}

// Does not listen: no client can connect before begin().
std::optional<Listener> Listener::open_unix(const std::string& path, int type, std::string& error) {
  bool is_there = false;
  if (!may_be_socket(path, is_there, error)) return std::nullopt;
  const sockaddr_un address = unix_address(path);
  if (is_there) {
    if (is_answered(address, type)) {
      error = "a server answers on " + path + " already";
      return std::nullopt;
    }
    if (::unlink(path.c_str()) != 0) {
      error = failure("cannot remove the stale socket " + path);
      return std::nullopt;
    }
  }
  Descriptor descriptor(::socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!descriptor ||
      ::bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    error = failure("cannot listen on " + path);
    return std::nullopt;
  }
  Listener listener(std::move(descriptor), std::string(kUnixPrefix) + path);
  listener.path_ = path;
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    listener.device_ = status.st_dev;
    listener.inode_ = status.st_ino;
    listener.owns_file_ = true;
  }
  return listener;
}

bool Listener::begin(std::string& error) const {
  if (::listen(descriptor_.get(), kBacklog) == 0) return true;
  error = failure("cannot listen on " + path_);
  return false;
}

std::optional<Listener> Listener::open_for_messages(const std::string& path,
                                                    const std::string& user, std::string& error) {
  std::optional<Listener> listener = open_unix(path, SOCK_SEQPACKET, error);
  if (!listener) return std::nullopt;
  const passwd* const owner = user.empty() ? nullptr : ::getpwnam(user.c_str());
  const bool is_given = owner == nullptr || ::geteuid() != 0 ||
                        ::lchown(path.c_str(), owner->pw_uid, owner->pw_gid) == 0;
  if (!is_given || ::chmod(path.c_str(), 0600) != 0) {
    error = failure("cannot set the permissions of " + path);
    return std::nullopt;
  }
  if (!listener->begin(error)) return std::nullopt;
  return listener;
}

std::vector<Listener> Listener::from_passed(std::vector<NamedDescriptor> sockets,
                                            std::string& error) {
  std::vector<Listener> result;
  for (NamedDescriptor& socket : sockets) {
    const int number = socket.descriptor.get();
    int listens = 0;
    int type = 0;
    socklen_t length = sizeof listens;
    if (::getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0 ||
        ::getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) {
      error = "the inherited descriptor " + std::to_string(number) +
              " is not a stream socket that listens";
      return {};
    }
    ::fcntl(number, F_SETFL, ::fcntl(number, F_GETFL) | O_NONBLOCK);
    set_tcp_options(number);
    std::string name = bound_name(number) + std::string(kInherited);
    Listener& listener =
        result.emplace_back(Listener(std::move(socket.descriptor), std::move(name)));
    listener.given_name_ = std::move(socket.name);
  }
  return result;
}

void Listener::write(StateWriter& to) const {
  to.value(std::string_view(name_));
  to.value(std::string_view(given_name_));
  to.value(std::string_view(path_));
  to.value(std::uint64_t{device_});
  to.value(std::uint64_t{inode_});
}

Listener Listener::from_other(StateReader& from, Descriptor socket) {
  Listener listener(std::move(socket), "");
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  from.value(listener.name_);
  from.value(listener.given_name_);
  from.value(listener.path_);
  from.value(device);
  from.value(inode);
  listener.device_ = device;
  listener.inode_ = inode;
  return listener;
}

std::string Listener::removal_folder() const {
  if (path_.empty()) return "";
  const std::size_t slash = path_.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path_.substr(0, slash);
}

bool Listener::is_at(const std::string& path) const {
  return !path.empty() && path_ == path && has_its_file();
}

bool Listener::has_its_file() const {
  struct stat status {};
  return ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ &&
         status.st_ino == inode_;
}

void Listener::stop() const {
  if (!name_.ends_with(kInherited)) ::shutdown(descriptor_.get(), SHUT_RDWR);
}

Listener::~Listener() {
  if (descriptor_ && owns_file_ && has_its_file()) ::unlink(path_.c_str());
}

}  // namespace haricot::os
