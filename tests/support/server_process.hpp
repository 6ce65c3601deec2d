// A beanstalk server, haricotd or another, as a process that a test starts and ends.
//
// It ends with the object, and with the thread that started it: the kernel kills it when that
// thread ends, in whatever way. So start servers from the main thread of a test.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/eventually.hpp"

namespace haricot::test {

enum class ServerKind { haricot, beanstalkd_1_12 };

// Returns the name of this kind for messages.
const char* to_string(ServerKind kind);

// Returns the binary of this kind: the environment variable HARICOTD or BEANSTALKD if it is set,
// else the haricotd of this build or /usr/bin/beanstalkd. Nothing if there is no such executable.
std::optional<std::string> find_server_binary(ServerKind kind);

// Returns the version that a server prints with -v, such as 1.12; empty if it prints none.
std::string shown_version(const std::string& binary);

// End of a process: by itself with a code, or by a signal (then the code is -1).
struct ExitStatus {
  int code = -1;
  int signal = 0;

  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

struct ServerOptions {
  std::string binary = {};
  std::vector<std::string> arguments = {};    // Besides -l and -p, which start() adds.
  std::string listen_address = "127.0.0.1";   // `unix:PATH` needs no port.
  std::vector<std::string> environment = {};  // NAME=VALUE, added to the test's.
  // Program that runs the binary; it is followed by the binary and its arguments. For start(), it
  // must become the server by exec: `/bin/sh -c 'ulimit -n 32; exec "$0" "$@"'`.
  std::vector<std::string> launcher = {};
  // Descriptors of the test that become 3, 4, ... of the server.
  std::vector<int> descriptors = {};
  // Descriptor of the test that becomes the server's stderr; standard_error() stays empty then.
  std::optional<int> error_descriptor = {};
  std::optional<std::string> working_directory = {};
  std::chrono::milliseconds start_deadline = kPatience;
};

class ServerProcess final {
 public:
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Ends the server like stop().
  ~ServerProcess();

  // Starts a server on a free port and waits until it listens there. This needs no connection, so
  // the server's counters do not change. If the port is taken, tries the next one. Returns false if
  // the server has ended or the deadline has passed: see failure(). A server may listen before it
  // has read its files and logged that: standard_error() has the complete start only after a client
  // was answered. Requires: !running().
  [[nodiscard]] bool start(const ServerOptions& options);

  // Starts the binary with exactly these arguments, without adding -l and -p, and does not wait:
  // for rejected command lines. port() is 0 then. Requires: !running().
  [[nodiscard]] bool launch(const ServerOptions& options);

  // Sends SIGTERM, then SIGKILL after the deadline, and reaps the process. Does nothing without a
  // process.
  std::optional<ExitStatus> stop(std::chrono::milliseconds deadline = kPatience);

  // Sends SIGKILL, like a crash, and reaps the process.
  std::optional<ExitStatus> kill_hard();

  // Sends a signal. Returns false if there is no process.
  bool signal(int number) const;

  // Sends a signal that the server handles, and waits until the kernel no longer keeps it for the
  // server. Returns false if there is no process, or after the deadline.
  [[nodiscard]] bool signal_and_wait(int number, std::chrono::milliseconds deadline = kPatience);

  // Waits until the process ends by itself. Returns nothing if it still runs at the deadline.
  std::optional<ExitStatus> wait_exit(std::chrono::milliseconds deadline = kPatience);

  // Returns true from the start until one of these functions has seen the end.
  bool running();

  pid_t pid() const { return pid_; }
  std::uint16_t port() const { return port_; }
  const std::string& unix_path() const { return unix_path_; }

  // Return the output of the process so far; after its end until the next start.
  std::string standard_output() const;
  std::string standard_error() const;

  // Reason why the last start() or launch() returned false, with the server's output on stderr.
  const std::string& failure() const { return failure_; }

 private:
  enum class StartResult { listening, ended, stuck, failed };

  bool spawn(const ServerOptions& options, const std::vector<std::string>& arguments);
  StartResult wait_until_listening(std::chrono::steady_clock::time_point deadline);
  bool is_listening() const;
  bool has_its_words() const;
  bool has_pending(int signal) const;
  bool was_refused_its_address(const ServerOptions& options) const;
  void close_captures();

  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
  std::string unix_path_;
  std::string words_;  // Its arguments, as in /proc.
  std::string failure_;
  std::optional<ExitStatus> last_exit_;
  int output_capture_ = -1;  // Files in memory, so that a server with much output never blocks.
  int error_capture_ = -1;
};

}  // namespace haricot::test
