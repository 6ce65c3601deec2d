#include "trial.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "haricot/base/memory.hpp"

namespace haricot::faults {
namespace {

constexpr Duration kWallOffset = Duration::nanoseconds(1'700'000'000'123'456'789);
constexpr std::uint64_t kStoreId = 0x5eed;
constexpr int kTurnsMax = 20'000;
// The binlog pauses before it uses a failed disk again. The pause may last this many steps.
constexpr Duration kPauseOfTheBinlog = Duration::milliseconds(1'100);
constexpr int kStepsInTrouble = 4;
// As after years of use: the names of files do not fit into a string without memory of its own.
constexpr std::uint64_t kHighFileNumber = 123'456'789;

binlog::BinlogOptions options_for(Keeping keeping) {
  binlog::BinlogOptions options{.file_bytes = 8192};
  if (keeping == Keeping::interval) options.sync = binlog::SyncPolicy::interval;
  if (keeping == Keeping::never) options.sync = binlog::SyncPolicy::never;
  if (keeping == Keeping::every_turn || keeping == Keeping::every_turn_slowly) {
    options.sync = binlog::SyncPolicy::every_turn;
  }
  return options;
}

// Makes a folder with some jobs in some states.
void make_folder(binlog::SimDisk& disk, Instant now) {
  // A file as beanstalkd begins it: its version, and no record.
  disk.put("binlog." + std::to_string(kHighFileNumber), std::string("\x07\0\0\0", 4));
  binlog::Binlog binlog(disk, {.file_bytes = 8192});
  Engine engine(now, binlog);
  std::string error;
  EXPECT_TRUE(binlog.open(engine, kWallOffset, now, kStoreId, {}, error)) << error;
  Client client(nullptr);
  EXPECT_TRUE(engine.open(client));
  EXPECT_EQ(engine.use(client, "a-tube-with-a-rather-long-name"), Outcome::done);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::string body(300 + 100 * i, static_cast<char>('a' + i));
    const std::string_view tags = i == 6 ? "idp:a-key-that-stays-taken-for-longer:86400" : "";
    const NewJob job{engine.take_id(), i, i == 3 ? 5U : 0U, 60, tags};
    EXPECT_EQ(engine.put(client, job, {.bytes = body, .blob = {}}, now), Outcome::done);
    if (i == 6) {
      EXPECT_EQ(engine.delete_job(client, job.id), Outcome::done);
    }
  }
  EXPECT_EQ(engine.reserve_job(client, 1, now).outcome, Outcome::done);
  EXPECT_EQ(engine.bury(client, 1, 9), Outcome::done);
  engine.close(client, now);
  EXPECT_TRUE(binlog.close(now));
}

}  // namespace

Trial::Trial(Keeping keeping, const Trouble& trouble, const History* history)
    : keeping_(keeping),
      trouble_(trouble),
      now_(Instant::at(1'234'567'891)),
      disk_(std::make_unique<binlog::SimDisk>()),
      history_(history) {
  info_.instance_id = "0123456789abcdef";
  info_.hostname = "a-host-with-a-long-name.example";
  info_.job_bytes_max = 20'000;
  info_.commands = CommandSet::operators;
  if (keeping != Keeping::nothing) make_folder(*disk_, now_);
  if (keeping == Keeping::every_turn_slowly) disk_->set_sync_mode(binlog::SyncMode::when_told);
}

Trial::~Trial() {
  calm_memory();
  service_.reset();
  Memory::give_all_back();
}

std::string Trial::where() const {
  std::string text = "step: " + step_;
  if (trouble_.nth_allocation > 0) {
    text += ", allocation " + std::to_string(trouble_.nth_allocation);
  }
  if (trouble_.disk_fault) text += ", disk call " + std::to_string(trouble_.disk_fault->nth);
  return text + (trouble_.lasts ? " and all behind it in the step" : "");
}

void Trial::run(const std::vector<Step>& steps) {
  constexpr std::uint64_t kToTheEnd = ~std::uint64_t{0};
  plan_memory({trouble_.nth_allocation, trouble_.lasts ? kToTheEnd : trouble_.nth_allocation});
  if (trouble_.disk_fault) {
    binlog::Fault fault = *trouble_.disk_fault;
    fault.lasts = trouble_.lasts;
    disk_->inject(fault);
  }
  step_ = "start";
  if (!start()) {
    EXPECT_TRUE(was_hit_) << "it does not start";
    get_well();
    kill();
    ASSERT_TRUE(start()) << "it does not start when all is well again";
  }
  if (was_hit_ && trouble_.lasts) get_well();
  expectation_ = std::make_unique<Expectation>(service_->engine(), now_);
  int since_hit = 0;
  for (const Step& step : steps) {
    play(step);
    if (was_hit_ && ++since_hit == kStepsInTrouble) {
      play({.kind = Step::Kind::pass, .time = kPauseOfTheBinlog});
      may_be_refused_ = false;
    }
    if (::testing::Test::HasFailure()) return;
  }
  if (is_known()) return;
  see_what_failed();
  get_well();
  check_restart();
  drain();
}

// The service is made without failures: a server that has no memory for an empty one does not
// start.
bool Trial::start() {
  service_.reset();
  if (keeping_ == Keeping::nothing) {
    service_ = std::make_unique<Service>(info_, no_journal_, now_);
    return true;
  }
  outside_disk_.emplace(*disk_);
  binlog_ = std::make_unique<binlog::Binlog>(*outside_disk_, options_for(keeping_));
  service_ = std::make_unique<Service>(info_, *binlog_, now_);
  bool good = false;
  std::string error;
  try {
    const UnderTest under_test;
    good = binlog_->open(service_->engine(), kWallOffset, now_, kStoreId, {}, error);
  } catch (const std::bad_alloc&) {
    ADD_FAILURE() << "an exception came out of the start; " << where();
  }
  see_what_failed();
  return good;
}

// A step -----------------------------------------------------------------------------------------

void Trial::play(const Step& step) {
  step_ = step.line.empty() ? "kind " + std::to_string(static_cast<int>(step.kind)) : step.line;
  step_ = std::to_string(step.client) + ": " + step_.substr(0, 60);
  const bool was_known = is_known();
  const std::size_t index = played_++;
  const Expectation& known = was_known ? (*history_)[index] : *expectation_;
  if (history_ == nullptr) seen_.push_back(known);
  const bool is_there = wires_.contains(step.client) && known.knows(step.client);
  const bool needs_client =
      step.kind != Step::Kind::connect && step.kind != Step::Kind::pass && !is_there;
  if (needs_client) return;
  if (step.kind == Step::Kind::connect && is_there) return;  // It was connected again already.
  // Its reserve found nothing because of an earlier failure, and still waits.
  if (step.kind == Step::Kind::command && known.is_waiting(step.client)) return;

  Happened happened;
  const JobId next_id = service_->engine().next_id();
  const bool was_in_trouble = is_in_trouble();
  step_was_hit_ = false;
  try {
    act(step, happened);
  } catch (const std::bad_alloc&) {
    ADD_FAILURE() << "an exception came out of the service; " << where();
    return;
  }
  see_what_failed();
  if (step_was_hit_ && trouble_.lasts) get_well();
  happened.had_trouble = was_in_trouble || step_was_hit_ || is_in_trouble();
  gather_answers(happened);
  happened.now = now_;
  if (is_known()) return;
  service_->engine().check_invariants();
  if (binlog_) binlog_->check_invariants();
  if (was_known) *expectation_ = (*history_)[index];
  if (step.kind == Step::Kind::connect) expectation_->connected(step.client);
  expectation_->look(next_id);
  const std::string wrong = expectation_->check(step, happened, service_->engine());
  EXPECT_EQ(wrong, "") << where();
  if (!wrong.empty()) return;
  reconnect_the_lost(happened);
}

void Trial::act(const Step& step, Happened& happened) {
  switch (step.kind) {
    case Step::Kind::connect:
      return connect(step.client, happened);
    case Step::Kind::pass:
      return pass(step.time, happened);
    case Step::Kind::half_close:
      wires_.at(step.client).has_ended = true;
      return come_to_rest(happened);
    case Step::Kind::vanish: {
      {
        const UnderTest under_test;
        service_->close(*wires_.at(step.client).session, now_);
      }
      wires_.erase(step.client);
      happened.closed.insert(step.client);
      return come_to_rest(happened);
    }
    case Step::Kind::command:
      break;
  }
  std::string bytes = step.line + "\r\n";
  const bool has_body = step.line.starts_with("put ") || step.line.starts_with("note ");
  if (has_body) bytes += step.body + "\r\n";
  const std::size_t piece = step.is_cut ? bytes.size() / 3 + 1 : bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto wire = wires_.find(step.client);
    if (wire == wires_.end()) return;  // The server has closed it.
    receive(wire->second, std::string_view(bytes).substr(at, piece));
    come_to_rest(happened);
  }
}

void Trial::connect(int client, Happened& happened) {
  wires_.erase(client);
  Wire& wire = wires_[client];
  {
    const UnderTest under_test;
    wire.session = service_->open(&wire);
  }
  if (wire.session == nullptr) {
    see_what_failed();
    EXPECT_TRUE(step_was_hit_) << "no connection for no reason";
    wire.session = service_->open(&wire);  // Not under test in this case.
  }
  come_to_rest(happened);
}

void Trial::receive(Wire& wire, std::string_view bytes) {
  const UnderTest under_test;
  while (!bytes.empty()) {
    const std::span<char> direct = wire.session->direct_space();
    const std::size_t taken = std::min(direct.size(), bytes.size());
    if (taken == 0) break;
    std::memcpy(direct.data(), bytes.data(), taken);
    service_->receive_directly(*wire.session, taken);
    bytes.remove_prefix(taken);
  }
  if (!bytes.empty()) service_->receive(*wire.session, bytes, now_);
}

// Plays turns until the server waits for time or input.
void Trial::come_to_rest(Happened& happened) {
  int turns = 0;
  bool goes_on = true;
  while (goes_on) {
    ASSERT_LT(++turns, kTurnsMax) << where();
    goes_on = turn(happened);
    if (!goes_on && disk_->syncs_under_way() > 0) {
      disk_->complete_syncs(1);
      goes_on = true;
    }
  }
}

bool Trial::turn(Happened& happened) {
  bool has_read = false;
  {
    const UnderTest under_test;
    service_->advance(now_);
    for (auto& [client, wire] : wires_) {
      if (!wire.has_ended || wire.end_was_read) continue;
      wire.end_was_read = has_read = true;
      service_->end_of_input(*wire.session);
    }
    service_->run_backlog(now_);
    service_->end_turn(now_);
  }
  if (binlog_) {
    while (binlog_->next_notice()) {
    }
  }
  std::vector<int> finished;
  for (auto& [client, wire] : wires_) {
    send_some(client, wire);
    if (wire.session->is_finished() && !wire.session->has_output()) finished.push_back(client);
  }
  // While their sessions exist: the meaning of the answers depends on them.
  if (!finished.empty()) gather_answers(happened);
  const UnderTest under_test;
  while (service_->next_to_send() != nullptr) {
  }
  for (const int client : finished) {
    service_->close(*wires_.at(client).session, now_);
    const Outside outside;
    wires_.erase(client);
    happened.closed.insert(client);
  }
  return has_read || !finished.empty() || service_->next_event() <= now_;
}

void Trial::send_some(int, Wire& wire) {
  const UnderTest under_test;
  while (wire.session->has_output() && wire.session->may_send()) {
    std::array<std::string_view, 8> pieces;
    const std::size_t count = wire.session->output().gather(pieces);
    std::size_t sent = 0;
    for (const std::string_view piece : std::span(pieces).first(count)) {
      const Outside outside;
      wire.heard += piece;
      sent += piece.size();
    }
    service_->sent(*wire.session, sent);
  }
}

void Trial::pass(Duration time, Happened& happened) {
  const Instant end = now_ + time;
  for (int wakes = 0; service_->next_event() <= end; ++wakes) {
    ASSERT_LT(wakes, kTurnsMax) << where();
    now_ = std::max(now_, service_->next_event());
    come_to_rest(happened);
  }
  now_ = end;
  come_to_rest(happened);
}

// Extracts complete answers from the received bytes.
void Trial::gather_answers(Happened& happened) {
  for (auto& [client, wire] : wires_) {
    while (true) {
      const std::size_t end = wire.heard.find("\r\n");
      if (end == std::string::npos) break;
      Answer answer{wire.heard.substr(0, end), {}};
      std::size_t size = end + 2;
      const std::string word = answer.word();
      if (word == "RESERVED" || word == "FOUND" || word == "OK") {
        const std::size_t bytes = std::stoull(answer.line.substr(answer.line.rfind(' ') + 1));
        ASSERT_LE(size + bytes + 2, wire.heard.size()) << "half an answer; " << where();
        answer.body = wire.heard.substr(size, bytes);
        size += bytes + 2;
      }
      if (word == "OUT_OF_MEMORY") ++refused_for_memory_;
      wire.heard.erase(0, size);
      std::vector<Answer>& answers = happened.answers[client];
      if (wire.batch_left > 0) {
        --wire.batch_left;
        answers.back().jobs.push_back(std::move(answer));
        continue;
      }
      if (word == "RESERVED_BATCH") wire.batch_left = answer.number();
      answers.push_back(std::move(answer));
    }
    EXPECT_EQ(wire.heard, "") << "half an answer; " << where();
    // If there was no memory for one of its jobs, the connection ends.
    const bool is_whole = wire.batch_left == 0 || wire.session->is_finished();
    EXPECT_TRUE(is_whole) << "half a batch; " << where();
  }
}

// Trouble ----------------------------------------------------------------------------------------

void Trial::see_what_failed() {
  const bool is_hit = allocations_failed() > 0 || disk_->faults_hit() > 0;
  if (is_hit && !was_hit_) step_was_hit_ = may_be_refused_ = true;
  was_hit_ = was_hit_ || is_hit;
}

bool Trial::is_in_trouble() const {
  return binlog_ != nullptr && (may_be_refused_ || binlog_->numbers().refusing);
}

void Trial::reconnect_the_lost(const Happened& happened) {
  if (!happened.had_trouble) return;
  for (const int client : happened.closed) {
    if (wires_.contains(client)) continue;
    Wire& wire = wires_[client];
    wire.session = service_->open(&wire);
    expectation_->connected(client);
  }
}

// Leaves the folder of a process that has ended.
void Trial::kill() {
  service_.reset();
  binlog_.reset();
  binlog::SimDisk::Random chance(1);
  disk_ = disk_->crash(chance, {binlog::Unsynced::kept, binlog::UnsyncedNames::kept});
}

void Trial::get_well() {
  calm_memory();
  disk_->clear_faults();
}

// The end ----------------------------------------------------------------------------------------

// A server on a copy of the folder has all jobs, once the binlog has recovered.
void Trial::check_restart() {
  if (!binlog_) return;
  play({.kind = Step::Kind::pass, .time = Duration::milliseconds(5001)});
  EXPECT_FALSE(binlog_->numbers().refusing) << "it does not recover; " << where();
  binlog::SimDisk::Random chance(1);
  const auto copy = disk_->crash(chance, {binlog::Unsynced::kept, binlog::UnsyncedNames::kept});
  binlog::Binlog again(*copy, options_for(keeping_));
  Engine engine(now_, again);
  std::string error;
  ASSERT_TRUE(again.open(engine, kWallOffset, now_, kStoreId, {}, error)) << error << where();
  // A file that was removed although the disk reported a failure is missing for a reader of the
  // rest.
  const bool was_lied_to = trouble_.disk_fault && trouble_.disk_fault->takes_effect;
  EXPECT_TRUE(was_lied_to || again.replayed().is_sound())
      << again.replayed().warnings()[0] << "; " << where();
  Jobs expected = jobs_of(service_->engine());
  Jobs found = jobs_of(engine);
  for (Jobs* jobs : {&expected, &found}) {
    for (auto& [id, job] : *jobs) {
      if (job.state == JobState::reserved) job.state = JobState::ready;
      // Neither is recorded when it happens.
      job.count(JobEvent::reserve) = job.count(JobEvent::timeout) = 0;
    }
  }
  EXPECT_EQ(difference(expected, found), "") << "after a restart; " << where();
  EXPECT_EQ(difference(keys_of(service_->engine(), now_), keys_of(engine, now_)), "")
      << "after a restart; " << where();
}

std::string Trial::ask(int client, const std::string& bytes) {
  Happened happened;
  receive(wires_.at(client), bytes);
  come_to_rest(happened);
  gather_answers(happened);
  const std::vector<Answer>& answers = happened.answers[client];
  return answers.empty() ? "" : answers.front().line;
}

// The server continues, and clients can empty it.
void Trial::drain() {
  Happened happened;
  while (!wires_.empty()) {
    service_->close(*wires_.begin()->second.session, now_);
    wires_.erase(wires_.begin());
  }
  come_to_rest(happened);
  constexpr int kDrainer = 99;
  wires_[kDrainer].session = service_->open(&wires_[kDrainer]);
  Tubes tubes = tubes_of(service_->engine());
  for (const auto& [name, tube] : tubes) {
    ask(kDrainer, "watch " + name + "\r\n");
    ask(kDrainer, "pause-tube " + name + " 0\r\n");
    ask(kDrainer, "use " + name + "\r\n");
    while (ask(kDrainer, "kick 100\r\n") != "KICKED 0") {
      if (::testing::Test::HasFailure()) return;
    }
  }
  while (true) {
    const std::string line = ask(kDrainer, "reserve-with-timeout 0\r\n");
    if (!line.starts_with("RESERVED ")) {
      EXPECT_EQ(line, "TIMED_OUT") << where();
      break;
    }
    const std::string id = line.substr(9, line.rfind(' ') - 9);
    EXPECT_EQ(ask(kDrainer, "delete " + id + "\r\n"), "DELETED") << where();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(service_->engine().jobs().size(), 0U) << where();
  service_->close(*wires_.at(kDrainer).session, now_);
  wires_.clear();
  EXPECT_EQ(service_->engine().tubes().size(), 1U) << where();
  EXPECT_EQ(service_->engine().counts().clients, 0U) << where();
  EXPECT_EQ(service_->engine().counts().waiting, 0U) << where();
  service_->engine().check_invariants();
  if (!binlog_) return;
  binlog_->check_invariants();
  EXPECT_TRUE(binlog_->close(now_)) << where();
  EXPECT_EQ(disk_->open_files(), 0U) << where();
}

}  // namespace haricot::faults
