// Streams of server-sent events: the answer of /api/servers, as soon as there is something new, and
// again while nothing is. A reader distinguishes a quiet server from a proxy that holds events
// back.

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
  // The shortest and the longest time between two events of a stream. The page takes a stream for
  // held back after 5 seconds.
  static constexpr Duration kPause = Duration::seconds(1);
  static constexpr Duration kSilenceMax = Duration::seconds(2);

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
