// The sockets that a server listens on: inherited ones, those of the previous server, or new ones.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "os/descriptor.hpp"
#include "os/hand_over.hpp"
#include "os/listener.hpp"
#include "os/log.hpp"
#include "os/options.hpp"
#include "os/take_over_socket.hpp"

namespace haricot::os {

struct ServerSockets {
  std::vector<Listener> listeners;          // Never empty if open() has succeeded.
  std::optional<TakeOverSocket> take_over;  // Of --take-over-socket.

  // Takes the inherited sockets, or else listens on the addresses of the flags; listens on the
  // socket of --take-over-socket. Sockets that `last` has for these addresses are moved out of it;
  // null: there is no previous server. Returns false and sets `error` on failure.
  [[nodiscard]] bool open(const Options& options, std::vector<NamedDescriptor> inherited,
                          TakeOver* last, Log& log, std::string& error);
  // Returns the folders in which files of sockets have to be removed at the end.
  std::vector<std::string> removal_folders() const;
  // Returns the names of the listeners, for the log.
  std::string names() const;
};

// Returns the addresses of the flags as one text, which earlier versions compare with their own.
std::string addresses_of(const Options& options);

}  // namespace haricot::os
