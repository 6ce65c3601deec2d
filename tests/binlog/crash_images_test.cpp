// Chains of servers on one folder. Each server is stopped, is killed, hands the folder over, or
// loses the power at any step on the disk, also during its start. The next start accepts each image
// that is left, and finds every job that was acknowledged and durable.
//
//   HARICOT_IMAGES=20000 HARICOT_SEED=7 binlog_test --gtest_filter=CrashImages.*
//
// checks that many images, with other seeds. HARICOT_IMAGES=1 checks those of one seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binlog_world.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/write/large_body.hpp"
#include "support/random.hpp"

namespace haricot::binlog {
namespace {

constexpr CrashPolicy kKill{Unsynced::kept, UnsyncedNames::kept};

// Leftovers -----------------------------------------------------------------------------------

// A state of a folder that only a crash leaves, and that a start accepts.
enum class Leftover : std::uint8_t {
  half_record,         // The newest file ends in half a record.
  hole,                // Records follow a lost sector.
  newest_missing,      // The last file is sealed, because the next one was begun.
  newest_headless,     // The head of the newest file is lost.
  newest_recordless,   // The newest file has only a head.
  older_missing,       // The name of a file before the newest is lost.
  older_headless,      // The head of a file before the newest is lost.
  removed_file,        // A removed file is back.
  older_note,          // The note does not name the newest file with records.
  spare,               // A spare without records.
  spare_with_records,  // A file whose last rename is lost.
  large_body,          // A large body without a record.
  unfinished_copy,     // A copy of unreadable data without its final name.
};
constexpr std::array kLeftovers = {
    "half record",       "hole",          "newest missing",     "newest headless",
    "newest recordless", "older missing", "older headless",     "removed file",
    "older note",        "spare",         "spare with records", "large body",
    "unfinished copy"};

// Numbers of the folders that had each leftover.
class Leftovers {
 public:
  // Counts those that the names show. Call before the start.
  void count_names(SimDisk& disk) {
    std::vector<std::string> names;
    EXPECT_EQ(disk.list(names), DiskStatus::ok);
    for (const std::string& name : names) {
      if (!name.ends_with(".tmp")) continue;
      if (name == spare_name(LargeBody::kNumber)) {
        add(Leftover::large_body);
      } else if (!binlog_file_number(name.substr(0, name.size() - 4))) {
        add(Leftover::unfinished_copy);
      } else {
        const std::string bytes = disk.bytes_of(name);
        const bool has_records = find_nonzero(bytes, kFirstRecordOffset) < bytes.size();
        add(has_records ? Leftover::spare_with_records : Leftover::spare);
      }
    }
  }
  // Counts those that the report on the folder shows. `note`: its note before the start.
  void count_files(const FolderNote& note, const ReplayReport& report) {
    const std::vector<FileReport>& files = report.files;
    std::uint64_t newest = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
      count_file(report, i);
      if (files[i].records_counted > 0) newest = files[i].number;
    }
    if (files.empty()) return;
    if (files.front().number < report.oldest_needed) add(Leftover::removed_file);
    if (files.back().was_followed()) add(Leftover::newest_missing);
    if (note.store_id != 0 && note.newest < newest) add(Leftover::older_note);
  }
  std::uint64_t seen(std::size_t leftover) const { return seen_[leftover]; }

 private:
  void add(Leftover leftover) { ++seen_[static_cast<std::size_t>(leftover)]; }
  void count_file(const ReplayReport& report, std::size_t index) {
    const FileReport& file = report.files[index];
    const bool is_newest = index + 1 == report.files.size();
    if (file.torn.bytes > 0) {
      const bool is_tail = file.torn.offset >= file.accepted_bytes;
      add(is_tail ? Leftover::half_record : Leftover::hole);
    }
    const bool is_headless = file.is_head_torn || file.kind() == FileKind::empty;
    if (is_headless) add(is_newest ? Leftover::newest_headless : Leftover::older_headless);
    if (is_newest && file.has_signature() && file.records == 0) add(Leftover::newest_recordless);
    const auto& signature = file.identity.signature;
    if (index > 0 && signature && signature->previous_number > report.files[index - 1].number) {
      add(Leftover::older_missing);
    }
  }

