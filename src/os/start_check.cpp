#include "os/start_check.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "haricot/binlog/read/folder_facts.hpp"
#include "haricot/binlog/read/folder_plan.hpp"
#include "os/descriptor.hpp"
#include "os/disk.hpp"
#include "os/exit_status.hpp"
#include "os/folder_lock.hpp"
#include "os/listener.hpp"
#include "os/process.hpp"
#include "os/unix_address.hpp"

namespace haricot::os {
namespace {

bool fail(const std::string& what, std::string& error) {
  error = what + ": " + std::strerror(errno);
  return false;
}

// This process holds no lock, so opening the file drops none.
bool can_lock(const FolderDisk& disk, const std::string& path, std::string& error) {
  FolderLock lock;
  if (lock.can_open(disk.descriptor())) return true;
  error = lock.why_not(path);
  return false;
}

// Reads the signatures of the files, and no jobs.
bool can_use_files(FolderDisk& disk, const std::string& path, std::string& error) {
  if (::faccessat(disk.descriptor(), ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return fail("cannot write to " + path, error);
  }
  disk.files().expect_writers();
  binlog::FolderFacts facts;
  if (disk.snapshot().take() != binlog::DiskStatus::ok) {
    error = disk.last_error();
    return false;
  }
  if (!binlog::gather_facts(disk, disk.snapshot().note(), 0, facts, error)) return false;
  error = binlog::plan_folder(facts).refusal;
  return error.empty();
}

// Returns true if a unix socket exists at the path, whether or not a server answers, or can be
// made.
bool can_listen_at(const std::string& path, std::string& error) {
  bool is_there = false;
  if (!may_be_socket(path, is_there, error)) return false;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return true;
  return fail("cannot listen on " + path, error);
}

// Binds a socket that does not listen, and so does not disturb a server. Returns true if the
// address is in use.
bool can_bind(const addrinfo& address) {
  const Descriptor socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol));
  if (!socket) return false;
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return ::bind(socket.get(), address.ai_addr, address.ai_addrlen) == 0 || errno == EADDRINUSE;
}

// Like Listener::open(): a name may have addresses that this machine lacks, but not only such.
bool can_listen_on(const std::string& listen, const std::string& port, std::string& error) {
  if (listen.starts_with(kUnixPrefix))
    return can_listen_at(listen.substr(kUnixPrefix.size()), error);
  const Addresses found = addresses_to_listen_on(listen, port, error);
  if (!found) return false;
  bool has_one = false;
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    if (can_bind(*at)) {
      has_one = true;
      continue;
    }
    const bool is_missing = is_missing_address(errno);
    std::string message = "cannot listen on ";
    message.append(listen).append(":").append(port);
    (void)fail(message, error);
    if (!is_missing) return false;
  }
  if (has_one) error.clear();
  return has_one;
}

bool can_listen(const Options& options, std::string& error) {
  if (!can_listen_on(options.listen, options.port, error)) return false;
  for (const std::string& address : options.listen_also) {
    if (!can_listen_on(address, options.port, error)) return false;
  }
  const std::string& path = options.take_over_socket;
  return path.empty() || can_listen_at(path, error);
}

// Checks in the order of a start, so that the first failure is the one that a start would report.
int check_in_order(const Options& options, std::string& error) {
  const bool has_binlog = !options.binlog_folder.empty();
  const std::string& folder = options.binlog_folder;
  FolderDisk disk;
  if (has_binlog && !disk.open(folder)) {
    error = disk.last_error();
    return kExitBinlog;
  }
  if (has_binlog && !can_lock(disk, folder, error)) return kExitBinlog;
  if (!can_listen(options, error)) return kExitCannotListen;
  bool no_such_user = false;
  if (!options.user.empty() && !become_user(options.user, error, no_such_user)) {
    return no_such_user ? kExitNoUser : EXIT_FAILURE;
  }
  if (has_binlog && !can_use_files(disk, folder, error)) return kExitBinlog;
  return EXIT_SUCCESS;
}

}  // namespace

int check_start(const Options& options, std::string& error) {
  try {
    return check_in_order(options, error);
  } catch (const std::bad_alloc&) {
    return EXIT_FAILURE;
  }
}

}  // namespace haricot::os
