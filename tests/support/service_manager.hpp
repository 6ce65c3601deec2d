// What systemd does with the descriptors of a service: it keeps those that the service gives it
// under their names, passes them at the next start, and drops those that it is told to forget.

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

  // Listens on the path that a service is to have as NOTIFY_SOCKET.
  [[nodiscard]] bool open(const std::string& path);

  // How the next process is to be started: told of the socket, and passed what is kept. What it
  // has in `environment` is not seen by the shell that passes it.
  ServerOptions passing(ServerOptions options) const;
  // Launches it, and does what it is told until it is ready and needs nothing that is kept any
  // more. False: it has ended instead, or `patience` is over.
  [[nodiscard]] bool start(ServerProcess& server, const ServerOptions& options,
                           std::chrono::milliseconds patience = kPatience);
  // SIGTERM. Does what it is told until the process has ended. Nothing: it does not end.
  std::optional<ExitStatus> stop(ServerProcess& server);

  std::size_t kept() const { return kept_.size(); }
  // What is kept under that name; -1: nothing.
  int descriptor(const std::string& name) const;
  void drop_all();
  // Another descriptor takes the place of the one of that name. False: there is none.
  bool exchange(const std::string& name, int descriptor);
  // Handles the messages of processes that have ended.
  void catch_up() { obey_all(); }
  // From now on it does not hear what it is to forget.
  void hear_no_removals() { hears_removals_ = false; }
  void hear_removals() { hears_removals_ = true; }

 private:
  struct Kept {
    std::string name;
    int descriptor;
  };

  void obey(const std::string& message, int descriptor);
  // The next message that comes within that time.
  bool obey_one(std::chrono::milliseconds patience);
  void obey_all();

  NotifySocket socket_;
  std::string path_;
  std::vector<Kept> kept_;
  bool hears_removals_ = true;
  bool is_ready_ = false;          // The last process that was started has said so.
  std::set<std::string> removed_;  // What it has said that it does not need.
};

}  // namespace haricot::test