  std::array<std::uint64_t, kLeftovers.size()> seen_{};
};

// Promises ------------------------------------------------------------------------------------

// A note in the trace: the number of records of a server that survive a loss of power, or of those
// that survive a kill. The servers of a trace are numbered.
constexpr std::uint64_t kOfServer = std::uint64_t{1} << 48;
constexpr std::uint64_t kWrittenOnly = std::uint64_t{1} << 40;

struct ServerPromise {
  std::size_t server = 0;
  std::uint64_t safe = 0;
  std::uint64_t written = 0;
};

// Returns the promise of the last server.
ServerPromise promise_of(const std::vector<std::uint64_t>& notes) {
  ServerPromise promise;
  for (const std::uint64_t note : notes) {
    const std::uint64_t server = note / kOfServer;
    if (server > promise.server) promise = {.server = server};
    const bool is_written = note % kOfServer >= kWrittenOnly;
    std::uint64_t& most = is_written ? promise.written : promise.safe;
    most = std::max(most, note % kWrittenOnly);
  }
  return promise;
}

// Chains --------------------------------------------------------------------------------------

class Chain {
 public:
  Chain(std::uint64_t seed, Leftovers& leftovers)
      : random_(seed), leftovers_(leftovers), disk_(std::make_unique<SimDisk>()) {
    has_syncs_ = !random_.one_in(6);
    has_epochs_ = random_.coin();
    is_hurt_ = random_.one_in(6);
    if (random_.one_in(4)) {
      disk_->set_capacity(60'000 + random_.below(200'000));
      disk_->set_block_bytes(kSectorBytes << random_.below(4));
    }
  }

  // Runs one to three servers on the folder, checks images of it, and continues with one of them.
  void live(std::size_t images);

  std::uint64_t starts() const { return starts_; }
  std::uint64_t kills() const { return kills_; }  // Starts after a kill at each step of a start.
  // Names the properties of the chain, for failures.
  std::string text() const {
    return std::string(has_syncs_ ? "with syncs" : "without syncs") +
           (has_epochs_ ? ", with epochs" : "") + (is_hurt_ ? ", damaged" : "") +
           (disk_->space(space_) ? ", on a small disk" : "");
  }

 private:
  using Worlds = std::vector<std::unique_ptr<World>>;

  BinlogOptions random_options();
  std::uint32_t next_epoch() {
    return has_epochs_ ? epoch_ += 1 + static_cast<std::uint32_t>(random_.below(2)) : 0;
  }
  void run(Worlds& worlds);
  void play(World& world, std::size_t server);
  static bool settle(World& world);
  static void promise(World& world, std::size_t server, std::uint64_t safe);
  void hurt();
  void check(const World& world, std::unique_ptr<SimDisk> image, std::optional<std::uint64_t> safe);
  void kill_at_each_step(const SimDisk& image, const std::map<JobId, KnownJob>& jobs);
  bool has_promises() const { return has_syncs_ && !was_hurt_; }

  test::Random random_;
  Leftovers& leftovers_;
  std::unique_ptr<SimDisk> disk_;
  mutable DiskSpace space_{};
  bool has_syncs_ = true;  // False: all servers run with -F.
  bool has_epochs_ = false;
  bool is_hurt_ = false;  // A bit of the folder changes between two servers.
  bool was_hurt_ = false;
  BinlogOptions options_;
  std::size_t body_bytes_max_ = 0;
  std::int64_t wall_ = kWallBegin;
  std::uint32_t epoch_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t kills_ = 0;
};

BinlogOptions Chain::random_options() {
  BinlogOptions options;
  options.file_bytes = random_.coin() ? 4096 : 16384;
  options.sync = random_.one_in(4) ? SyncPolicy::interval : SyncPolicy::every_turn;
  if (!has_syncs_) options.sync = SyncPolicy::never;
  if (random_.coin()) {
    options.large_body_bytes = 1100 + random_.below(6000);
    options.slice_bytes = kSectorBytes + random_.below(2000);
  }
  return options;
}

void Chain::promise(World& world, std::size_t server, std::uint64_t safe) {
  world.disk.note(server * kOfServer + safe);
  world.disk.note(server * kOfServer + kWrittenOnly + world.binlog.records());
}

