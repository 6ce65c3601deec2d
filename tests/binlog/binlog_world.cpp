#include "binlog_world.hpp"

#include <algorithm>
#include <iterator>

#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::binlog {
namespace {

const std::string kLongTube(200, 'l');

std::size_t random_body_bytes(test::Random& random, std::size_t max) {
  switch (random.below(12)) {
    case 0:
      return std::min<std::size_t>(max, 1023 + random.below(3));  // Around the inline limit.
    case 1:
      return std::min<std::size_t>(max, 4095 + random.below(3));  // Around the copy limit.
    case 2:
      return random.below(max + 1);
    case 3:
      return 0;
    default:
      return random.below(200);
  }
}

}  // namespace

namespace {

// Returns tags of one record and of several, some with limits of tries and lanes. There are few
// keys, so that jobs wait for each other.
std::string_view random_tags(test::Random& random) {
  constexpr std::string_view kTags[] = {
      "try:1",
      "later:3",
      "try:3",
      "con:key",
      "con:key:2",
      "con:another-key",
      "try:2 con:key:3",
      "idp:key",
      "idp:another-key",
      "con:key idp:a-third-key",
      "idp:key:1",
      "idp:another-key:3",
      "try:3 idp:a-third-key:1000",
      "back:1",
      "try:4 con:key back:2:3",
      "later:0123456789012345678901234567890123456789",
      "later:2 other:012345678901234567890123456789012345678901234567890123456789/"
      "012345678901234567890123456789012345678901234567890123456789/"
      "012345678901234567890123456789012345678901234567890123456789/"};
  if (!random.one_in(3)) return {};
  return kTags[random.below(std::size(kTags))];
}

}  // namespace

std::string name_of_policy(const ::testing::TestParamInfo<SyncPolicy>& policy) {
  switch (policy.param) {
    case SyncPolicy::every_turn:
      return "SyncsEveryTurn";
    case SyncPolicy::interval:
      return "SyncsByInterval";
    case SyncPolicy::never:
      break;
  }
  return "NoSyncs";
}

World::World(SimDisk& on_disk, const BinlogOptions& options, std::int64_t wall, bool may_fail,
             const Fault* after_read, std::uint32_t epoch)
    : disk(on_disk),
      // The monotonic clock begins at another time in each run.
      now(Instant::at(1'000'000'000 + wall % 1'000'000'007)),
      wall_offset(Duration::nanoseconds(wall - now.count())),
      binlog(disk, options),
      history(binlog),
      engine(now, history) {
  // A different number each time; a server uses a random one.
  static std::uint64_t number = 0x5151;
  binlog.set_note(disk.folder_note());
  if (epoch != 0) binlog.set_epoch(epoch);
  disk.forbid_waiting(false);
  bool good = binlog.read(engine, wall_offset, now, {}, error);
  if (good && after_read != nullptr) {
    EXPECT_TRUE(binlog.can_begin(error)) << error;
    disk.inject(*after_read);
  }
  good = good && binlog.begin(++number, error, after_read != nullptr);
  if (!may_fail) {
    EXPECT_TRUE(good) << error;
  }
  EXPECT_EQ(good, error.empty());
  disk.forbid_waiting(good);
  if (good) {
    engine.check_invariants();
    binlog.check_invariants();
    history.begin(engine, wall_offset);
    for (const auto& change : history.changes()) known_ids_.push_back(change.id);
  }
  take_notices();
  EXPECT_TRUE(engine.open(client));
}

Outcome World::try_put(const PutOptions& options) {
  const JobId id = engine.take_id();
  PendingPut put(id, options);
  return until_done([&] { return try_once(put); });
}

Outcome World::put_at_once(const PutOptions& options) {
  PendingPut put(engine.take_id(), options);
  return try_once(put);
}

World::PendingPut::PendingPut(JobId id, const PutOptions& options)
    : job{id, options.priority, options.delay_s, options.ttr_s, options.tags},
      bytes(body_for(id, options.body_bytes)) {
  if (bytes.size() > JobStore::kInlineBodyBytesMax) {
    body = NewBody{.bytes = {}, .blob = test::blob_of(bytes)};
  } else {
    body.bytes = bytes;
  }
}

