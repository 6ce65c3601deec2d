// A beanstalk server, haricotd or another, as a process that a test starts and ends.
//
// It ends with the object, and with the thread that started it: the kernel kills it when that
// thread goes, however the test ends. So start servers from the main thread of a test.

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

// The word for this kind in messages.
const char* to_string(ServerKind kind);

// Where the binary of this kind is: the environment variable HARICOTD or BEANSTALKD if it is set,
// else the haricotd of this build or /usr/bin/beanstalkd. Nothing if there is no such executable.
std::optional<std::string> find_server_binary(ServerKind kind);

// The version that a server shows by -v, such as 1.12; empty if it shows none.
std::string shown_version(const std::string& binary);

// How a process ended: by itself with a code, or by a signal (then the code is -1).
struct ExitStatus {
  int code = -1;
  int signal = 0;

  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

struct ServerOptions {
  std::string binary = {};
  std::vector<std::string> arguments = {};    // Besides -l and -p, which start() adds.
  std::string listen_address = "127.0.0.1";   // `unix:PATH` listens there, without a port.
  std::vector<std::string> environment = {};  // NAME=VALUE, added to that of the test.
  // What runs the binary, which with its arguments follows these words. It has to become the
  // server by exec if start() is to find it: `/bin/sh -c 'ulimit -n 32; exec "$0" "$@"'`.
  std::vector<std::string> launcher = {};
  // Descriptors of the test that the server gets as 3, 4, ...
  std::vector<int> descriptors = {};
  // A descriptor of the test to be the server's stderr; standard_error() stays empty then.
  std::optional<int> error_descriptor = {};
  std::optional<std::string> working_directory = {};
  std::chrono::milliseconds start_deadline = kPatience;
};

class ServerProcess final {
 public:
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Ends the server as stop() does.
  ~ServerProcess();

  // Starts a server on a free port and waits until it listens there. That is seen without a
  // connection, so the server's counters are untouched. If somebody has the port, the next one is
  // tried. False if the server ended or the deadline passed: failure() says why.
  // A server may listen before it has read its files and logged that: standard_error() is complete
  // about the start only once a client was answered. Requires: !running().
  [[nodiscard]] bool start(const ServerOptions& options);

  // Starts the binary with exactly these arguments (-l and -p only if they are among them) and
  // does not wait for anything: for command lines that are refused. port() is 0 then.
  // Requires: !running().
  [[nodiscard]] bool launch(const ServerOptions& options);

  // SIGTERM, then SIGKILL if the process is still there after the deadline; reaps it. Does nothing
  // without a process.
  std::optional<ExitStatus> stop(std::chrono::milliseconds deadline = kPatience);

  // SIGKILL, as a crash would end it; reaps it.
  std::optional<ExitStatus> kill_hard();

  // Sends a signal. False if there is no process.
  bool signal(int number) const;

  // Sends a signal that the server handles, and waits until it has: until the kernel no longer
  // keeps the signal for it. False if there is no process, or the deadline passed.
  [[nodiscard]] bool signal_and_wait(int number, std::chrono::milliseconds deadline = kPatience);

  // Waits until the process ends by itself; nothing if it still runs at the deadline.
  std::optional<ExitStatus> wait_exit(std::chrono::milliseconds deadline = kPatience);

  // True from the start until the end was seen by one of the calls above or by this one.
  bool running();

  pid_t pid() const { return pid_; }
  std::uint16_t port() const { return port_; }
  const std::string& unix_path() const { return unix_path_; }

  // What the process has written so far, to the end of its life and after it, until the next
  // start.
  std::string standard_output() const;
  std::string standard_error() const;

  // Why the last start() or launch() was false, with what the server wrote to stderr.
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
  std::string words_;  // Its arguments, as /proc shows them.
  std::string failure_;
  std::optional<ExitStatus> last_exit_;
  int output_capture_ = -1;  // Files in memory: a server that writes much never blocks on us.
  int error_capture_ = -1;
};

}  // namespace haricot::test
