// The server before this one, as far as this one goes on with what it had: a service manager has
// kept it, or the server still runs, has been asked for it, and waits.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/service/service.hpp"
#include "os/daemon.hpp"
#include "os/descriptor.hpp"
#include "os/hand_over.hpp"
#include "os/log.hpp"
#include "os/notify.hpp"
#include "os/take_over_socket.hpp"

namespace haricot::os {

class LastServer {
 public:
  // The first two outlive this. `versions`: of a state that can be taken over.
  LastServer(Notifier& notifier, Log& log, StateVersions versions);
  LastServer(const LastServer&) = delete;
  LastServer& operator=(const LastServer&) = delete;

  // Takes the parts of a parcel that the service manager has passed; none: it has kept nothing. The
  // manager keeps them until forget(), unless they are of no use.
  void inherit(std::vector<NamedDescriptor> parts);
  // Whether the service manager keeps a state.
  bool is_stored() const { return !stored_.empty(); }
  // Opens what was inherited, for a server with that folder (BinlogFolder::identity(); empty:
  // none). A damaged state is reported and dropped, and so is one of another version if a binlog
  // has the jobs. False: this process must not serve, and the manager keeps the state for the next
  // try.
  [[nodiscard]] bool open(std::string folder, std::string& error);
  // Asks the server that listens at that path. On failure false, and `error` says why, as in all
  // others.
  [[nodiscard]] bool ask(const std::string& path, std::string& error);
  // It runs, and goes on if this one does not agree().
  bool is_running() const { return request_.is_open(); }
  // What there is to take over; null: nothing.
  TakeOver* state() { return state_ ? &*state_ : nullptr; }

  // Since when no client has been served; without such a server, since this process began.
  Instant rested_at() const;

  // Before anything is changed: whether a server that has been asked has that folder; empty: none.
  [[nodiscard]] bool has_folder(const std::string& identity, std::string& error) const;
  // Reads the jobs of the folder that the server before had, if it is another one than this
  // server's and the manager has kept the state. False: this process cannot serve. To be called
  // before anything is given up that the folder may need.
  [[nodiscard]] bool bring_jobs(const ServerInfo& info, std::string& error);
  // Goes on with its connections and jobs, if there is something to take over. False: this process
  // cannot serve. Unless memory was short, the next start begins without the state.
  [[nodiscard]] bool read(Daemon& daemon, Service& service, std::string& error);
  // From here on everything is this server's. False: it is still the other one's.
  [[nodiscard]] bool agree(std::string& error);
  // Drops the state, because this server serves. Listeners that were not taken over are closed,
  // after the connections that wait there are accepted.
  void forget(Daemon& daemon, const Service& service);
  // This one does not: if the other one runs, it is told why.
  void refuse(std::string_view why) { request_.refuse(why); }

 private:
  static constexpr const char* kNoMemory = "there is no memory for the state of the server before";

  void forget_stored();
  bool may_go_on_without_jobs(const StateTransfer& transfer, std::string& error);

  Notifier& notifier_;
  Log& log_;
  const StateVersions versions_;
  Instant began_;
  std::string folder_;                      // Of this server.
  std::vector<NamedDescriptor> inherited_;  // Until open().
  std::vector<std::string> stored_;  // The names under which the service manager has the parts.
  TakeOverRequest request_;
  std::optional<TakeOver> state_;
};

}  // namespace haricot::os
