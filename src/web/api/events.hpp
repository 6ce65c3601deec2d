// Streams of server-sent events: what /api/servers says, as soon as there is something new.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "haricot/base/time.hpp"
#include "web/api/servers_json.hpp"
#include "web/http/exchange.hpp"
#include "web/observe/observer.hpp"

namespace haricot::web {

class Events final {
 public:
  // The shortest time between two events of a stream, and the longest silence.
  static constexpr Duration kPause = Duration::seconds(1);
  static constexpr Duration kSilenceMax = Duration::seconds(15);

  // Both outlive it.
  Events(Observer& observer, const About& about) : observer_(observer), about_(about) {}

  // Begins a stream with what is known now. An empty name: of all servers.
  void add(std::shared_ptr<Exchange> exchange, std::string server);

  Instant next_event() const;
  void advance(Instant now);

 private:
  struct Stream {
    std::shared_ptr<Exchange> exchange;
    std::string server;
    Instant sent;
    std::uint64_t changes = 0;  // What of Observer::changes() it has.
  };

  Observer& observer_;
  const About& about_;
  std::vector<Stream> streams_;
};

}  // namespace haricot::web