Outcome World::try_once(PendingPut& put) {
  const Outcome outcome = engine.put(client, put.job, std::move(put.body), now);
  if (outcome == Outcome::done) known_ids_.push_back(put.job.id);
  return outcome;
}

Ended World::kick(std::uint32_t bound) {
  return end_of(engine.kick(client, bound, now));
}

bool World::flush(std::string_view tube, JobStates states) {
  return end_of(engine.flush(client, tube, states)).outcome != Outcome::journal_failed;
}

Ended World::delete_batch(const std::vector<JobId>& ids) {
  return end_of(engine.delete_batch(client, ids));
}

// Returns the end of a command that ended with that outcome, or that continues as a task of the
// client.
Ended World::end_of(Outcome outcome) {
  Ended ended{outcome};
  finish_task();
  for (const Delivery& delivery : engine.deliveries()) {
    const bool is_failed = delivery.kind == Delivery::Kind::failed;
    ended = {is_failed ? Outcome::journal_failed : Outcome::done, delivery.count,
             delivery.not_found};
  }
  engine.clear_deliveries();
  return ended;
}

void World::finish_task() {
  constexpr int kTurnsMax = 10'000;
  int turns = 0;
  while (client.is_busy()) {
    ASSERT_LT(++turns, kTurnsMax) << "the client's task does not end";
    engine.advance(now);
    if (engine.next_event() <= now) continue;
    end_turn();
    disk.complete_syncs(1);
    if (binlog.may_try_again()) {
      engine.resume_tasks(now);
    } else {
      pass(Duration::milliseconds(1));
    }
  }
}

void World::wait_for_disk() {
  constexpr int kTurnsMax = 10'000;
  int turns = 0;
  do {
    ASSERT_LT(++turns, kTurnsMax) << "no notification to try again";
    end_turn();
    disk.complete_syncs(1);
  } while (!binlog.may_try_again());
}

JobId World::put(const PutOptions& options) {
  const JobId id = engine.next_id();
  EXPECT_EQ(try_put(options), Outcome::done);
  return id;
}

JobId World::reserve() {
  const ReserveResult result = engine.reserve(client, now, now);
  return result.outcome == Outcome::done ? engine.jobs()[result.job].id : 0;
}

namespace {

bool is_not_refused(Outcome outcome) {
  return outcome == Outcome::done || outcome == Outcome::not_found;
}

std::string random_note(test::Random& random) {
  return std::string(random.one_in(4) ? 0 : random.below(JobStore::kNoteBytesMax + 1), 'n');
}

}  // namespace

bool World::random_command(test::Random& random, std::size_t body_bytes_max) {
  const std::size_t jobs = engine.jobs().size();
  if (random.below(30) > jobs || known_ids_.empty()) {
    const std::uint64_t tube = random.below(8);
    EXPECT_TRUE(use(tube == 0 ? std::string_view(kLongTube) : tube < 3 ? "other" : "default"));
    EXPECT_NE(engine.watch(client, client.used().name), Outcome::out_of_memory);
    const Outcome outcome =
        try_put({.body_bytes = random_body_bytes(random, body_bytes_max),
                 .priority = static_cast<std::uint32_t>(random.below(2000)),
                 .delay_s = static_cast<std::uint32_t>(random.one_in(3) ? random.below(6) : 0),
                 .ttr_s = static_cast<std::uint32_t>(1 + random.below(3)),
                 .tags = random_tags(random)});
    return outcome == Outcome::done || outcome == Outcome::duplicate;
  }
  const std::size_t place = random.below(known_ids_.size());
  const JobId id = known_ids_[place];
  if (engine.peek(id) == JobRef::none) {
    known_ids_[place] = known_ids_.back();
    known_ids_.pop_back();
    return true;
  }
  const auto priority = static_cast<std::uint32_t>(random.below(2000));
  const auto delay_s = static_cast<std::uint32_t>(random.below(4));
  switch (random.below(13)) {
    case 0:
    case 1:
      return delete_job(id) != Outcome::journal_failed;
    case 2:
    case 3:
      (void)reserve();
      return true;
    case 4:
      return reserve(id) != Outcome::journal_failed;
    case 5:
      return release(id, priority) != Outcome::journal_failed;
    case 6:
      return release(id, priority, delay_s) != Outcome::journal_failed;
    case 7:
      return bury(id, priority) != Outcome::journal_failed;
    case 8:
      return kick_job(id) != Outcome::journal_failed;
    case 9:
      return is_not_refused(set_note(id, random_note(random)));
    case 10: {
      const std::vector<JobId> ids{id, known_ids_[random.below(known_ids_.size())],
                                   known_ids_[random.below(known_ids_.size())]};
      return delete_batch(ids).outcome != Outcome::journal_failed;
    }
    case 11: {
      const std::uint64_t states = 1 + random.below(7);
      return flush(
          "other",
          {.ready = (states & 1) != 0, .delayed = (states & 2) != 0, .buried = (states & 4) != 0});
    }
    default:
      return kick(1 + static_cast<std::uint32_t>(random.below(3))).outcome !=
             Outcome::journal_failed;
  }
}