// Plays turns, and notes the promise of the server after each.
void Chain::play(World& world, std::size_t server) {
  struct Written {
    Instant at;
    std::uint64_t records;
  };
  std::vector<Written> written;
  world.disk.set_sync_mode(random_.coin() ? SyncMode::at_once : SyncMode::when_told);
  for (std::uint64_t turns = 5 + random_.below(40); turns > 0; --turns) {
    constexpr std::int64_t kPasses[] = {0, 1, 20, 60, 1500};
    world.pass(Duration::milliseconds(random_.pick(kPasses)));
    // A small disk refuses some.
    for (std::uint64_t i = random_.below(8); i > 0; --i) {
      (void)world.random_command(random_, body_bytes_max_);
    }
    if (random_.one_in(3)) world.disk.complete_syncs(random_.below(4));
    world.end_turn();
    written.push_back({world.now, world.binlog.records()});
    std::uint64_t safe = 0;
    if (options_.sync == SyncPolicy::every_turn) safe = world.binlog.safe_records();
    const bool is_synced = options_.sync == SyncPolicy::interval &&
                           world.disk.syncs_under_way() == 0 && !world.binlog.numbers().refusing;
    for (const Written& part : written) {
      if (is_synced && part.at + options_.sync_interval <= world.now) safe = part.records;
    }
    promise(world, server, safe);
  }
}

// Ends what is under way, as a server does before it hands the folder over. Returns false if it
// must not.
bool Chain::settle(World& world) {
  world.end_turn();
  while (world.disk.syncs_under_way() > 0 || world.disk.has_ended_syncs()) {
    world.disk.complete_syncs();
    world.end_turn();
  }
  return !world.binlog.numbers().refusing;
}

// Runs servers, each of which takes the folder over from the one before it.
void Chain::run(Worlds& worlds) {
  const std::uint64_t servers = random_.one_in(3) ? 2 + random_.below(2) : 1;
  while (true) {
    const Fault none{.nth = ~std::uint64_t{0}};
    const bool takes_over = !worlds.empty();
    worlds.push_back(std::make_unique<World>(*disk_, options_, wall_, false,
                                             takes_over ? &none : nullptr, next_epoch()));
    World& world = *worlds.back();
    ++starts_;
    if (!world.is_open()) return;
    const std::size_t server = worlds.size() - 1;
    promise(world, server, 0);
    play(world, server);
    wall_ = world.wall();
    // A server with an epoch hands nothing over.
    if (worlds.size() == servers || has_epochs_ || !settle(world)) break;
    promise(world, server, options_.sync == SyncPolicy::every_turn ? world.binlog.records() : 0);
  }
  World& last = *worlds.back();
  if (random_.one_in(3) && last.close()) {
    promise(last, worlds.size() - 1, has_syncs_ ? last.binlog.records() : 0);
  }
}

void Chain::live(std::size_t images) {
  options_ = random_options();
  body_bytes_max_ = random_.one_in(3) ? 20'000 : 300;
  disk_->start_trace();
  Worlds worlds;
  run(worlds);
  if (::testing::Test::HasFailure()) return;
  const std::size_t entries = disk_->trace().size();
  std::vector<std::size_t> cuts(images);
  for (std::size_t& cut : cuts) cut = random_.below(entries + 1);
  std::sort(cuts.begin(), cuts.end());
  const auto past = disk_->replay_until(0);
  std::unique_ptr<SimDisk> next;
  const std::size_t chosen = random_.below(images);
  for (std::size_t i = 0; i < images && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("cut at " + std::to_string(cuts[i]) + " of " + std::to_string(entries));
    disk_->replay_more(*past, cuts[i]);
    const ServerPromise promise = promise_of(past->notes());
    const bool is_kill = random_.one_in(4);
    auto image = past->crash(random_, is_kill ? kKill : CrashPolicy{});
    if (i == chosen) next = image->crash(random_, kKill);
    std::optional<std::uint64_t> kept = is_kill ? promise.written : promise.safe;
    if (!is_kill && !has_syncs_) kept.reset();
    check(*worlds[promise.server], std::move(image), kept);
  }
  worlds.clear();
  disk_ = std::move(next);
  wall_ += 2'000'000'000;
  if (is_hurt_ && random_.coin()) hurt();
}

// Changes a bit of a record, unless a server would refuse the folder then.
void Chain::hurt() {
  std::vector<std::string> names;
  ASSERT_EQ(disk_->list(names), DiskStatus::ok);
  std::erase_if(names, [](const std::string& name) { return !binlog_file_number(name); });
  if (names.empty()) return;
  const std::string& name = random_.pick(names);
  const std::string bytes = disk_->bytes_of(name);
  const std::size_t end = bytes.find_last_not_of('\0') + 1;
  if (end <= kFirstRecordOffset) return;
  auto hurt = disk_->crash(random_, kKill);
  hurt->flip(name, random_.between(kFirstRecordOffset, end - 1));
  const auto trial = hurt->crash(random_, kKill);
  if (!World(*trial, options_, wall_, true, nullptr, next_epoch()).is_open()) return;
  disk_ = std::move(hurt);
  was_hurt_ = true;
}

