// Sockets that wait for connections: made from an address, or inherited.

#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "haricot/base/state_stream.hpp"
#include "os/descriptor.hpp"

namespace haricot::os {

// Who is at the other end of a socket, for the log: `127.0.0.1:4711`, `unix`.
std::string peer_name(int descriptor);

class Listener {
 public:
  // `listen` is a host name, an address of either family, or `unix:` and a path; `port` a number or
  // a service's name. On failure the result is empty and `error` says why.
  //
  // Replaces a unix socket on which nobody answers. Any other file at the path, and a socket on
  // which a server still answers, stay, and then this fails.
  static std::vector<Listener> open(const std::string& listen, const std::string& port,
                                    std::string& error);

  // The sockets that a service manager has passed. Empty with an `error`: one is none to listen on.
  static std::vector<Listener> inherit(std::vector<NamedDescriptor> sockets, std::string& error);

  // Writes what the next process has to know of it, which gets its socket and has to remove its
  // file from here on. And the way back; whether all was there, the reader tells.
  void leave_to_next(StateWriter& to);
  static Listener from_last(StateReader& from, Descriptor socket);

  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;
  // Removes the file of a unix socket that open() made, if it is still that file.
  ~Listener();

  int descriptor() const { return descriptor_.get(); }
  // The folder in which a file has to be removed at the end; empty if there is none.
  std::string removal_folder() const;
  // For the log.
  const std::string& name() const { return name_; }
  // The name that the service manager gave (LISTEN_FDNAMES, systemd's FileDescriptorName=); empty
  // if there is no such name, or the socket was not inherited.
  const std::string& given_name() const { return given_name_; }

 private:
  explicit Listener(Descriptor descriptor, std::string name)
      : descriptor_(std::move(descriptor)), name_(std::move(name)) {}

  static std::vector<Listener> open_unix(const std::string& path, std::string& error);
  static std::vector<Listener> open_inet(const std::string& host, const std::string& port,
                                         std::string& error);

  Descriptor descriptor_;
  std::string name_;
  std::string given_name_;
  std::string path_;  // Of a unix socket that is ours to remove.
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace haricot::os
