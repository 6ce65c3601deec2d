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
// ever gets such a number and is written to as if it were stderr. Writing to a stdout that was
// closed fails with EBADF, so the caller notices that its output is lost.
void open_standard_descriptors();

// Raises the soft limit of open descriptors to the hard one.
void raise_descriptor_limit();
// The soft limit as it is now.
std::uint64_t descriptor_limit();

// From now on writing beyond the limit of a file's size (ulimit -f) fails, and does not end the
// process.
void survive_file_size_limit();

// Writing to a peer that is gone is an error of that write from now on, not the end of the process.
void ignore_broken_pipes();

// From now on the kernel forgets children when they end. Process 1 of a container inherits children
// of other processes, such as those of a health check, and they would stay as zombies.
void ignore_children();

// Has large pieces of memory returned to the system as soon as they are free.
void give_large_memory_back();

// Becomes a user for good: its supplementary groups, its group, itself. On failure false, and
// `error` says why; then the process must end. `no_such_user`: that is why it failed.
[[nodiscard]] bool become_user(const std::string& name, std::string& error, bool& no_such_user);

// 64 bits that nobody can guess. If the kernel has no random numbers, bits that differ each time.
std::uint64_t random_bits();

// The key by which a process hashes what others choose: a new one at each call.
HashKey make_hash_key();

// The signals that the daemon handles: SIGTERM, SIGINT, SIGUSR1 and SIGHUP.
sigset_t handled_signals();
// Blocks these signals, so that they wait for the daemon's descriptor. This is also needed in
// process 1 of a container, to which the kernel does not deliver signals without a handler.
void block_signals();
// Whether SIGTERM or SIGINT has come and waits.
bool is_asked_to_end();

// Fills in the facts about the process and the machine that the reports have.
void describe_process(ServerInfo& info);

}  // namespace haricot::os