// Starts a server on the image three times, and crashes the first two at any step of their start.
// `safe`: number of records that survive; null: unknown.
void Chain::check(const World& world, std::unique_ptr<SimDisk> image,
                  std::optional<std::uint64_t> safe) {
  std::map<JobId, KnownJob> first;
  std::string found;
  for (int start = 0; start < 3; ++start) {
    if (!was_hurt_) leftovers_.count_names(*image);
    image->start_trace();
    {
      const FolderNote note = image->folder_note();
      const World again(*image, options_, wall_, true, nullptr, next_epoch());
      ++starts_;
      ASSERT_TRUE(again.is_open()) << "refused at start " << start << ": " << again.error << '\n'
                                   << found << "and then\n"
                                   << again.replay_text();
      if (has_promises()) {
        EXPECT_TRUE(again.binlog.replayed().is_sound()) << found << again.replay_text();
      }
      const auto now = all_jobs(again.engine, again.wall_offset);
      if (start == 0) {
        if (!was_hurt_) leftovers_.count_files(note, again.binlog.replayed());
        if (safe) {
          ASSERT_EQ(world.compare(again, *safe), "") << again.replay_text();
        }
        first = now;
      }
      found += again.replay_text();
      // Without syncs, a removed file may be back that a server with an epoch skips at one start.
      if (has_syncs_ || !has_epochs_) {
        ASSERT_TRUE(now == first) << "start " << start << " finds other jobs\n" << found;
      }
    }
    if (start == 0 && random_.one_in(16)) kill_at_each_step(*image, first);
    const auto past = image->replay_until(random_.below(image->trace().size() + 1));
    image = past->crash(random_, has_syncs_ && random_.coin() ? CrashPolicy{} : kKill);
  }
}

// Kills the start that the trace of the image has, in front of each of its steps. The next start
// finds the same jobs.
void Chain::kill_at_each_step(const SimDisk& image, const std::map<JobId, KnownJob>& jobs) {
  const auto past = image.replay_until(0);
  for (std::size_t step = 0; step <= image.trace().size(); ++step) {
    image.replay_more(*past, step);
    const auto killed = past->crash(random_, kKill);
    if (!was_hurt_) leftovers_.count_names(*killed);
    const World again(*killed, options_, wall_, true, nullptr, next_epoch());
    ++starts_;
    ++kills_;
    ASSERT_TRUE(again.is_open()) << "refused after step " << step << ": " << again.error;
    const bool has_same = all_jobs(again.engine, again.wall_offset) == jobs;
    ASSERT_TRUE(has_same || (!has_syncs_ && has_epochs_)) << again.replay_text();
  }
}

constexpr std::uint64_t kUsualImages = 600;

std::uint64_t number_of_images() {
  const char* given = std::getenv("HARICOT_IMAGES");
  return given == nullptr ? kUsualImages : std::strtoull(given, nullptr, 10);
}

TEST(CrashImages, AreAcceptedAndLackNoSafeJob) {
  constexpr std::size_t kLives = 4;
  constexpr std::size_t kImagesOfALife = 12;
  const std::uint64_t first = test::seed_of_this_run();
  Leftovers leftovers;
  std::uint64_t images = 0;
  std::uint64_t starts = 0;
  std::uint64_t kills = 0;
  for (std::uint64_t seed = first; images < number_of_images() && !HasFailure(); ++seed) {
    Chain chain(seed, leftovers);
    for (std::size_t life = 0; life < kLives && !HasFailure(); ++life) {
      SCOPED_TRACE("HARICOT_SEED=" + std::to_string(seed) + ", " + chain.text() + ", life " +
                   std::to_string(life));
      chain.live(kImagesOfALife);
      images += kImagesOfALife;
    }
    starts += chain.starts();
    kills += chain.kills();
  }
  std::printf("%" PRIu64 " images, %" PRIu64 " starts, %" PRIu64 " of them after a killed one",
              images, starts, kills);
  for (std::size_t i = 0; i < kLeftovers.size(); ++i) {
    std::printf(", %" PRIu64 " %s", leftovers.seen(i), kLeftovers[i]);
    EXPECT_TRUE(leftovers.seen(i) > 0 || images < kUsualImages) << kLeftovers[i];
  }
  std::printf("\n");
}

}  // namespace
}  // namespace haricot::binlog
