#include "session_play.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "answer_grammar.hpp"
#include "haricot/base/check.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/service/service.hpp"
#include "support/sim_disk.hpp"

namespace haricot::fuzz {
namespace {

using binlog::Binlog;
using binlog::SimDisk;

constexpr std::size_t kBytesMax = 64 * 1024;  // Sent by all clients together.
constexpr std::size_t kReadBytesMax = 32 * 1024;
constexpr std::size_t kSendBytesMax = 100'000;
constexpr int kTurnsAtRestMax = 400'000;  // More are an endless loop.
constexpr int kWakesMax = 20'000;         // In one step of time.
constexpr std::int64_t kTimeMax = 4'600'000'000'000'000'000;
constexpr std::uint64_t kStoreId = 0x5eed;
const Duration kWallOffset = Duration::nanoseconds(1'700'000'000'123'456'789);

// Both ends of a connection.
struct Wire {
  Session* session = nullptr;  // Null: closed.
  std::string sent;            // All bytes.
  std::size_t read = 0;        // Number of bytes that were read.
  AnswerReader heard;
  bool is_reading = true;
  bool has_ended = false;  // The client sends no more.
  bool end_was_read = false;
  bool has_vanished = false;
};

struct JobFacts {
  std::string tube, body;
  JobState state;
  std::uint32_t priority, delay_s, ttr_s;
  bool operator==(const JobFacts&) const = default;
};

std::map<JobId, JobFacts> facts_of(const Engine& engine) {
  std::map<JobId, JobFacts> facts;
  for (JobId id = 1; id < engine.next_id(); ++id) {
    const JobRef ref = engine.peek(id);
    if (ref == JobRef::none) continue;
    const Job& job = engine.jobs()[ref];
    facts[id] = {engine.tubes()[job.tube].name,
                 std::string(engine.jobs().body(ref)),
                 job.state(),
                 job.priority,
                 job.delay_s,
                 job.ttr_s};
  }
  return facts;
}

binlog::BinlogOptions binlog_options(const SessionInput& input) {
  constexpr std::uint64_t kFileBytes = 4096;  // So that there are several files.
  const std::array policies = {binlog::SyncPolicy::every_turn, binlog::SyncPolicy::interval,
                               binlog::SyncPolicy::never, binlog::SyncPolicy::every_turn};
  return {.file_bytes = kFileBytes, .sync = policies[input.sync_policy()]};
}

class Play {
 public:
  Play(const SessionInput& input, Cut cut) : input_(input), cut_(cut) {
    constexpr std::uint32_t kSmallBodyBytes = 1500;
    info_.instance_id = "0123456789abcdef";
    info_.hostname = "host.example";
    if (input.has_small_bodies()) info_.job_bytes_max = kSmallBodyBytes;
    if (input.is_like_1_12()) info_.compat = Compat::v1_12;
    if (input.has_no_extensions()) info_.commands = CommandSet::standard;
    if (input.keeps_binlog()) {
      binlog_.emplace(disk_, binlog_options(input));
      if (input.syncs_are_slow()) disk_.set_sync_mode(binlog::SyncMode::when_told);
    }
    Journal& journal = binlog_ ? static_cast<Journal&>(*binlog_) : no_journal_;
    service_.emplace(info_, journal, now_);
    std::string error;
    if (binlog_) CHECK(binlog_->open(service_->engine(), kWallOffset, now_, kStoreId, {}, error));
  }

  Heard run() {
    const std::vector<Action>& actions = input_.actions;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      is_cut_ = pending_beside(actions[i].client) == 0;
      act(actions[i]);
      const bool is_whole = cut_ == Cut::whole && is_cut_;
      if (is_whole && i + 1 < actions.size() && is_one(actions[i], actions[i + 1])) continue;
      come_to_rest();
      check_invariants();
    }
    end();
    return heard();
  }

 private:
  static bool is_sending(const Action& action) {
    return action.kind == Action::Kind::send || action.kind == Action::Kind::repeat;
  }
  static bool is_one(const Action& first, const Action& second) {
    return is_sending(first) && is_sending(second) && first.client == second.client;
  }

  static bool is_local(std::size_t client) { return client >= kFirstLocalClient; }
  CommandSet commands_of(std::size_t client) const {
    if (input_.has_no_extensions()) return CommandSet::standard;
    return is_local(client) ? CommandSet::operators : CommandSet::extended;
  }

  // Returns how many other clients have sent commands that wait behind an unfinished one.
  std::size_t pending_beside(std::uint8_t client) const {
    std::size_t pending = 0;
    for (std::size_t other = 0; other < kClients; ++other) {
      if (other == client || wires_[other].empty()) continue;
      const Wire& wire = wires_[other].back();
      if (wire.session == nullptr) continue;
      const Wanted wanted = answers_to(wire.sent, info_.job_bytes_max, commands_of(other));
      const std::size_t commands = wanted.answers + (wanted.quits ? 1 : 0);
      const std::size_t unanswered = commands - wire.heard.answers();
      if (unanswered > (wire.is_reading ? 1U : 0U)) ++pending;
    }
    return pending;
  }

