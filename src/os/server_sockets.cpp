#include "os/server_sockets.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace haricot::os {
namespace {

// Opens listeners on all addresses, or moves them out of `last`. Returns none and sets `error` if
// one address fails.
std::vector<Listener> open_listeners(const Options& options, std::vector<Listener>* last,
                                     std::string& error) {
  std::vector<Listener> all = Listener::open(options.listen, options.port, error, last);
  for (const std::string& address : options.listen_also) {
    if (all.empty()) break;
    std::vector<Listener> more = Listener::open(address, options.port, error, last);
    if (more.empty()) return {};
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

// Returns the inherited sockets, or else listeners on all addresses. Returns none and sets `error`
// on failure.
std::vector<Listener> find_listeners(const Options& options, std::vector<NamedDescriptor> sockets,
                                     TakeOver* last, Log& log, std::string& error) {
  std::vector<Listener> inherited = Listener::inherit(std::move(sockets), error);
  if (!inherited.empty() && options.listen_given) {
    log.event(Level::warning, "flag",
              {{"message", "-l, -p and --listen-also are ignored: the sockets are inherited"}});
  }
  if (!inherited.empty() || !error.empty()) return inherited;
  return open_listeners(options, last == nullptr ? nullptr : &last->listeners(), error);
}

std::optional<Listener> find_take_over_socket(const Options& options, TakeOver* last,
                                              std::string& error) {
  const std::string& path = options.take_over_socket;
  if (last != nullptr && last->take_over_socket() && last->take_over_socket()->is_at(path)) {
    return std::exchange(last->take_over_socket(), std::nullopt);
  }
  return Listener::open_for_messages(path, options.user, error);
}

}  // namespace

bool ServerSockets::open(const Options& options, std::vector<NamedDescriptor> inherited,
                         TakeOver* last, Log& log, std::string& error) {
  listeners = find_listeners(options, std::move(inherited), last, log, error);
  if (listeners.empty() || options.take_over_socket.empty()) return !listeners.empty();
  std::optional<Listener> socket = find_take_over_socket(options, last, error);
  if (socket) take_over.emplace(std::move(*socket));
  return socket.has_value();
}

std::vector<std::string> ServerSockets::removal_folders() const {
  std::vector<std::string> folders;
  for (const Listener& listener : listeners) folders.push_back(listener.removal_folder());
  if (take_over) folders.push_back(take_over->listener().removal_folder());
  std::erase(folders, "");
  return folders;
}

std::string ServerSockets::names() const {
  std::string names;
  for (const Listener& listener : listeners) names += (names.empty() ? "" : ",") + listener.name();
  return names;
}

std::string addresses_of(const Options& options) {
  std::string result = options.listen + " " + options.port;
  for (const std::string& address : options.listen_also) result += " " + address;
  return result;
}

}  // namespace haricot::os
