// Takes samples of one server in a thread, so that a silent server delays neither the screen nor
// the samples of other servers.

#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "tool/client/address.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/sample.hpp"

namespace haricot::tool {

// Result of one request.
struct Finding {
  std::optional<Sample> sample;  // Empty if it failed; then `failure` is set.
  Failure failure;
  Duration cost;  // Duration of the request.
};

class ServerWatch final {
 public:
  // Time limit for connecting, which also bounds the destructor.
  static constexpr Duration kConnectPatience = Duration::seconds(2);

  // Leaves out tubes that match none of the patterns. `patience` limits the time for each answer.
  ServerWatch(Address address, std::vector<std::string> patterns, Duration patience);
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;
  // Aborts the current request.
  ~ServerWatch();

  // Starts the thread, with all signals blocked. Returns false and sets `error` on failure.
  [[nodiscard]] bool start(std::string& error);
  // Requests a sample. Requires: start() returned true, and !is_asking().
  void ask();
  bool is_asking() const { return is_asking_; }

  // Returns a descriptor that is readable when there is a finding.
  int descriptor() const { return ready_.get(); }
  // Returns the result of the last request; nothing while it is being answered.
  std::optional<Finding> take();

 private:
  void run();
  Finding find_out(Remote& server);

  const Address address_;
  const std::vector<std::string> patterns_;
  const Duration patience_;
  os::Descriptor ready_;     // Both are eventfds.
  os::Descriptor stopping_;  // Ends a wait for the server.
  bool is_asking_ = false;   // From the owner's point of view.

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_wanted_ = false;
  bool is_over_ = false;
  std::optional<Finding> finding_;
  std::thread thread_;
};

}  // namespace haricot::tool
