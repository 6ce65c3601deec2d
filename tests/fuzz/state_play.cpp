#include "state_play.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "haricot/base/check.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/service/service.hpp"
#include "haricot/service/service_serializer.hpp"
#include "support/sim_disk.hpp"

namespace haricot::fuzz {
namespace {

using binlog::Binlog;
using binlog::SimDisk;

constexpr int kTurnsOfPlayMax = 100'000;  // More are an endless loop.
constexpr std::size_t kSumBytes = 4;
constexpr std::uint32_t kFewBodyBytes = 1500;
constexpr std::size_t kTakenBytesMax = 100'000;
const Instant kBegin = Instant::at(1'234'567'891);
const Duration kClockOffset = Duration::nanoseconds(1'700'000'000'123'456'789);

std::string put_of(const std::string& head, const std::string& body, const std::string& tags = "") {
  return "put " + head + " " + std::to_string(body.size()) + tags + "\r\n" + body + "\r\n";
}

// A server with connections whose received text is ignored.
class Server {
 public:
  // `disk`: of its binlog; null: none.
  Server(SimDisk* disk, bool is_narrow, Instant now) : now_(now) {
    if (is_narrow) {
      info_.job_bytes_max = kFewBodyBytes;
      info_.commands = CommandSet::standard;
    }
    if (disk != nullptr) {
      constexpr std::uint64_t kFileBytes = 16'384;
      binlog_.emplace(*disk, binlog::BinlogOptions{.file_bytes = kFileBytes,
                                                   .sync = binlog::SyncPolicy::every_turn});
    }
    Journal& journal = binlog_ ? static_cast<Journal&>(*binlog_) : no_journal_;
    service_.emplace(info_, journal, now_);
    std::string error;
    constexpr std::uint64_t kStoreId = 0x5eed;
    if (binlog_) CHECK(binlog_->open(service_->engine(), kClockOffset, now_, kStoreId, {}, error));
  }

  void connect(std::string_view bytes) {
    Session* const session = service_->open(this);
    CHECK(session != nullptr);
    say(*session, bytes);
    turn(kTakenBytesMax);
  }
  void pass(Duration time) {
    now_ = now_ + time;
    turn(kTakenBytesMax);
  }

  ServiceSerializer::Read take_over(std::string_view state, bool first_is_gone) {
    using Read = ServiceSerializer::Read;
    StateReader reader(state);
    ServiceSerializer serializer = service_->serializer();
    const Read queue = serializer.read_queue(reader);
    if (queue == Read::broken) return queue;
    for (std::uint32_t i = 0; i < serializer.sessions(); ++i) {
      void* const owner = i == 0 && first_is_gone ? nullptr : this;
      Session* session = nullptr;
      if (!serializer.read_session(reader, owner, false, now_, session)) return Read::broken;
    }
    return serializer.finish(reader, now_) ? queue : Read::broken;
  }

  // All clients read, and send more; time passes.
  void be_used() {
    come_to_rest();
    for (Session* session = service_->first_session(); session != nullptr;) {
      Session* const next = service_->session_after(*session);
      say(*session,
          "\r\nxxxxx\r\nstats\r\nput 0 0 1 1\r\na\r\nreserve-with-timeout 2\r\nkick 9\r\n"
          "list-clients 0 9\r\nwait-job 2 1\r\ndelete-batch 1 11\r\nstats-group g\r\n");
      session = next;
    }
    come_to_rest();
    now_ = now_ + Duration::milliseconds(2500);
    come_to_rest();
    check_invariants();
  }

  // Plays turns until no work is left.
  void come_to_rest() {
    for (int turns = 0;; ++turns) {
      CHECK(turns < kTurnsOfPlayMax);
      const bool has_done = turn(kTakenBytesMax);
      if (!has_done && service_->next_event() > now_) return;
    }
  }

  std::string written(Bodies bodies) {
    const ServiceSerializer serializer = service_->serializer();
    for (int turns = 0; !serializer.is_at_rest(); ++turns) {
      CHECK(turns < kTurnsOfPlayMax);
      turn(0);
    }
    std::string state;
    const auto take = [](void* to, std::string_view bytes) {
      static_cast<std::string*>(to)->append(bytes);
      return true;
    };
    StateWriter writer({take, &state});
    serializer.write(writer, bodies);
    CHECK(writer.end());
    return state;
  }

  void check_invariants() const {
    service_->engine().check_invariants();
    if (binlog_) binlog_->check_invariants();
  }
  Bodies bodies() const { return binlog_ ? Bodies::in_journal : Bodies::in_state; }
  Instant now() const { return now_; }

 private:
  void say(Session& session, std::string_view bytes) {
    while (!bytes.empty()) {
      const std::span<char> direct = session.direct_space();
      const std::size_t taken = std::min(direct.size(), bytes.size());
      if (taken == 0) break;
      std::memcpy(direct.data(), bytes.data(), taken);
      service_->receive_directly(session, taken);
      bytes.remove_prefix(taken);
    }
    if (!bytes.empty()) service_->receive(session, bytes, now_);
  }

  // Clients read this many bytes each. Returns true if one of them read some.
  bool turn(std::size_t bytes_max) {
    service_->advance(now_);
    service_->run_backlog(now_);
    service_->end_turn(now_);
    bool has_sent = false;
    while (Session* session = service_->next_to_send()) {
      has_sent = send_some(*session, bytes_max) || has_sent;
    }
    return has_sent;
  }
  bool send_some(Session& session, std::size_t room) {
    bool has_sent = false;
    while (session.has_output() && session.may_send() && room > 0) {
      std::array<std::string_view, 8> pieces;
      const std::size_t count = session.output().gather(pieces);
      std::size_t sent = 0;
      for (std::size_t i = 0; i < count; ++i) sent += std::min(room - sent, pieces[i].size());
      CHECK(sent > 0);
      room -= sent;
      service_->sent(session, sent);
      has_sent = true;
    }
    if (session.is_finished() && !session.has_output()) service_->close(session, now_);
    return has_sent;
  }

  Instant now_;
  ServerInfo info_;
  NoJournal no_journal_;
  std::optional<Binlog> binlog_;
  std::optional<Service> service_;
};

void fill(Server& server) {
  const std::string large(3000, 'l');
  const std::string batch_put = put_of("5 0 60", "one") + put_of("5 0 60", "two");
  server.connect("use work\r\n" + batch_put + put_of("1 100 60", large) +
                 put_of("7 0 60", "tagged", " con:lane:1") +
                 put_of("7 0 60", "tagged", " con:lane:1") + put_of("9 0 60", "k", " idp:key:600") +
                 put_of("9 0 60", "k", " idp:gone:600") + put_of("9 0 1", "t", " try:1"));
  server.connect(
      "watch work 3\r\nignore default\r\nreserve-mode weighted\r\nreserve\r\nreserve\r\n"
      "delete 7\r\nbury 1 9\r\nreserve-job 8\r\n");
  server.connect(
      "use buried\r\n" + put_of("0 0 60", "b") + put_of("0 0 60", "c") +
      "watch buried\r\nreserve\r\nbury 10 3\r\nreserve\r\nbury 9 1\r\npause-tube work 30\r\n");
  server.pass(Duration::milliseconds(1100));
  server.connect("watch work\r\nreserve-with-timeout 100\r\nlist-tube-used\r\n");
  server.connect("watch a\r\nwatch b\r\nreserve-batch 5 50\r\n");
  server.connect("use groups\r\n" + put_of("9 0 60", "m", " grp:g") +
                 put_of("9 7 60", "h", " aft:g grp:then") + put_of("9 0 60", "h", " aft:then") +
                 put_of("9 0 60", "h", " con:lane idp:held aft:g") +
                 put_of("9 0 60", "h", " aft:g") + put_of("9 0 60", "f", " back:1"));
  server.connect("wait-job 2 100\r\nlist-tube-used\r\n");
  server.connect("wait-job 11 4294967295\r\n");
  server.connect("wait-job 11 1\r\nwait-job 11 3\r\n");
  server.connect(
      "note 1 9\r\none\r\n\x01\xfftwo\r\nnote 8 1\r\nx\r\nnote 8 0\r\n\r\nnote 3 9\r\nabc");
  server.connect("list-tube");
  server.connect("put 0 0 60 9\r\nabc");
  server.connect("put 0 0 60 3000 idp:k con:l\r\n" + large.substr(0, 2000));
  server.connect("put 0 0 60 4000000\r\nabc");
  server.connect(std::string(300, 'x'));
  server.connect("use " + std::string(100, 'n') + "\r\ndelete-batch 1 2 3");
}

// The folder that such a server leaves.
const SimDisk& known_folder() {
  static const std::unique_ptr<SimDisk> folder = [] {
    auto disk = std::make_unique<SimDisk>();
    Server server(disk.get(), false, kBegin);
    fill(server);
    server.come_to_rest();
    SimDisk::Random chance(1);
    return disk->crash(chance, {binlog::Unsynced::kept, binlog::UnsyncedNames::kept});
  }();
  return *folder;
}

}  // namespace

std::string known_state(bool in_binlog) {
  SimDisk disk;
  Server server(in_binlog ? &disk : nullptr, false, kBegin);
  fill(server);
  std::string state = server.written(server.bodies());
  state.resize(state.size() - kSumBytes);
  return state;
}

std::vector<std::pair<std::string, std::string>> state_seeds() {
  const std::string in_state = known_state(false);
  const std::string in_binlog = known_state(true);
  Server empty(nullptr, false, kBegin);
  std::string nothing = empty.written(Bodies::in_state);
  nothing.resize(nothing.size() - kSumBytes);
  const auto with = [](int flags, const std::string& state) {
    return std::string(1, static_cast<char>(flags)) + state;
  };
  return {{"nothing", with(0, nothing)},
          {"in_state", with(0, in_state)},
          {"in_state_without_the_first", with(kFirstIsGone, in_state)},
          {"in_state_for_a_narrow_one", with(kIsNarrow, in_state)},
          {"in_state_for_a_binlog", with(kHasBinlog, in_state)},
          {"in_binlog", with(kHasBinlog, in_binlog)},
          {"in_binlog_without_the_first", with(kHasBinlog | kFirstIsGone, in_binlog)},
          {"in_binlog_for_none", with(0, in_binlog)}};
}

bool check_state(std::string_view input) {
  if (input.empty()) return false;
  const char flags = input[0];
  // The checksum is not checked here: any bytes are read.
  const std::string state = std::string(input.substr(1)) + std::string(kSumBytes, '\0');
  std::unique_ptr<SimDisk> disk;
  SimDisk::Random chance(1);
  constexpr binlog::CrashPolicy kAll = {binlog::Unsynced::kept, binlog::UnsyncedNames::kept};
  if ((flags & kHasBinlog) != 0) disk = known_folder().crash(chance, kAll);
  const bool is_narrow = (flags & kIsNarrow) != 0;
  Server server(disk.get(), is_narrow, kBegin + Duration::seconds(2));
  const ServiceSerializer::Read read = server.take_over(state, (flags & kFirstIsGone) != 0);
  if (read == ServiceSerializer::Read::broken) return false;
  server.check_invariants();
  server.be_used();

  const std::string more = server.written(server.bodies());
  const auto left = disk ? disk->crash(chance, kAll) : nullptr;
  Server next(left.get(), is_narrow, server.now() + Duration::milliseconds(10));
  CHECK(next.take_over(more, false) == ServiceSerializer::Read::good);
  next.check_invariants();
  next.be_used();
  return read == ServiceSerializer::Read::good;
}

}  // namespace haricot::fuzz
