// What the process does to itself at its start, and what it knows of the machine.

#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>

#include "haricot/base/sip_hash.hpp"
#include "haricot/service/server_info.hpp"

namespace haricot::os {

// Opens /dev/null on those of the descriptors 0 to 2 that are closed, so that no socket or file
// ever gets such a number and is written to as if it were stderr.
void open_standard_descriptors();

// Raises the soft limit of open descriptors to the hard one.
void raise_descriptor_limit();
// The soft limit as it is now.
std::uint64_t descriptor_limit();

// Lets writing beyond the limit of a file's size (ulimit -f) fail, instead of ending the process.
void survive_file_size_limit();

// Writing to a peer that is gone is an error of that write from now on, not the end of the process.
void ignore_broken_pipes();

// Children are gone when they end: as process 1 of a container one inherits those of others, such
// as the leftovers of a health check, and each that nobody waits for would stay as a zombie.
void ignore_children();

// Has large pieces of memory returned to the system as soon as they are free.
void give_large_memory_back();

// Becomes a user for good: its supplementary groups, its group, itself. On failure false, and
// `error` says why; then the process must end. `no_such_user` tells that failure from others.
[[nodiscard]] bool become_user(const std::string& name, std::string& error, bool& no_such_user);

// 64 bits that nobody can guess; where there are no random numbers, bits that at least differ.
std::uint64_t random_bits();

// The key by which a process hashes what others choose: a new one at each call.
HashKey make_hash_key();

// The signals that the daemon handles: SIGTERM, SIGINT, SIGUSR1 and SIGHUP.
sigset_t handled_signals();
// Blocks them: they queue up for the daemon's descriptor. Also where we are process 1 of a
// container, to which the kernel would not deliver an unhandled one.
void block_signals();
// Whether SIGTERM or SIGINT has come and waits.
bool is_asked_to_end();

// Fills in what the reports tell of the process and the machine.
void describe_process(ServerInfo& info);

}  // namespace haricot::os
