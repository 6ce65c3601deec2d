#include "web/api/events.hpp"

#include <algorithm>
#include <utility>

namespace haricot::web {

void Events::add(std::shared_ptr<Exchange> exchange, std::string server) {
  exchange->begin_stream("text/event-stream");
  Stream stream{.exchange = std::move(exchange),
                .server = std::move(server),
                .sent = Observer::now() - kPause,
                .changes = observer_.changes() - 1};
  streams_.push_back(std::move(stream));
}

Instant Events::next_event() const {
  Instant next = Instant::never();
  for (const Stream& stream : streams_) {
    const bool is_late = stream.changes != observer_.changes();
    next = std::min(next, stream.sent + (is_late ? kPause : kSilenceMax));
  }
  return next;
}

void Events::advance(Instant now) {
  // Most streams get the same text.
  std::string json;
  std::string of_server;
  for (Stream& stream : streams_) {
    const bool is_late = stream.changes != observer_.changes();
    if (now < stream.sent + (is_late ? kPause : kSilenceMax)) continue;
    stream.sent = now;
    stream.changes = observer_.changes();
    if (json.empty() || of_server != stream.server) {
      json = servers_json(observer_, about_, stream.server);
      of_server = stream.server;
    }
    // Streams of lost peers are removed below.
    static_cast<void>(stream.exchange->write("event: servers\ndata: " + json + "\n\n"));
  }
  std::erase_if(streams_, [](const Stream& stream) { return stream.exchange->is_ended(); });
}

}  // namespace haricot::web
