// Asks one server what it does, in a thread of its own: so a server that keeps silent holds up
// neither the screen nor the questions to the others.

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

// What came of one question.
struct Finding {
  std::optional<Sample> sample;  // Nothing: `failure` says why.
  Failure failure;
  Duration cost;  // From the question to its end.
};

class ServerWatch final {
 public:
  // How long a connect may take, and so how long the end of a watch may.
  static constexpr Duration kConnectPatience = Duration::seconds(2);

  // Tubes whose names match none of the patterns are left out. `patience` is how long the server
  // may stay silent.
  ServerWatch(Address address, std::vector<std::string> patterns, Duration patience);
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;
  // Gives up what is under way.
  ~ServerWatch();

  // Makes the thread, which has no signals. False: `error` says why.
  [[nodiscard]] bool start(std::string& error);
  // Asks once more. Requires: start() went well, and it is not asking.
  void ask();
  bool is_asking() const { return is_asking_; }

  // Can be read when there is a finding.
  int descriptor() const { return ready_.get(); }
  // What has come of the last question; nothing: it is still under way.
  std::optional<Finding> take();

 private:
  void run();
  Finding find_out(Remote& server);

  const Address address_;
  const std::vector<std::string> patterns_;
  const Duration patience_;
  os::Descriptor ready_;     // Both are eventfd.
  os::Descriptor stopping_;  // Ends a wait for the server.
  bool is_asking_ = false;   // As the owner knows it.

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_wanted_ = false;
  bool is_over_ = false;
  std::optional<Finding> finding_;
  std::thread thread_;
};

}  // namespace haricot::tool