  // Returns a client's connection; a new one if there is none or it has disappeared.
  Wire& wire_of(std::uint8_t client) {
    std::deque<Wire>& wires = wires_[client];
    if (wires.empty() || wires.back().has_vanished) {
      Wire& wire = wires.emplace_back();
      wire.session = service_->open(&wire, is_local(client));
      CHECK(wire.session != nullptr);
    }
    return wires.back();
  }

  void act(const Action& action) {
    if (action.kind == Action::Kind::pass) {
      if (action.amount == kDrain) {
        service_->drain();
      } else {
        pass(kTimeSteps[action.amount % kTimeSteps.size()]);
      }
      return;
    }
    Wire& wire = wire_of(action.client);
    switch (action.kind) {
      case Action::Kind::send:
        last_sent_[action.client] = action.bytes;
        send(wire, action.bytes);
        break;
      case Action::Kind::repeat:
        for (int i = 0; i < action.amount; ++i) send(wire, last_sent_[action.client]);
        break;
      case Action::Kind::half_close:
        wire.has_ended = true;
        break;
      case Action::Kind::vanish:
        if (wire.session != nullptr) close(wire);
        wire.has_vanished = true;
        break;
      case Action::Kind::read_or_not:
        wire.is_reading = !wire.is_reading;
        break;
      case Action::Kind::pass:
        break;
    }
  }

  void send(Wire& wire, std::string_view bytes) {
    if (wire.has_ended || sent_bytes_ + bytes.size() > kBytesMax) return;
    sent_bytes_ += bytes.size();
    wire.sent += bytes;
  }

  // Plays turns until the server waits for time or input.
  void come_to_rest() {
    int turns = 0;
    bool is_at_rest = false;
    while (!is_at_rest) {
      CHECK(++turns <= kTurnsAtRestMax);
      service_->advance(now_);
      bool has_read = false;
      for (std::deque<Wire>& wires : wires_) {
        for (Wire& wire : wires) has_read = read(wire) || has_read;
      }
      service_->run_backlog(now_);
      service_->end_turn(now_);
      const bool has_sent = send_answers();
      is_at_rest = !has_read && !has_sent && service_->next_event() > now_;
      if (is_at_rest && disk_.syncs_under_way() > 0) {
        disk_.complete_syncs(1);
        is_at_rest = false;
      }
    }
  }

  // Does one read, as from a socket. Returns true if it had an effect.
  bool read(Wire& wire) {
    if (wire.session == nullptr || wire.end_was_read) return false;
    Session& session = *wire.session;
    if (!session.wants_input()) {
      if (wire.has_ended) service_->peer_half_closed(session);
      return false;
    }
    std::string_view bytes = std::string_view(wire.sent).substr(wire.read);
    if (bytes.empty()) {
      if (!wire.has_ended) return false;
      wire.end_was_read = true;
      service_->end_of_input(session);
      return true;
    }
    bytes = bytes.substr(0, next_read_bytes(bytes.size()));
    wire.read += bytes.size();
    const std::span<char> direct = session.direct_space();
    const std::size_t taken = std::min(direct.size(), bytes.size());
    if (taken > 0) {
      std::memcpy(direct.data(), bytes.data(), taken);
      service_->receive_directly(session, taken);
    }
    if (taken < bytes.size()) {
      service_->receive(session, bytes.substr(taken), now_);
    }
    return true;
  }

  std::size_t next_read_bytes(std::size_t waiting) {
    constexpr std::size_t kManyBytes = 2048;  // Reading this many byte by byte would take too long.
    switch (is_cut_ ? cut_ : Cut::whole) {
      case Cut::whole:
        break;
      case Cut::pieces:
        piece_ = piece_ * 5 % 61;
        return piece_;
      case Cut::bytes:
        return waiting > kManyBytes ? 101 : 1;
    }
    return kReadBytesMax;
  }

  bool send_answers() {
    bool has_sent = false;
    while (Session* session = service_->next_to_send()) {
      has_sent = send_some(*static_cast<Wire*>(session->owner())) || has_sent;
    }
    for (std::deque<Wire>& wires : wires_) {
      for (Wire& wire : wires) has_sent = send_some(wire) || has_sent;
    }
    return has_sent;
  }

