// Sockets that wait for connections: made from an address, or inherited.

#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "haricot/base/state_stream.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

// Who is at the other end of a socket, for the log and list-clients: `127.0.0.1:4711`, `unix`.
// Printable ASCII without quotes, whoever it is.
std::string peer_name(int descriptor);

// Checks that Listener::open() and a check without a server share.

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
// Resolves a host and a port to listen on. Returns null on failure; `error` says why.
Addresses addresses_to_listen_on(const std::string& host, const std::string& port,
                                 std::string& error);
// Returns true if a socket failed for this reason because the machine lacks the address.
bool is_missing_address(int reason);
// Returns true if the path has a good length and leads to nothing, or to a socket (`is_there`).
bool may_be_socket(const std::string& path, bool& is_there, std::string& error);

class Listener {
 public:
  // How many connections wait to be accepted at most.
  static constexpr int kBacklog = 1024;

  // Listens on every address of `listen`: a host name, an address of either family, or `unix:` and
  // a path. `port` is a number or a service's name; with 0, all addresses of the name get the same
  // free port. Skips addresses that this machine does not have, if it has another one. On failure
  // the result is empty and `error` says why.
  //
  // Replaces a unix socket on which nobody answers. Any other file at the path, and a socket on
  // which a server still answers, stay, and then this fails.
  //
  // `last` has the listeners of the server before. If one of them has the address, it is moved out
  // and returned; port 0 matches any port. A new listener may overlap with the others, as 0.0.0.0
  // does with 127.0.0.1, if the same user has made them. They keep listening.
  static std::vector<Listener> open(const std::string& listen, const std::string& port,
                                    std::string& error, std::vector<Listener>* last = nullptr);

  // A unix socket for whole messages, at a path of 1 to 107 bytes. Only `user`, and root, may
  // connect to it; empty: only the one who calls. Replaces what open() replaces. Nothing: see
  // `error`.
  static std::optional<Listener> open_for_messages(const std::string& path, const std::string& user,
                                                   std::string& error);

  // The sockets that a service manager has passed. Empty with an `error`: one is none to listen on.
  static std::vector<Listener> inherit(std::vector<NamedDescriptor> sockets, std::string& error);

  // Writes what another process has to know of it, which gets its socket. And the way back; whether
  // all was there, the reader tells. Its file is still the other one's, until own_file().
  void write(StateWriter& to) const;
  static Listener from_other(StateReader& from, Descriptor socket);
  // From here on the file of the socket, if there is one, is this one's to remove.
  void own_file() { owns_file_ = !path_.empty(); }

  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;
  // Removes the file of a unix socket that is its own, if it is still that file.
  ~Listener();

  int descriptor() const { return descriptor_.get(); }
  // The folder in which a file has to be removed at the end; empty if there is none.
  std::string removal_folder() const;
  // Whether it is the unix socket of that path, and its file is still there.
  bool is_at(const std::string& path) const;
  // Stops listening in every process that has the socket. Connections that are not accepted yet
  // end. Does nothing to an inherited listener, which belongs to the service manager.
  void stop() const;
  // For the log.
  const std::string& name() const { return name_; }
  // The name that the service manager gave (LISTEN_FDNAMES, systemd's FileDescriptorName=); empty
  // if there is no such name, or the socket was not inherited.
  const std::string& given_name() const { return given_name_; }

 private:
  explicit Listener(Descriptor descriptor, std::string name)
      : descriptor_(std::move(descriptor)), name_(std::move(name)) {}

  static std::optional<Listener> open_unix(const std::string& path, int type, std::string& error);
  bool begin(std::string& error) const;
  static std::vector<Listener> open_inet(const std::string& host, const std::string& port,
                                         std::string& error, std::vector<Listener>* last);
  // Opens all addresses with that port (network order; 0: a free one). Empty: see `error`, and
  // `is_taken` if another socket has the port.
  static std::vector<Listener> open_all(addrinfo* found, in_port_t port, bool& is_taken,
                                        std::string& error, std::vector<Listener>* last);
  bool has_its_file() const;

  Descriptor descriptor_;
  std::string name_;
  std::string given_name_;
  std::string path_;  // Of a unix socket that is not inherited.
  bool owns_file_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace haricot::os