void World::take_notices() {
  while (const auto notice = binlog.next_notice()) {
    notices.push_back(to_sentence(*notice));
    notice_times.push_back(now.count());
  }
}

void World::end_turn() {
  const std::uint64_t held = binlog.safe_records();
  const std::uint64_t doubtful = binlog.progress().doubtful;
  binlog.end_turn(now);
  EXPECT_GE(binlog.safe_records(), held);
  EXPECT_GE(binlog.progress().doubtful, doubtful);
  take_notices();
  engine.check_invariants();
  binlog.check_invariants();
}

void World::pass(Duration duration) {
  now = now + duration;
  engine.advance(now);
}

void World::idle(Duration duration) {
  const Instant end = now + duration;
  run_turns(end);
  // Changes that become due by then may be recorded.
  now = std::max(now, end);
  engine.advance(now);
  run_turns(now);
}

void World::run_turns(Instant end) {
  constexpr int kTurnsMax = 3000;
  int turns = 0;
  bool sync_ended = true;  // The end of a sync is a reason for a turn, too.
  while ((sync_ended || binlog.next_event() <= end) && ++turns < kTurnsMax) {
    if (!sync_ended) now = std::max(now, binlog.next_event());
    const std::uint64_t before = disk.calls(DiskCall::start_sync);
    end_turn();
    // Asks in each turn, like a server: an earlier attempt may have got `later`.
    if (binlog.may_try_again()) engine.resume_tasks(now);
    sync_ended = disk.calls(DiskCall::start_sync) > before || disk.syncs_under_way() > 0;
    disk.complete_syncs();
    sync_ended = sync_ended || disk.has_ended_syncs();
  }
  EXPECT_LT(turns, kTurnsMax) << "the binlog asks for turns without end";
}

std::string World::replay_text() const {
  const ReplayReport& report = binlog.replayed();
  std::string text;
  for (const FileReport& file : report.files) {
    text += file.name + " of kind " + std::to_string(static_cast<int>(file.kind())) + ": " +
            std::to_string(file.bytes) + " bytes, accepted " + std::to_string(file.accepted_bytes) +
            ", records read " + std::to_string(file.records_read) + " of " +
            std::to_string(file.records) + ", torn " + std::to_string(file.torn.bytes);
    if (const auto& signature = file.identity.signature) {
      text += ", needs " + std::to_string(signature->oldest_needed) + ", after " +
              std::to_string(signature->previous_number) + " with " +
              std::to_string(signature->previous_bytes) + " bytes, run " +
              std::to_string(signature->run);
    }
    text += "\n";
  }
  for (const Problem& problem : report.problems) text += to_sentence(problem) + "\n";
  return text;
}

std::size_t World::files() const {
  std::vector<std::string> names;
  EXPECT_EQ(disk.list(names), DiskStatus::ok);
  return names.size();
}

}  // namespace haricot::binlog
