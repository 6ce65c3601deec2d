// list-clients: who is connected.
//
// What a connection does is known by its session, which is the owner of its client.

#include <string>
#include <string_view>

#include "haricot/base/check.hpp"
#include "haricot/service/dispatcher.hpp"
#include "haricot/service/session.hpp"

namespace haricot {
namespace {

std::string_view word_of(Session::Doing doing) {
  switch (doing) {
    case Session::Doing::idle:
      break;
    case Session::Doing::waiting:
      return "waiting";
    case Session::Doing::running:
      return "running";
    case Session::Doing::in_body:
      return "body";
  }
  return "idle";
}

}  // namespace

Reply Dispatcher::list_clients(const Command& command, Instant now) {
  clients_.clear();
  const std::uint64_t next = engine_.looks().scan_clients(command.id, command.bound, clients_);
  // Whoever goes on at `next` comes to an end.
  CHECK(clients_.size() <= command.bound && (next == 0 || next > command.id));
  Report report(text_, info_.compat);
  report.integer("next", next);
  report.begin_list("clients", clients_.empty());
  for (const Client* client : clients_) {
    const Session& session = *static_cast<const Session*>(client->owner());
    const std::string address =
        info_.address_of == nullptr ? "?" : info_.address_of(session.owner());
    write_listed_client(report, {.client = *client,
                                 .address = address,
                                 .state = word_of(session.doing()),
                                 .age_s = session.came().whole_seconds_until(now),
                                 .idle_s = session.still_since().whole_seconds_until(now),
                                 .commands = session.commands_run()});
  }
  return {.code = ReplyCode::ok, .text = text_};
}

}  // namespace haricot
