// The functions that run commands: one for each row of protocol/command_rows.inc, with its name.
//
// Only these functions know both the protocol and the queue. Each calls the engine and names the
// reply; anything that takes more code is in the engine. docs/protocol.md and docs/beyond.md list
// the replies.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "haricot/base/serialization.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/protocol/reply.hpp"
#include "haricot/queue/engine.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/statistics.hpp"

namespace haricot {

// Counts of a server, which a restart with clients hands over.
struct ServerCounts {
  VerbCounts verbs{};
  std::uint64_t total_connections = 0;
  LimitCounts limits_felt;
  std::uint64_t hand_overs = 0;

  using Fields = FieldList<&ServerCounts::verbs, &ServerCounts::total_connections,
                           &ServerCounts::limits_felt, &ServerCounts::hand_overs>;
};

// State that all commands of a server share.
struct CommandContext {
  Engine& engine;
  Journal& journal;
  const ServerInfo& info;
  Instant start;
  ServerCounts counts = {};
  // Drain mode: puts are answered DRAINING. A hand-over ends it, because in beanstalkd it ends with
  // the process.
  bool is_draining = false;

  // Memory of the last reply, valid until the next command.
  std::string text = {};
  std::vector<JobRef> batch = {};       // Jobs of a reply reserved_batch, in order, or of a page.
  std::vector<const Tube*> tubes = {};  // Tubes of a page.
  std::vector<const Client*> clients = {};  // Clients of a page.

  using Fields = FieldList<&CommandContext::counts>;

  void count(Verb verb) { ++counts.verbs[static_cast<std::size_t>(verb)]; }
};

// A command of a client, and the time.
struct Call {
  Client& client;
  const Command& command;
  CommandSet commands;  // Commands that the client may use.
  Instant now;
};

// Requires: the client is not busy. A reply of code none means that the client is busy now and gets
// a delivery later; not_yet, that the journal waits for its disk and nothing has changed.
namespace commands {
#define HARICOT_COMMAND(verb, ...) Reply verb(CommandContext& server, const Call& call);
#include "haricot/protocol/command_rows.inc"
}  // namespace commands

// Fraction of the memory limit, as its denominator, by which tubes and watches may exceed the
// limit: workers can still connect when puts are refused.
inline constexpr std::size_t kShareForNames = 16;

// Returns the reply to a command that reports only its outcome: `done` on success.
Reply simple_reply(Outcome outcome, ReplyCode done);
// Returns a reply with a job's body, which is valid while the job exists.
Reply job_reply(const Engine& engine, ReplyCode code, JobRef ref);

}  // namespace haricot
