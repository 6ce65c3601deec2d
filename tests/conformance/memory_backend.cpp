#include "memory_backend.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/time.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/queue/rules.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/service.hpp"
#include "support/sim_disk.hpp"

namespace haricot::conformance {
namespace {

// Maximum that a socket returns, or accepts, at once.
constexpr std::size_t kReadBytesMax = 65536;
constexpr std::size_t kSendBytesMax = 100'000;
// More turns than this at one instant are an endless loop.
constexpr int kTurnsAtOnceMax = 1'000'000;
constexpr Duration kWallOffset = Duration::nanoseconds(1'700'000'000'123'456'789);

// Both ends of a connection and the data between them.
struct Wire {
  Session* session = nullptr;  // Null: the server has closed it.
  std::string to_server;       // Sent by the client, not yet read by the server.
  std::string to_client;
  bool client_has_ended = false;  // The client sends no more.
  bool end_was_read = false;
  bool client_is_gone = false;  // The server's output is discarded.
  bool is_full = false;  // It has not accepted everything; the server is notified when it can.
};

// Returns the limit that `--name=value` sets; null if it is another flag.
std::uint32_t* limit_named(Limits& limits, const std::string& flag) {
  if (flag.starts_with("--connections-max=")) return &limits.connections_max;
  if (flag.starts_with("--idle-timeout=")) return &limits.idle_timeout_s;
  if (flag.starts_with("--tries-max=")) return &limits.tries_max;
  return nullptr;
}

// Reads the flags into `info`. Returns the first error, or an empty text.
std::string read_flags(const std::vector<std::string>& flags, ServerInfo& info,
                       std::vector<Rule>& rules) {
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string& flag = flags[i];
    if (flag == "--compat=1.12") {
      info.compat = Compat::v1_12;
    } else if (flag == "--no-extensions") {
      info.commands = CommandSet::standard;
    } else if (flag == "--allow-drain") {
      info.commands = CommandSet::operators;
    } else if ((flag == "-z" || flag == "-s") && i + 1 < flags.size()) {
      const std::string& digits = flags[++i];
      const char* end = digits.data() + digits.size();
      std::uint32_t bytes = 0;
      const auto [stop, failure] = std::from_chars(digits.data(), end, bytes);
      if (failure != std::errc{} || stop != end) return "not a number of bytes: " + digits;
      if (flag == "-z") info.job_bytes_max = bytes;
      if (flag == "-s") info.binlog_bytes_max = bytes;
    } else if (std::uint32_t* limit = limit_named(info.limits, flag); limit != nullptr) {
      const std::string digits = flag.substr(flag.find('=') + 1);
      const char* end = digits.data() + digits.size();
      const auto [stop, failure] = std::from_chars(digits.data(), end, *limit);
      if (failure != std::errc{} || stop != end) return "not a number: " + digits;
    } else if (flag.starts_with("--rule=")) {
      std::string error;
      rules.emplace_back();
      if (!parse_rule(flag.substr(flag.find('=') + 1), rules.back(), error)) return error;
    } else if (flag.starts_with("--memory-max=")) {
      const std::string digits = flag.substr(flag.find('=') + 1);
      const char* end = digits.data() + digits.size();
      const auto [stop, failure] =
          std::from_chars(digits.data(), end, info.limits.job_memory_bytes_max);
      if (failure != std::errc{} || stop != end) return "not a number of bytes: " + digits;
    } else {
      return "a service in memory does not know the flag " + flag;
    }
  }
  return {};
}

// Takes the place of the daemon: the same turns, without sockets.
class MemoryBackend final : public Backend {
 public:
  explicit MemoryBackend(bool keeps_binlog) {
    if (keeps_binlog) disk_ = std::make_unique<binlog::SimDisk>();
  }

  // Starts a server over the disk of the previous one. Returns the error, or an empty text.
  std::string start(const std::vector<std::string>& flags);

