// Prices of commands: upper bounds of the steps of a command, computed before it runs.
//
// Each session that was just read runs at least one cheap command in a turn, so the steps of one
// command are multiplied by the number of sessions that send it at once. A command with a higher
// price waits for a turn that has room for it (TurnShares).

#pragma once

#include <cstdint>

#include "haricot/protocol/command.hpp"
#include "haricot/queue/client.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot {

// Returns the price of the command if the client sends it now, by the price column of
// protocol/command_rows.inc; 0 if it is cheap.
[[gnu::cold, gnu::noinline]] std::uint64_t price_of(const Engine& engine, const Client& client,
                                                    const Command& command);
// Returns the price of a put whose body is complete.
[[gnu::cold, gnu::noinline]] std::uint64_t price_of_put(const Engine& engine, const Client& client);

}  // namespace haricot
