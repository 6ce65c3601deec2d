// Listening sockets, made from an address or passed by a service manager.

#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "haricot/base/serialization.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

class Listener {
 public:
  // Maximum number of connections that wait to be accepted.
  static constexpr int kBacklog = 1024;

  // Listens on every address of `listen`: a host name, an address of either family, or `unix:` and
  // a path. `port` is a number or a service's name; with 0, all addresses of the name get the same
  // free port. Skips addresses that this machine lacks, unless it lacks all of them. On failure
  // returns nothing and sets `error`.
  //
  // Replaces a unix socket on which no server answers. Fails if a server answers there, or the path
  // leads to another kind of file.
  //
  // `predecessor`: its listeners. If one of them has the address, it is moved out and returned;
  // port 0 matches any port. A new listener may overlap with the others, as 0.0.0.0 does with
  // 127.0.0.1, if they belong to the same user. They keep listening.
  static std::vector<Listener> open(const std::string& listen, const std::string& port,
                                    std::string& error,
                                    std::vector<Listener>* predecessor = nullptr);

  // Makes a unix socket for whole messages, at a path of 1 to 107 bytes. Only `user` and root may
  // connect to it; if `user` is empty, only this process's user and root. Replaces the files that
  // open() replaces. On failure returns nothing and sets `error`.
  static std::optional<Listener> open_for_messages(const std::string& path, const std::string& user,
                                                   std::string& error);

  // Makes listeners of the sockets that a service manager has passed. Returns nothing and sets
  // `error` if one of them does not listen.
  static std::vector<Listener> from_passed(std::vector<NamedDescriptor> sockets,
                                           std::string& error);

  // write() writes the data for another process, which gets the socket separately. from_other()
  // reads it; the reader reports errors. The file of the socket still belongs to the other process,
  // until own_file().
  void write(StateWriter& to) const;
  static Listener from_other(StateReader& from, Descriptor socket);
  // Makes this object remove the file of the socket, if there is one.
  void own_file() { owns_file_ = !path_.empty(); }

  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;
  // Removes the file of a unix socket, if it belongs to this object and was not replaced.
  ~Listener();

  int descriptor() const { return descriptor_.get(); }
  // Returns the folder in which a file has to be removed at the end; empty if there is none.
  std::string removal_folder() const;
  // Returns true if this is the unix socket of that path, and its file is still there.
  bool is_at(const std::string& path) const;
  // Stops listening in every process that has the socket. Connections that are not accepted yet
  // end. Does nothing to a listener that the service manager has passed.
  void stop() const;
  // For the log.
  const std::string& name() const { return name_; }
  // The name that the service manager has given (LISTEN_FDNAMES, systemd's FileDescriptorName=);
  // empty if there is none, or the socket was not passed.
  const std::string& given_name() const { return given_name_; }

 private:
  explicit Listener(Descriptor descriptor, std::string name)
      : descriptor_(std::move(descriptor)), name_(std::move(name)) {}

  static std::optional<Listener> open_unix(const std::string& path, int type, std::string& error);
  bool begin(std::string& error) const;
  static std::vector<Listener> open_inet(const std::string& host, const std::string& port,
                                         std::string& error, std::vector<Listener>* predecessor);
  // Opens all addresses with that port (network order; 0: a free one). On failure returns nothing,
  // sets `error`, and sets `is_taken` if another socket has the port.
  static std::vector<Listener> open_all(addrinfo* found, in_port_t port, bool& is_taken,
                                        std::string& error, std::vector<Listener>* predecessor);
  bool has_its_file() const;

  Descriptor descriptor_;
  std::string name_;
  std::string given_name_;
  std::string path_;  // Path of a unix socket that was not passed.
  bool owns_file_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace haricot::os
