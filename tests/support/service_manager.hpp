// Handles descriptors of a service like systemd: keeps those that the service stores under their
// names, passes them at the next start, and drops those that it is asked to forget.

#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/notify_socket.hpp"
#include "support/server_process.hpp"

namespace haricot::test {

class ServiceManager final {
 public:
  ServiceManager() = default;
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;
  ~ServiceManager() { drop_all(); }

  // Listens on the path for the service's NOTIFY_SOCKET.
  [[nodiscard]] bool open(const std::string& path);

  // Returns options for the next process, with the socket and the kept descriptors. The shell that
  // passes them does not see the variables in `environment`.
  ServerOptions passing(ServerOptions options) const;
  // Launches the process, and handles its messages until it is ready and no longer needs the kept
  // descriptors. Returns false if it has ended, or `patience` is over.
  [[nodiscard]] bool start(ServerProcess& server, const ServerOptions& options,
                           std::chrono::milliseconds patience = kPatience);
  // Sends SIGTERM, and handles messages until the process has ended. Returns nothing if it does not
  // end.
  std::optional<ExitStatus> stop(ServerProcess& server);

  std::size_t kept() const { return kept_.size(); }
  // Returns the descriptor kept under that name; -1: none.
  int descriptor(const std::string& name) const;
  void drop_all();
  // Replaces the descriptor of that name. Returns false if there is none.
  bool exchange(const std::string& name, int descriptor);
  // Handles the messages of processes that have ended.
  void catch_up() { obey_all(); }
  // Ignores requests to forget descriptors from now on.
  void hear_no_removals() { hears_removals_ = false; }
  void hear_removals() { hears_removals_ = true; }

 private:
  struct Kept {
    std::string name;
    int descriptor;
  };

  void obey(const std::string& message, int descriptor);
  // Handles the next message that comes within that time.
  bool obey_one(std::chrono::milliseconds patience);
  void obey_all();

  NotifySocket socket_;
  std::string path_;
  std::vector<Kept> kept_;
  bool hears_removals_ = true;
  bool is_ready_ = false;          // The last process that was started has reported it.
  std::set<std::string> removed_;  // Names that it has asked to forget.
};

}  // namespace haricot::test
