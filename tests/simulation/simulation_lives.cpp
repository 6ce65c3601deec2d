#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "haricot/base/memory.hpp"
#include "mismatch.hpp"
#include "simulation.hpp"
#include "support/random.hpp"

// Starts, stops and crashes of a server, and faults of its disk.

namespace haricot::simulation {
namespace {

constexpr std::int64_t kWallBegin = 1'700'000'000'000'000'000;

binlog::BinlogOptions random_options(test::Random& chance) {
  constexpr std::uint64_t kSizes[] = {4096, 16384, 131072};
  return {.file_bytes = chance.pick(kSizes),
          .sync = static_cast<binlog::SyncPolicy>(chance.below(3)),
          .sync_interval = Duration::milliseconds(50),
          .open_files_max = chance.one_in(2) ? 6U : 32U,
          .large_body_bytes = chance.one_in(2) ? 1100 + chance.below(3000) : 1 << 22,
          .slice_bytes = 512 + chance.below(2000)};
}

// Seven of eight runs have the extended set; in some of those, tubes have very many jobs.
Mix random_mix(test::Random& chance, const Leaning& leaning) {
  Mix mix;
  mix.is_of_groups = leaning.has_groups;
  mix.has_extended = !chance.one_in(8) || mix.is_of_groups;
  mix.is_crowded = mix.has_extended && chance.one_in(16);
  return mix;
}

CommandSet random_commands(test::Random& chance, const Mix& mix) {
  if (!mix.has_extended) return CommandSet::standard;
  return chance.one_in(8) ? CommandSet::operators : CommandSet::extended;
}

binlog::Fault random_fault(test::Random& chance) {
  binlog::Fault fault;
  fault.nth = 1 + chance.below(30);
  if (chance.one_in(2)) {
    fault.call = static_cast<binlog::DiskCall>(chance.below(binlog::kDiskCalls));
  }
  if (fault.call == binlog::DiskCall::close) fault.call.reset();
  fault.status = chance.one_in(2) ? binlog::DiskStatus::full : binlog::DiskStatus::failed;
  fault.lasts = chance.one_in(4);
  fault.takes_effect = chance.one_in(4);
  fault.pieces_written = chance.below(3);
  fault.bytes_written = chance.below(300);
  return fault;
}

}  // namespace

Simulation::Simulation(std::uint64_t seed, const Leaning& leaning)
    : leaning_(leaning),
      chance_(seed),
      mix_(random_mix(chance_, leaning)),
      job_bytes_max_(chance_.one_in(2) ? 6000 : 2000),
      options_(random_options(chance_)),
      disk_(std::make_unique<binlog::SimDisk>()),
      model_(job_bytes_max_, options_.file_bytes),
      now_(Instant::at(5'000'000'000)),
      wall_offset_(Duration::nanoseconds(kWallBegin)),
      // After a year more jobs would be due at once than a call of the engine moves.
      years_left_(mix_.is_crowded ? 0 : 20) {
  // Memory that an earlier run has kept would change the steps: a run is determined by its seed
  // only.
  Memory::give_all_back();
  info_.job_bytes_max = job_bytes_max_;
  info_.commands = random_commands(chance_, mix_);
  info_.binlog_bytes_max = options_.file_bytes;
  info_.haricot_version = "0.0.1";
  info_.pid = 4711;
  info_.instance_id = "0123456789abcdef";
  info_.hostname = "host.example";
  info_.os = "kernel";
  info_.platform = "x86_64";
  info_.address_of = &Simulation::address_of;
  has_epochs_ = chance_.one_in(3);
  require(start(), "an empty folder cannot be opened");
  check_what_came_back(0, true);
}

// A failed run has sessions, which the service closes; the records of that do not matter.
Simulation::~Simulation() {
  tape_.set_before([] {});
}

// Replaces the rules, most often by none. The tubes have the names of random_tube().
void Simulation::set_random_rules() {
  constexpr std::string_view kLines[] = {
      "default try:2", "a try:1 con:rule",    "* con:key:2", "? try:3",   "?* con:rule:3 try:4",
      "a back:2",      "*-* con:another-key", "b con:rule",  "*e* try:1", "l* try:2"};
  std::vector<Rule> rules;
  for (std::uint64_t left = chance_.one_in(3) ? 1 + chance_.below(3) : 0; left > 0; --left) {
    std::string error;
    rules.emplace_back();
    require(parse_rule(chance_.pick(kLines), rules.back(), error), error);
  }
  service_->engine().set_rules(rules);
  model_.set_rules(rules);
}

// Returns false if the folder cannot be opened now.
bool Simulation::start() {
  binlog_ = std::make_unique<binlog::Binlog>(*disk_, options_);
  recorder_ = std::make_unique<Recorder>(*binlog_, tape_, ledger_);
  service_ = std::make_unique<Service>(info_, *recorder_, now_);
  if (!mix_.is_crowded) set_random_rules();
  turn_began_ = now_;
  std::string error;
  disk_->forbid_waiting(false);
  binlog_->set_note(disk_->folder_note());
  if (has_epochs_) binlog_->set_epoch(++epoch_);
  const bool good =
      binlog_->open(service_->engine(), wall_offset_, now_, chance_.bits() | 1, {}, error);
  if (!good) {
    note("no start: " + error);
    return false;
  }
  recorder_->begin(service_->engine(), wall_offset_);
  service_->set_trace({[](void* context, const Session& session, std::string_view line) {
                         const auto& wire = *static_cast<const Wire*>(session.owner());
                         auto& simulation = *static_cast<Simulation*>(context);
                         simulation.note_line(simulation.wires_.at(wire.number), line);
                       },
                       this});
  tape_.set_before([this] { note_answers(); });
  disk_->set_sync_mode(chance_.one_in(2) ? binlog::SyncMode::at_once : binlog::SyncMode::when_told);
  disk_->forbid_waiting(true);
  disk_is_slow_ = chance_.one_in(4);
  may_disturb_ = chance_.one_in(2);
  sync_was_failed_ = false;
  written_.clear();
  surely_synced_ = 0;
  records_at_end_of_turn_ = recorder_->records();
  return true;
}

void Simulation::check_what_came_back(std::optional<std::uint64_t> safe, bool exactly) {
  const Engine& engine = service_->engine();
  if (safe) {
    ledger_.check(engine, wall_offset_, (now_ + wall_offset_).count(), *safe, exactly);
  } else {
    ledger_.check_bodies(engine);
  }
  ledger_.begin_again(engine, wall_offset_);
  model_.restart(engine, ledger_, now_);
  check_invariants();
}

// Every way in which a server ends: stopped, killed, without power; between two turns or within
// one.
void Simulation::end_life() {
  // A client that closes after the end of a turn may cause burials, which the next turn writes.
  bool all_is_written =
      !binlog_->numbers().refusing && recorder_->records() == records_at_end_of_turn_;
  const std::uint64_t end = leaning_.hands_over ? 0 : chance_.below(3);
  const bool may_hand_over = end == 0 && (leaning_.hands_over || chance_.one_in(2));
  if (chance_.one_in(2) && !may_hand_over) {
    ++steps_;
    advance();
    for (auto& [number, wire] : wires_) read(wire);
    all_is_written = false;
  }
  binlog::CrashPolicy policy{binlog::Unsynced::kept, binlog::UnsyncedNames::kept};
  std::optional<std::uint64_t> safe = recorder_->safe_records();
  std::optional<std::string> state;
  if (end == 0) {
    disk_->forbid_waiting(false);
    all_is_written = binlog_->close(now_);
    note(all_is_written ? "stopped" : "stopped, but not all is written");
    safe = recorder_->safe_records();
    service_->end_turn(now_);
    run_tape();
    if (all_is_written && may_hand_over) state = written_state();
  } else if (end == 1) {
    note("killed");
  } else {
    note("the power is lost");
    policy = {};
    safe = safe_from_power_loss();
    all_is_written = false;
  }
  if (all_is_written) safe = recorder_->records();

  // If no call has failed and the kernel has kept everything, nothing may be missing, even on a
  // full disk. But a file that was damaged before is reported as long as it has jobs. A loss of
  // power tears unsynced data, which is not damage; without syncs the two cannot be distinguished.
  const bool may_be_torn = end == 2 && options_.sync == binlog::SyncPolicy::never;
  const bool has_to_be_sound = !may_be_torn && disk_->faults_hit() == 0 && !sync_was_failed_ &&
                               binlog_->numbers().errors == 0 && binlog_->replayed().is_sound();
  const Instant wall = now_ + wall_offset_;
  ++restarts_;
  if (state) return hand_over(*state, policy);
  drop_server(policy);
  start_after(wall);
  const binlog::ReplayReport& report = binlog_->replayed();
  require(!has_to_be_sound || report.is_sound(),
          "the folder is not sound: " +
              (report.is_sound() ? std::string() : report.warnings().front()));
  check_what_came_back(safe, all_is_written);
}

// Starts the next server, some time after the end of the last one.
void Simulation::start_after(Instant wall) {
  // The monotonic clock begins at any value at each start; the wall clock continues.
  now_ = Instant::at(static_cast<std::int64_t>(1000 + chance_.below(100'000)) * 1'000'000);
  const std::uint64_t pause_ms = chance_.one_in(4) ? chance_.below(4'000'000) : chance_.below(3000);
  wall_offset_ = (wall + Duration::milliseconds(static_cast<std::int64_t>(pause_ms))) - now_;
  // A disk that fails at the start must not lose anything: the next start finds everything.
  if (may_disturb_ && chance_.one_in(3)) {
    disk_->inject(random_fault(chance_));
    ++disk_faults_;
  }
  if (!start()) {
    drop_server({binlog::Unsynced::kept, binlog::UnsyncedNames::kept});
    require(start(), "the folder cannot be opened:\n" + last_events());
  }
}

// Returns nothing if the server is not at rest.
std::optional<std::string> Simulation::written_state() {
  ServiceSerializer serializer = service_->serializer();
  if (!serializer.is_at_rest()) return std::nullopt;
  std::string state;
  const auto take = [](void* to, std::string_view bytes) {
    static_cast<std::string*>(to)->append(bytes);
    return true;
  };
  StateWriter writer({take, &state});
  serializer.write(writer, Bodies::in_journal);
  require(writer.end(), "the state is not written");
  return state;
}

// A new server continues with the connections and the state of the old one.
void Simulation::hand_over(const std::string& state, binlog::CrashPolicy policy) {
  std::vector<Wire*> order;
  for (Session* session = service_->first_session(); session != nullptr;
       session = service_->session_after(*session)) {
    order.push_back(static_cast<Wire*>(session->owner()));
  }
  std::map<int, Wire> wires;
  wires.swap(wires_);
  drop_server(policy);
  ++hand_overs_;
  note("handed over");
  now_ = now_ + Duration::milliseconds(static_cast<std::int64_t>(chance_.below(200)));
  require(start(), "the folder cannot be opened:\n" + last_events());
  ledger_.check(service_->engine(), wall_offset_, (now_ + wall_offset_).count(),
                recorder_->records(), false);
  ledger_.begin_again(service_->engine(), wall_offset_);
  wires_ = std::move(wires);
  StateReader reader(state);
  require(reader.is_whole(), "the state is not whole");
  ServiceSerializer serializer = service_->serializer();
  require(serializer.read_queue(reader) == ServiceSerializer::Read::good, "the state is not taken");
  require(serializer.sessions() == order.size(), "other sessions were written");
  for (Wire* const wire : order) {
    const bool is_local = model_.client(wire->number).commands == CommandSet::operators;
    require(serializer.read_session(reader, wire, is_local, now_, wire->session),
            "a session is broken");
  }
  require(serializer.finish(reader, now_), "the end of the state is broken");
  model_.handed_over(service_->engine(), now_);
  for (const Wire* const wire : order) {
    model_.know_as(wire->number, wire->session->client().ref());
  }
  check_invariants();
}

// Only the disk remains, as the end leaves it.
void Simulation::drop_server(binlog::CrashPolicy policy) {
  // Before the sessions are closed: a close may cause burials, and a kill closes none.
  binlog::SimDisk::Random random(chance_.bits());
  auto left = disk_->crash(random, policy);
  wires_.clear();
  bystander_ = 0;
  service_.reset();
  tape_.clear();
  recorder_put_off_ += recorder_->put_off();
  recorder_.reset();
  binlog_.reset();
  disk_ = std::move(left);
  disk_->set_capacity({});
}

// Acknowledged changes have to survive a loss of power, as far as the policy promises. Without
// syncs nothing is promised: compaction may have removed the file of an old job before its copy was
// on the disk.
std::optional<std::uint64_t> Simulation::safe_from_power_loss() const {
  switch (options_.sync) {
    case binlog::SyncPolicy::every_turn:
      return recorder_->safe_records();
    case binlog::SyncPolicy::interval:
      return surely_synced_;
    case binlog::SyncPolicy::never:
      break;
  }
  return std::nullopt;
}

// Records written an interval before the turn before this one are synced, if syncs end at all.
void Simulation::note_synced() {
  const bool syncs_end = disk_->syncs_under_way() == 0 && !may_disturb_;
  while (syncs_end && !written_.empty() && !binlog_->numbers().refusing &&
         written_.front().when + options_.sync_interval <= last_turn_) {
    surely_synced_ = written_.front().records;
    written_.pop_front();
  }
  written_.push_back({now_, recorder_->records()});
  last_turn_ = now_;
}

void Simulation::disturb_disk() {
  if (!may_disturb_) return;
  switch (chance_.below(6)) {
    case 0:
    case 1:
      disk_->inject(random_fault(chance_));
      ++disk_faults_;
      note("a call of the disk will fail");
      break;
    case 2:
      disk_->set_capacity(disk_->used_bytes() + chance_.below(20'000));
      ++disk_faults_;
      note("the disk has an end");
      break;
    case 3:
      disk_->complete_syncs(1, binlog::DiskStatus::failed);
      sync_was_failed_ = true;
      break;
    default:
      calm_disk();
  }
}

void Simulation::calm_disk() {
  disk_->clear_faults();
  disk_->set_capacity({});
}

std::string Simulation::address_of(const void* wire) {
  const auto& shown = *static_cast<const Wire*>(wire);
  const char* const states[] = {"idle", "waiting", "running", "body"};
  shown.tape->add({.kind = Event::Kind::client_shown,
                   .client = shown.number,
                   .line = states[static_cast<std::size_t>(shown.session->doing())],
                   .idle_since = shown.session->idle_since()});
  return "here";
}

}  // namespace haricot::simulation
