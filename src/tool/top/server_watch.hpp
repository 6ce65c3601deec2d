// Requests to servers: samples, each server in a thread, and the data that a screen shows besides.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "haricot/base/time.hpp"
#include "os/descriptor.hpp"
#include "tool/client/address.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/sample.hpp"
#include "tool/top/top_state.hpp"
#include "tool/top/top_view.hpp"

namespace haricot::tool {

// Result of one request.
struct Finding {
  std::optional<Sample> sample;  // Empty if it failed; then `failure` is set.
  Failure failure;
  Duration cost;  // Duration of the request.
};

// Takes samples of one server in a thread, so that a silent server delays neither the screen nor
// the samples of other servers.
class ServerWatch final {
 public:
  // Time limit for connecting.
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

// Data of one server that a screen shows besides its sample, requested over a separate connection:
// the next jobs of a tube or the connections, and the abilities of the server.
class Details final {
 public:
  // Requires: both outlive the object. A key may change the view while a server is being asked.
  Details(Errand& errand, const TopView& view);

  // Asks this server of the errand for the data that the view shows, at most `jobs` jobs of each
  // state. On failure sets the trouble of `state`. Returns the time taken.
  Duration ask(std::size_t server, std::size_t jobs, TopState& state);

 private:
  // Return false if the server failed.
  bool ask_for_jobs(Remote& server, std::size_t count, TopState& state);
  bool ask_for_clients(Remote& server, TopState& state);

  Errand& errand_;
  const TopView& view_;
  // True for each server whose abilities are known on this connection.
  std::vector<bool> has_abilities_;
};

}  // namespace haricot::tool
