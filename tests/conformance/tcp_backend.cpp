#include "tcp_backend.hpp"

#include <signal.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_client.hpp"

namespace haricot::conformance {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// An answer that takes longer will not come, even on a busy machine.
constexpr milliseconds kAnswerPatience{30'000};
// Time for unexpected answers to arrive.
constexpr milliseconds kSilencePatience{50};
// Time for a server to notice an event without an answer.
constexpr milliseconds kNoticeTime{30};
constexpr milliseconds kAcceptTime{10};
// Time for a server to close its end of a connection.
constexpr milliseconds kClosePatience{2000};
constexpr std::size_t kRecvBytesMax = 65536;

test::ServerKind process_kind(ServerKind kind) {
  return kind == ServerKind::haricot ? test::ServerKind::haricot
                                     : test::ServerKind::beanstalkd_1_12;
}

class TcpBackend final : public Backend {
 public:
  TcpBackend(std::string binary, bool keeps_binlog) : binary_(std::move(binary)) {
    if (keeps_binlog) binlog_.emplace();
  }

  [[nodiscard]] std::string start(const std::vector<std::string>& flags) {
    std::string error = start_server(flags);
    started_ = Clock::now();
    return error;
  }

  std::optional<int> open() override {
    auto client = std::make_unique<test::WireClient>();
    if (!client->connect(server_)) return std::nullopt;
    clients_.push_back(std::move(client));
    wait(kAcceptTime);
    return static_cast<int>(clients_.size()) - 1;
  }

  void send(int connection, std::string_view bytes) override {
    // A server that has closed the connection accepts nothing; the next expectation shows it.
    static_cast<void>(client(connection).send(bytes));
  }

  Arrival receive(int connection, Patience patience, std::string& into) override;

  void half_close(int connection) override {
    client(connection).shutdown_write();
    wait(kNoticeTime);
  }

  void close(int connection) override {
    const std::size_t before = descriptors_with(connection);
    client(connection).close();
    wait_for_fewer_than(before);
  }

  void reset(int connection) override {
    const std::size_t before = descriptors_with(connection);
    client(connection).reset();
    wait_for_fewer_than(before);
  }

  void advance(std::chrono::nanoseconds duration) override { wait(duration); }

  void drain() override {
    // On a busy machine the client's next input would arrive before the signal. If the wait fails,
    // the next expectation shows it.
    static_cast<void>(server_.signal_and_wait(SIGUSR1));
    wait(kNoticeTime);
  }

  bool can_restart() const override { return binlog_.has_value(); }

  std::string restart(ServerEnd how, const std::vector<std::string>& flags) override {
    const auto end = how == ServerEnd::kill ? server_.kill_hard() : server_.stop();
    const auto by_signal = [&](int number) { return end && end->signal == number; };
    // SIGTERM kills beanstalkd; haricotd ends with status 0.
    const bool expected =
        how == ServerEnd::kill ? by_signal(SIGKILL) : by_signal(SIGTERM) || (end && end->code == 0);
    if (!expected) return "the server ended in another way, stderr: " + server_.standard_error();
    for (const auto& client : clients_) client->close();
    return start_server(flags);
  }

  std::chrono::nanoseconds lateness() const override { return Clock::now() - started_ - planned_; }

 private:
  std::string start_server(const std::vector<std::string>& flags) {
    test::ServerOptions options;
    options.binary = binary_;
    options.arguments = flags;
    if (binlog_) options.arguments.insert(options.arguments.end(), {"-b", binlog_->path()});
    return server_.start(options) ? "" : server_.failure();
  }

  std::size_t descriptors() const {
    std::error_code error;
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(server_.pid()) + "/fd",
                                                  error);
    return error ? 0 : static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  // Returns the number of the server's descriptors while it has that of a connection; 0 if it has
  // closed that one already.
  std::size_t descriptors_with(int connection) {
    return client(connection).at_eof(milliseconds(0)) ? 0 : descriptors();
  }

  // No answer shows that the server has noticed the end of a connection, but its descriptors do. On
  // a busy machine that may take longer than planned.
  void wait_for_fewer_than(std::size_t before) {
    wait(kNoticeTime);
    const Clock::time_point deadline = Clock::now() + kClosePatience;
    while (before > 0 && descriptors() >= before && Clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  test::WireClient& client(int connection) {
    return *clients_[static_cast<std::size_t>(connection)];
  }

  // The script requires time to pass: there is nothing to poll.
  void wait(std::chrono::nanoseconds duration) {
    std::this_thread::sleep_for(duration);
    planned_ += duration;
  }

  std::string binary_;
  std::optional<test::TemporaryFolder> binlog_;  // Outlives the server.
  test::ServerProcess server_;
  std::vector<std::unique_ptr<test::WireClient>> clients_;
  Clock::time_point started_;
  std::chrono::nanoseconds planned_{};
};

Arrival TcpBackend::receive(int connection, Patience patience, std::string& into) {
  test::WireClient& from = client(connection);
  milliseconds time{0};
  if (patience == Patience::for_an_answer) time = kAnswerPatience;
  if (patience == Patience::for_silence) time = kSilencePatience;
  if (!from.has_input_within(time)) {
    planned_ += time;
    return Arrival::nothing;
  }
  if (from.at_eof(milliseconds(0))) return Arrival::end;
  // Reads all available bytes of unknown number. The next call reports an end after them.
  for (std::size_t size = kRecvBytesMax; size > 0; size /= 2) {
    while (const auto bytes = from.read_exact(size, milliseconds(0))) into += *bytes;
  }
  return Arrival::bytes;
}

}  // namespace

bool has_binary(ServerKind kind) {
  return test::find_server_binary(process_kind(kind)).has_value();
}

bool is_1_13(ServerKind kind) {
  const auto binary = test::find_server_binary(process_kind(kind));
  return binary && test::shown_version(*binary) == "1.13";
}

Started start_process(ServerKind kind, const std::vector<std::string>& flags, bool keeps_binlog) {
  const auto binary = test::find_server_binary(process_kind(kind));
  if (!binary) return {nullptr, std::string("no binary of ") + to_string(process_kind(kind))};
  auto backend = std::make_unique<TcpBackend>(*binary, keeps_binlog);
  std::string error = backend->start(flags);
  if (!error.empty()) return {nullptr, std::move(error)};
  return {std::move(backend), {}};
}

}  // namespace haricot::conformance