  // Does one send, as to a socket, and ends the connection if it is over.
  bool send_some(Wire& wire) {
    if (wire.session == nullptr) return false;
    Session& session = *wire.session;
    std::size_t room = wire.is_reading ? kSendBytesMax : 0;
    const std::size_t before = room;
    while (session.has_output() && session.may_send() && room > 0) {
      std::array<std::string_view, 8> pieces;
      const std::size_t count = session.output().gather(pieces);
      std::size_t sent = 0;
      for (const std::string_view piece : std::span(pieces).first(count)) {
        const std::string_view taken = piece.substr(0, room);
        wire.heard.hear(taken);
        room -= taken.size();
        sent += taken.size();
      }
      service_->sent(session, sent);
    }
    if (session.is_finished() && !session.has_output()) {
      close(wire);
      return true;
    }
    return room < before;
  }

  void close(Wire& wire) {
    service_->close(*wire.session, now_);
    wire.session = nullptr;
  }

  void pass(Duration time) {
    if (now_.count() > kTimeMax - time.count()) return;
    const Instant end = now_ + time;
    for (int wakes = 0; service_->next_event() <= end; ++wakes) {
      CHECK(wakes < kWakesMax);
      now_ = std::max(now_, service_->next_event());
      come_to_rest();
    }
    now_ = end;
  }

  void check_invariants() const {
    service_->engine().check_invariants();
    if (binlog_) binlog_->check_invariants();
    for (const std::deque<Wire>& wires : wires_) {
      for (const Wire& wire : wires) {
        CHECK(!wire.is_reading || wire.has_vanished || wire.heard.is_at_end());
      }
    }
  }

  void end() {
    is_cut_ = false;
    for (std::deque<Wire>& wires : wires_) {
      for (Wire& wire : wires) wire.is_reading = wire.has_ended = true;
    }
    come_to_rest();
    check_invariants();
    for (std::size_t client = 0; client < kClients; ++client) {
      for (const Wire& wire : wires_[client]) {
        CHECK(wire.session == nullptr);
        const std::size_t wanted =
            answers_to(wire.sent, info_.job_bytes_max, commands_of(client)).answers;
        CHECK(wire.has_vanished ? wire.heard.answers() <= wanted : wire.heard.answers() == wanted);
      }
    }
    if (binlog_) check_restart();
  }

  // Stopped or killed, depending on the cut: all turns are over, so nothing may be missing.
  void check_restart() {
    // Timers tick in milliseconds: no deadline is so close that it has come unnoticed.
    pass(Duration::nanoseconds(1'500'000));
    if (cut_ == Cut::whole) CHECK(binlog_->close(now_));
    SimDisk::Random chance(1);
    const auto left = disk_.crash(chance, {binlog::Unsynced::kept, binlog::UnsyncedNames::kept});
    Binlog again(*left, binlog_options(input_));
    Engine engine(now_, again);
    std::string error;
    CHECK(again.open(engine, kWallOffset, now_, kStoreId + 1, {}, error));
    engine.check_invariants();
    again.check_invariants();
    CHECK(again.replayed().is_sound());
    CHECK(facts_of(engine) == facts_of(service_->engine()));
    const bool is_close_behind = engine.next_id() <= service_->engine().next_id();
    CHECK(is_close_behind);
  }

  Heard heard() const {
    Heard heard;
    for (std::size_t client = 0; client < kClients; ++client) {
      for (const Wire& wire : wires_[client]) heard[client].push_back(wire.heard.text());
    }
    return heard;
  }

  const SessionInput& input_;
  Cut cut_;
  bool is_cut_ = true;  // Current input may be cut.
  std::size_t piece_ = 1;
  Instant now_ = Instant::at(1'234'567'891);
  ServerInfo info_;
  SimDisk disk_;
  NoJournal no_journal_;
  std::optional<Binlog> binlog_;
  std::optional<Service> service_;
  std::array<std::deque<Wire>, kClients> wires_;
  std::array<std::string, kClients> last_sent_;
  std::size_t sent_bytes_ = 0;
};

// Prints the first difference, and ends the program.
void check_alike(const Heard& whole, const Heard& cut) {
  if (whole == cut) return;
  for (std::size_t client = 0; client < kClients; ++client) {
    for (std::size_t i = 0; i < whole[client].size() && i < cut[client].size(); ++i) {
      const std::string& one = whole[client][i];
      const std::string& other = cut[client][i];
      const auto place = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
      if (place.first == one.end() && place.second == other.end()) continue;
      const auto at = static_cast<std::size_t>(place.first - one.begin());
      const std::size_t from = at - std::min<std::size_t>(at, 100);
      std::fprintf(stderr, "client %zu, connection %zu, byte %zu: in one piece\n%s\nbut cut\n%s\n",
                   client, i, at, one.substr(from, 200).c_str(), other.substr(from, 200).c_str());
    }
  }
  CHECK(whole == cut);
}

}  // namespace

Heard play(const SessionInput& input, Cut cut) {
  return Play(input, cut).run();
}

void check_session(const SessionInput& input) {
  const Heard whole = play(input, Cut::whole);
  check_alike(whole, play(input, Cut::pieces));
  check_alike(whole, play(input, Cut::bytes));
}

}  // namespace haricot::fuzz