  std::optional<int> open() override;
  void send(int connection, std::string_view bytes) override;
  Arrival receive(int connection, Patience patience, std::string& into) override;
  void half_close(int connection) override;
  void close(int connection) override;
  void reset(int connection) override;
  void advance(std::chrono::nanoseconds duration) override;

  void drain() override { service_->drain(); }

  bool can_restart() const override { return disk_ != nullptr; }
  std::string restart(ServerEnd end, const std::vector<std::string>& flags) override;

 private:
  Wire& wire(int connection) { return *wires_[static_cast<std::size_t>(connection)]; }

  void come_to_rest();
  static bool is_readable(const Wire& wire);
  void read(Wire& from);
  void send_answers();
  void send_some(Wire& to);
  void end(Wire& of);

  ServerInfo info_;
  std::unique_ptr<binlog::SimDisk> disk_;  // With a binlog.
  std::unique_ptr<Journal> journal_;
  binlog::Binlog* binlog_ = nullptr;          // The journal, if there is a binlog.
  Instant now_ = Instant::at(1'234'567'891);  // Not a whole second, so that rounding shows.
  std::vector<std::unique_ptr<Wire>> wires_;
  std::unique_ptr<Service> service_;
};

std::string MemoryBackend::start(const std::vector<std::string>& flags) {
  info_ = ServerInfo{};
  info_.haricot_version = "0.0.1";
  info_.pid = 4711;
  info_.instance_id = "0123456789abcdef";
  info_.hostname = "host.example";
  info_.os = "#1 SMP kernel 6.1";
  info_.platform = "x86_64";
  std::vector<Rule> rules;
  std::string error = read_flags(flags, info_, rules);
  if (!error.empty()) return error;
  if (disk_ == nullptr) {
    journal_ = std::make_unique<NoJournal>();
  } else {
    auto binlog = std::make_unique<binlog::Binlog>(
        *disk_, binlog::BinlogOptions{.file_bytes = info_.binlog_bytes_max});
    binlog_ = binlog.get();
    journal_ = std::move(binlog);
  }
  service_ = std::make_unique<Service>(info_, *journal_, now_);
  service_->engine().set_rules(rules);
  if (binlog_ != nullptr) {
    (void)binlog_->open(service_->engine(), kWallOffset, now_, 0x5eed, {}, error);
  }
  return error;
}

std::string MemoryBackend::restart(ServerEnd end, const std::vector<std::string>& flags) {
  if (end == ServerEnd::stop && !binlog_->close(now_)) return "the binlog could not be closed";
  for (const std::unique_ptr<Wire>& wire : wires_) wire->session = nullptr;
  service_.reset();
  journal_.reset();
  // A killed process leaves the data that it has written.
  binlog::SimDisk::Random random;
  disk_ = disk_->crash(random, {binlog::Unsynced::kept, binlog::UnsyncedNames::kept});
  return start(flags);
}

std::optional<int> MemoryBackend::open() {
  auto added = std::make_unique<Wire>();
  if (!service_->admit_connection()) {  // The client sees a connection that is closed at once.
    wires_.push_back(std::move(added));
    return static_cast<int>(wires_.size()) - 1;
  }
  added->session = service_->open(added.get());
  if (added->session == nullptr) return std::nullopt;
  wires_.push_back(std::move(added));
  return static_cast<int>(wires_.size()) - 1;
}

void MemoryBackend::send(int connection, std::string_view bytes) {
  if (wire(connection).session == nullptr) return;
  wire(connection).to_server += bytes;
  come_to_rest();
}

Arrival MemoryBackend::receive(int connection, Patience, std::string& into) {
  Wire& from = wire(connection);
  if (from.to_client.empty()) return from.session == nullptr ? Arrival::end : Arrival::nothing;
  into += from.to_client;
  from.to_client.clear();
  return Arrival::bytes;
}

void MemoryBackend::half_close(int connection) {
  wire(connection).client_has_ended = true;
  come_to_rest();
}

void MemoryBackend::close(int connection) {
  wire(connection).client_is_gone = true;
  half_close(connection);
}

// Data between the two ends is lost.
void MemoryBackend::reset(int connection) {
  if (wire(connection).session != nullptr) end(wire(connection));
  come_to_rest();
}

void MemoryBackend::advance(std::chrono::nanoseconds duration) {
  const Instant target = now_ + Duration::nanoseconds(duration.count());
  while (service_->next_event() <= target) {
    now_ = std::max(now_, service_->next_event());
    come_to_rest();
  }
  now_ = target;
  come_to_rest();
}

// Plays turns until the service waits for time or input.
void MemoryBackend::come_to_rest() {
  const auto ready = [](const std::unique_ptr<Wire>& wire) {
    return is_readable(*wire) || wire->is_full;
  };
  int turns = 0;
  do {
    CHECK(++turns <= kTurnsAtOnceMax);
    service_->advance(now_);
    for (const std::unique_ptr<Wire>& wire : wires_) {
      read(*wire);
      if (wire->is_full) send_some(*wire);
    }
    service_->run_backlog(now_);
    service_->end_turn(now_);
    send_answers();
  } while (service_->next_event() <= now_ || std::any_of(wires_.begin(), wires_.end(), ready));
}

// Returns true if the daemon's wait would report this connection as readable.
bool MemoryBackend::is_readable(const Wire& wire) {
  if (wire.session == nullptr || wire.end_was_read || !wire.session->wants_input()) return false;
  return !wire.to_server.empty() || wire.client_has_ended;
}

// Does one read, as from a socket.
void MemoryBackend::read(Wire& from) {
  if (!is_readable(from)) {
    const bool more = from.session != nullptr && !from.end_was_read;
    if (more && from.client_has_ended) service_->peer_half_closed(*from.session);
    return;
  }
  if (from.to_server.empty()) {
    from.end_was_read = true;
    service_->end_of_input(*from.session);
    return;
  }
  const std::span<char> direct = from.session->direct_space();
  const std::size_t direct_bytes = std::min(direct.size(), from.to_server.size());
  if (direct_bytes > 0) {
    std::memcpy(direct.data(), from.to_server.data(), direct_bytes);
    service_->receive_directly(*from.session, direct_bytes);
  }
  const std::string rest = from.to_server.substr(direct_bytes, kReadBytesMax);
  from.to_server.erase(0, direct_bytes + rest.size());
  if (!rest.empty()) service_->receive(*from.session, rest, now_);
}

void MemoryBackend::send_answers() {
  while (Session* session = service_->next_to_send()) {
    Wire& to = *static_cast<Wire*>(session->owner());
    send_some(to);
    if (session->is_finished() && !session->has_output()) end(to);
  }
}

// Does one send, as to a socket.
void MemoryBackend::send_some(Wire& to) {
  Session& session = *to.session;
  to.is_full = false;
  std::size_t room = kSendBytesMax;
  while (session.has_output() && session.may_send() && !to.is_full) {
    std::array<std::string_view, 16> pieces;
    const std::size_t count = session.output().gather(pieces);
    std::size_t sent = 0;
    for (const std::string_view piece : std::span(pieces).first(count)) {
      const std::string_view taken = piece.substr(0, room);
      if (!to.client_is_gone) to.to_client += taken;
      room -= taken.size();
      sent += taken.size();
      to.is_full = taken.size() < piece.size();
      if (to.is_full) break;
    }
    service_->sent(session, sent);
  }
}

void MemoryBackend::end(Wire& of) {
  service_->close(*of.session, now_);
  of.session = nullptr;
  of.is_full = false;
  of.to_server.clear();
}

}  // namespace

Started start_in_memory(const std::vector<std::string>& flags, bool keeps_binlog) {
  auto backend = std::make_unique<MemoryBackend>(keeps_binlog);
  std::string error = backend->start(flags);
  if (!error.empty()) return {nullptr, std::move(error)};
  return {std::move(backend), {}};
}

}  // namespace haricot::conformance
