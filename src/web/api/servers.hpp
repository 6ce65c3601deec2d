// /api/servers and /api/events: the state of the servers, once and as a stream.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

// Facts about the program.
struct About {
  std::string version;  // Version of this program.
  bool allows_changes = false;
  bool has_login = false;  // There is a token, so users can log in and out.
  double interval_s = 2;
};

// Returns the answer of /api/servers, and of each event: one server, or all if `name` is empty.
std::string servers_json(Observer& observer, const About& about, std::string_view name);

// Streams of server-sent events: the answer of /api/servers whenever it changes, and again after a
// silence. So a reader can distinguish a quiet server from a proxy that holds events back.
class Events final {
 public:
  // Shortest and longest time between two events of a stream. The page assumes that a proxy holds
  // events back after 5 seconds.
  static constexpr Duration kPause = Duration::seconds(1);
  static constexpr Duration kSilenceMax = Duration::seconds(2);

  // Requires: both outlive the object.
  Events(Observer& observer, const About& about) : observer_(observer), about_(about) {}

  // Begins a stream with the current state. If `server` is empty, it covers all servers.
  void add(std::shared_ptr<Exchange> exchange, std::string server);

  Instant next_event() const;
  void advance(Instant now);

 private:
  struct Stream {
    std::shared_ptr<Exchange> exchange;
    std::string server;
    Instant sent;
    std::uint64_t changes = 0;  // Value of Observer::changes() at the last event.
  };

  Observer& observer_;
  const About& about_;
  std::vector<Stream> streams_;
};

}  // namespace haricot::web
