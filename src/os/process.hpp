// Settings of the process at its start, and facts about the machine.

#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>

#include "haricot/base/sip_hash.hpp"
#include "haricot/service/server_info.hpp"

namespace haricot::os {

// Opens /dev/null for each of the descriptors 0 to 2 that is closed, so that no socket or file gets
// its number and receives output for stderr. Writing to a stdout that was closed still fails with
// EBADF, so lost output is noticed.
void open_standard_descriptors();

// Raises the soft limit of open descriptors to the hard one.
void raise_descriptor_limit();
// Returns the current soft limit.
std::uint64_t descriptor_limit();

// Makes writes beyond the limit of a file's size (ulimit -f) fail, instead of ending the process.
void survive_file_size_limit();

// Makes a write to a closed peer fail, instead of ending the process.
void ignore_broken_pipes();

// Makes the kernel reap children. Process 1 of a container inherits children of other processes,
// such as those of a health check, which would remain as zombies.
void ignore_children();

// Makes malloc return large pieces of memory to the system as soon as they are free.
void give_large_memory_back();

// Counts the memory of this thread from now on (haricot/base/memory.hpp). Called first in main().
// Linked into haricotd only (new.cpp): the tool and the tests use their library's operator new.
void count_memory();

// Changes to a user permanently: its supplementary groups, its group, itself. On failure returns
// false and sets `error`, and `no_such_user` if that is the reason; the process has to end then.
[[nodiscard]] bool become_user(const std::string& name, std::string& error, bool& no_such_user);

// Returns 64 unpredictable bits. If the kernel has no random numbers, bits that differ each time.
std::uint64_t random_bits();

// Returns a new key for hashing texts that others choose.
HashKey make_hash_key();

// The signals that the daemon handles: SIGTERM, SIGINT, SIGUSR1 and SIGHUP.
sigset_t handled_signals();
// Blocks these signals, so that they wait for the daemon's descriptor. Process 1 of a container
// needs this anyway: the kernel does not deliver signals without a handler to it.
void block_signals();
// Returns true if SIGTERM or SIGINT is pending.
bool is_asked_to_end();

// Sets the fields about the process and the machine, for reports.
void describe_process(ServerInfo& info);

}  // namespace haricot::os
