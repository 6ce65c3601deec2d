// Requests to servers: samples, and the data that a screen shows besides.

#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "tool/client/address.hpp"
#include "tool/client/errand.hpp"
#include "tool/client/pipeline.hpp"
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

// Takes samples of one server without waiting, so that a silent server delays neither the screen
// nor the samples of other servers.
class ServerWatch final {
 public:
  // Time limit for connecting.
  static constexpr Duration kConnectPatience = Duration::seconds(2);

  // Leaves out tubes that match none of the patterns. `patience` limits the time for each answer.
  ServerWatch(Address address, std::vector<std::string> patterns, Duration patience);
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;

  // Requests a sample. Requires: !is_asking().
  void ask();
  bool is_asking() const { return round_.has_value(); }

  // Returns the descriptor and its events for poll(); the descriptor is -1 if there is none.
  pollfd wanted() { return {server_.link().descriptor(), server_.link().wanted_events(), 0}; }
  // Returns the time of the next take().
  Instant next_event() { return server_.link().next_event(); }
  // Handles the result of poll().
  void handle(short events) { server_.link().handle(static_cast<std::uint16_t>(events)); }
  // Returns the result of the last request; nothing while it is being answered. Called after
  // handle(): input that has arrived counts even if it is late.
  std::optional<Finding> take();

 private:
  void ask_next();
  void take_answer(Request& request, const Answer* answer);

  const std::vector<std::string> patterns_;
  Request request_;
  std::optional<SampleRound> round_;  // Empty if no sample is being taken.
  Instant began_;
  Remote server_;
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
