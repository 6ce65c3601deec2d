// The predecessor: the server whose connections and jobs this one takes over. Either it has ended
// and a service manager has stored its state, or it still runs, was asked for its state, and waits.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/service/service.hpp"
#include "os/daemon.hpp"
#include "os/descriptor.hpp"
#include "os/log.hpp"
#include "os/sealed_state.hpp"
#include "os/service_manager.hpp"
#include "os/take_over_socket.hpp"

namespace haricot::os {

class Predecessor {
 public:
  // Requires: the notifier and the log outlive this object. `versions`: versions of a state that
  // can be taken over.
  Predecessor(Notifier& notifier, Log& log, StateVersions versions);
  Predecessor(const Predecessor&) = delete;
  Predecessor& operator=(const Predecessor&) = delete;

  // Takes the parts of a state that the service manager has passed; none: it has stored nothing.
  // The manager keeps them until finish(), unless they are unusable.
  void take_stored(std::vector<NamedDescriptor> parts);
  // Returns true if the service manager keeps a state.
  bool is_stored() const { return !stored_.empty(); }
  // Opens the stored state, for a server with that folder (BinlogFolder::identity(); empty:
  // none). A damaged state is reported and dropped, and so is one of another version if a binlog
  // has the jobs. Returns false if this process must not serve; the manager keeps the state for the
  // next try.
  [[nodiscard]] bool open(std::string folder, std::string& error);
  // Asks the server that listens at that path for its state. This and all functions with `error`
  // return false on failure, and set `error`.
  [[nodiscard]] bool ask(const std::string& path, std::string& error);
  // Returns true if the predecessor runs. It continues unless this server calls confirm().
  bool is_running() const { return request_.is_open(); }
  // Returns the state to take over, or null.
  PredecessorState* state() { return state_ ? &*state_ : nullptr; }

  // Returns the time since which no client has been served; without a predecessor, the start of
  // this process.
  Instant rested_at() const;

  // Checks that the running server uses that folder (empty: none). Called before anything is
  // changed.
  [[nodiscard]] bool has_folder(const std::string& identity, std::string& error) const;
  // Reads the jobs from the folder of the predecessor, if this server has another one and the
  // manager has stored the state. On failure this process cannot serve. Called before privileges
  // are dropped, which reading that folder may need.
  [[nodiscard]] bool move_jobs(const ServerInfo& info, std::string& error);
  // Takes over its connections and jobs, if there is a state. On failure this process cannot serve.
  // Unless memory was short, the next start begins without the state.
  [[nodiscard]] bool read(Daemon& daemon, Service& service, std::string& error);
  // Confirms the take-over: from then on everything belongs to this server. On failure it still
  // belongs to the other one.
  [[nodiscard]] bool confirm(std::string& error);
  // Removes the stored state, because this server serves. Listeners that were not taken over are
  // closed, after their pending connections are accepted.
  void finish(Daemon& daemon, const Service& service);
  // Reports to a predecessor that still runs why this one does not take over.
  void refuse(std::string_view why) { request_.refuse(why); }

 private:
  static constexpr const char* kNoMemory = "not enough memory for the state of the predecessor";

  void remove_stored();
  bool may_continue_without_jobs(const EngineSerializer& serializer, std::string& error);

  Notifier& notifier_;
  Log& log_;
  const StateVersions versions_;
  Instant began_;
  std::string folder_;                  // Folder of this server.
  std::vector<NamedDescriptor> parts_;  // Stored ones, until open().
  std::vector<std::string> stored_;     // Names of the parts that the service manager keeps.
  TakeOverRequest request_;
  std::optional<PredecessorState> state_;
};

}  // namespace haricot::os
