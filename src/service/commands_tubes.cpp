// Commands about tubes and the server: use, watch, ignore, pause, flush, drain, and lists of names.

#include <string_view>

#include "haricot/base/memory.hpp"
#include "haricot/service/commands.hpp"
#include "haricot/service/report.hpp"

namespace haricot {
namespace {

Reply watching(const Call& call, Outcome outcome) {
  if (outcome != Outcome::done) return simple_reply(outcome, ReplyCode::none);
  return {.code = ReplyCode::watching, .number = call.client.watched_tubes()};
}

// A tube that does not exist has no jobs, so a flush can be repeated.
Reply flush(CommandContext& server, const Call& call, JobStates states) {
  const Outcome outcome = server.engine.flush(call.client, call.command.tube, states);
  if (outcome == Outcome::not_found) return {.code = ReplyCode::flushed, .number = 0};
  return simple_reply(outcome, ReplyCode::none);
}

}  // namespace

Reply commands::use(CommandContext& server, const Call& call) {
  const Memory::Bounded bounded(kShareForNames);
  const Outcome outcome = server.engine.use(call.client, call.command.tube);
  if (outcome != Outcome::done) return simple_reply(outcome, ReplyCode::none);
  return {.code = ReplyCode::now_using, .text = call.client.used().name};
}

Reply commands::watch(CommandContext& server, const Call& call) {
  const Memory::Bounded bounded(kShareForNames);
  return watching(call, server.engine.watch(call.client, call.command.tube));
}

// Counts as a `watch`.
Reply commands::watch_by_weight(CommandContext& server, const Call& call) {
  static_assert(kWatchWeightMax == WatchWeights::kWeightMax);
  const Memory::Bounded bounded(kShareForNames);
  server.count(Verb::watch);
  return simple_reply(server.engine.watch(call.client, call.command.tube, call.command.bound),
                      ReplyCode::none);
}

Reply commands::ignore(CommandContext& server, const Call& call) {
  return watching(call, server.engine.ignore(call.client, call.command.tube));
}

Reply commands::pause_tube(CommandContext& server, const Call& call) {
  return simple_reply(server.engine.pause(call.command.tube, call.command.seconds, call.now),
                      ReplyCode::paused);
}

Reply commands::flush_tube(CommandContext& server, const Call& call) {
  const StateWord word = call.command.state;
  return flush(server, call,
               {.ready = word == StateWord::none || word == StateWord::ready,
                .delayed = word == StateWord::none || word == StateWord::delayed,
                .buried = word == StateWord::none || word == StateWord::buried});
}

Reply commands::flush_buried(CommandContext& server, const Call& call) {
  return flush(server, call, {.buried = true});
}

Reply commands::drain(CommandContext& server, const Call&) {
  server.is_draining = true;
  return {ReplyCode::draining};
}

Reply commands::undrain(CommandContext& server, const Call&) {
  server.is_draining = false;
  return {ReplyCode::not_draining};
}

Reply commands::list_tubes(CommandContext& server, const Call&) {
  Report report(server.text, server.info.compat);
  const TubeTable& tubes = server.engine.tubes();
  for (std::uint32_t i = 0; i < tubes.size(); ++i) report.item(tubes.at(i).name);
  return {.code = ReplyCode::ok, .text = server.text};
}

Reply commands::list_tube_used(CommandContext&, const Call& call) {
  return {.code = ReplyCode::now_using, .text = call.client.used().name};
}

Reply commands::list_tubes_watched(CommandContext& server, const Call& call) {
  Report report(server.text, server.info.compat);
  const Client& client = call.client;
  for (std::uint32_t i = 0; i < client.watched_tubes(); ++i) report.item(client.watched(i).name);
  return {.code = ReplyCode::ok, .text = server.text};
}

}  // namespace haricot
