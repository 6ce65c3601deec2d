// Ends a server and hands it over to its successor: via a service manager, which keeps the state in
// between, or via a socket, on which the successor asks for it.

#pragma once

#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/service/service.hpp"
#include "os/binlog_folder.hpp"
#include "os/daemon.hpp"
#include "os/descriptor.hpp"
#include "os/log.hpp"
#include "os/sealed_state.hpp"
#include "os/service_manager.hpp"
#include "os/take_over_socket.hpp"

namespace haricot::os {

// A hand-over brings the daemon to rest, seals the state, and gives it away.
class HandOver {
 public:
  // Requires: all arguments outlive this object; `binlog` and `socket` may be null. `identity`: the
  // folder of the binlog is added at the hand-over. `to_manager`: hand everything to the service
  // manager at the end, if there is one.
  HandOver(Daemon& daemon, Service& service, BinlogFolder* binlog, TakeOverSocket* socket,
           Notifier& notifier, Log& log, ServerIdentity identity, bool to_manager);
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;

  // Serves until the server has to end, and returns the exit status. If a successor has taken over
  // by then, ends the process itself, because the files and sockets that are closed on the way out
  // belong to the successor. Requires: the daemon is open.
  int serve();

 private:
  // Time for this server to finish its work, so that the successor need not, and time for the
  // successor to get ready.
  static constexpr Duration kPatience = Duration::seconds(5);
  static constexpr Duration kPatienceWithSuccessor = Duration::seconds(10);

  int end();
  void answer_successor();
  bool give_to_successor(std::string& error);
  bool give_to_manager(std::string& error);
  bool seal(std::vector<NamedDescriptor>& parts, std::string& error);
  void begin(const char* why);
  void refuse(const std::string& why);
  [[noreturn]] void leave();

  Daemon& daemon_;
  Service& service_;
  BinlogFolder* binlog_;
  TakeOverSocket* socket_;
  Notifier& notifier_;
  Log& log_;
  ServerIdentity identity_;
  const bool to_manager_;
  Instant began_;
};

}  // namespace haricot::os
