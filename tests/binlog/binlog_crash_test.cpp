// Random commands, and a crash after each step that they take on the disk. Afterwards everything
// that was promised is there, and nothing that never was.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "binlog_world.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace haricot::binlog {
namespace {

// A note in the trace is the number of records that survive a loss of power, or kWritten plus the
// number that survive the end of the program alone.
constexpr std::uint64_t kWritten = std::uint64_t{1} << 60;

struct HeldPromise {
  std::uint64_t safe = 0;
  std::uint64_t written = 0;
};

HeldPromise promised(const std::vector<std::uint64_t>& notes) {
  HeldPromise promise;
  for (const std::uint64_t note : notes) {
    if (note >= kWritten) {
      promise.written = std::max(promise.written, note - kWritten);
    } else {
      promise.safe = std::max(promise.safe, note);
    }
  }
  return promise;
}

struct Run {
  BinlogOptions options;
  SyncMode sync_mode = SyncMode::at_once;
  std::size_t body_bytes_max = 0;
  int turns = 0;
  bool is_sound = true;  // No earlier server on this disk ran without syncs.
};

Run random_run(test::Random& random) {
  Run run;
  run.options.file_bytes = random.one_in(2) ? 4096 : 16384;
  run.options.sync = static_cast<SyncPolicy>(random.below(3));
  run.sync_mode = random.one_in(2) ? SyncMode::at_once : SyncMode::when_told;
  run.body_bytes_max = random.one_in(3) ? 20000 : 300;
  run.turns = 40;
  if (random.one_in(2)) {
    run.options.large_body_bytes = 1100 + random.below(6000);
    run.options.slice_bytes = kSectorBytes + random.below(2000);
  }
  return run;
}

std::string to_text(const Run& run) {
  const char* const policies[] = {"every turn", "interval", "never"};
  return std::string(policies[static_cast<int>(run.options.sync)]) + ", " +
         std::to_string(run.options.file_bytes) + " bytes a file, syncs " +
         (run.sync_mode == SyncMode::at_once ? "at once" : "when told") + ", large from " +
         std::to_string(run.options.large_body_bytes) + ", slices of " +
         std::to_string(run.options.slice_bytes);
}

// Plays turns on an open world and notes the promise after each turn.
void play(World& world, const Run& run, test::Random& random) {
  struct Written {
    Instant at;
    std::uint64_t records;
  };
  std::vector<Written> written;
  SimDisk& disk = world.disk;
  disk.set_sync_mode(run.sync_mode);
  for (int turn = 0; turn < run.turns; ++turn) {
    constexpr std::int64_t kPasses[] = {0, 1, 20, 60, 1500};
    world.pass(Duration::milliseconds(kPasses[random.below(std::size(kPasses))]));
    for (std::uint64_t i = random.below(8); i > 0; --i) {
      EXPECT_TRUE(world.random_command(random, run.body_bytes_max));
    }
    if (random.one_in(3)) disk.complete_syncs(random.below(4));
    world.end_turn();
    written.push_back({world.now, world.binlog.records()});
    std::uint64_t safe = 0;
    if (run.options.sync == SyncPolicy::every_turn) safe = world.binlog.safe_records();
    if (run.options.sync == SyncPolicy::interval && disk.syncs_under_way() == 0) {
      for (const Written& part : written) {
        if (part.at + run.options.sync_interval <= world.now) safe = part.records;
      }
    }
    disk.note(safe);
    disk.note(kWritten + world.binlog.records());
  }
  disk.complete_syncs();
}

// Opens a folder after a crash and compares it, and again after each of two more losses of power.
// All three find the same jobs and no damage.
void check_crashed(const World& world, SimDisk& crashed, const Run& run, std::uint64_t safe,
                   SimDisk::Random& chance) {
  constexpr std::int64_t kDowntime = 700'000'000;
  std::map<JobId, KnownJob> first;
  std::string found;
  const std::int64_t wall = world.wall() + kDowntime;
  std::unique_ptr<SimDisk> left;
  for (int start = 0; start < 3; ++start) {
    SimDisk& disk = start == 0 ? crashed : *left;
    {
      const FolderNote note = disk.folder_note();
      World again(disk, run.options, wall);
      if (run.is_sound && run.options.sync != SyncPolicy::never) {
        ASSERT_TRUE(again.binlog.replayed().is_sound())
            << "start " << start << ", note " << note.run << " before " << note.run_before
            << " newest " << note.newest << " end " << note.end << '\n'
            << found << "and then\n"
            << again.replay_text();
      }
      if (start == 0) {
        ASSERT_EQ(world.compare(again, safe), "") << again.replay_text();
        first = all_jobs(again.engine, again.wall_offset);
      }
      const auto now = all_jobs(again.engine, again.wall_offset);
      for (const auto& [id, job] : first) {
        const auto it = now.find(id);
        ASSERT_TRUE(it != now.end() && it->second == job)
            << "job " << id << " was " << to_text(job) << "\nafter\n"
            << found << "and then\n"
            << (it == now.end() ? "gone" : to_text(it->second)) << "\nafter\n"
            << again.replay_text();
      }
      ASSERT_EQ(now.size(), first.size()) << found << "and then\n" << again.replay_text();
      found += again.replay_text();
    }
    const bool has_power =
        !run.is_sound || run.options.sync == SyncPolicy::never || chance.one_in(2);
    left = disk.crash(chance,
                      has_power ? CrashPolicy{Unsynced::kept, UnsyncedNames::kept} : CrashPolicy{});
  }
}

// Runs one server on a disk and crashes it after each step.
void crash_everywhere(SimDisk& disk, std::int64_t& wall, bool& is_sound, test::Random& random) {
  Run run = random_run(random);
  run.is_sound = is_sound;
  if (run.options.sync == SyncPolicy::never) is_sound = false;
  SCOPED_TRACE(to_text(run));
  SimDisk::Random chance(random.bits());
  disk.start_trace();
  World world(disk, run.options, wall);
  play(world, run, random);
  const auto past = disk.replay_until(0);
  const std::size_t entries = disk.trace().size();
  for (std::size_t cut = 0; cut <= entries && !::testing::Test::HasFailure(); ++cut) {
    SCOPED_TRACE("cut at " + std::to_string(cut) + " of " + std::to_string(entries));
    disk.replay_more(*past, cut);
    const HeldPromise promise = promised(past->notes());
    // With `never`, only the end of the program can be survived.
    const bool survives_power = run.options.sync != SyncPolicy::never;
    if (survives_power) {
      const auto torn = past->crash(chance);
      check_crashed(world, *torn, run, promise.safe, chance);
    } else {
      // Anything may be lost, but the next server starts, and the one after it.
      for (auto torn = past->crash(chance); torn != nullptr && !::testing::Test::HasFailure();) {
        { const World again(*torn, run.options, world.wall()); }
        torn = chance.one_in(2) ? torn->crash(chance) : nullptr;
      }
    }
    if (cut % 4 == 0 || cut == entries) {
      const auto killed = past->crash(chance, {Unsynced::kept, UnsyncedNames::kept});
      check_crashed(world, *killed, run, promise.written, chance);
    }
  }
  wall = world.wall();
}

TEST(BinlogCrash, KeepsPromisesAtEveryStep) {
  test::Random random;
  constexpr int kDisks = test::kIsSanitized ? 2 : 12;
  constexpr int kLives = 3;
  for (int i = 0; i < kDisks && !HasFailure(); ++i) {
    auto disk = std::make_unique<SimDisk>();
    std::int64_t wall = kWallBegin;
    bool is_sound = true;
    for (int life = 0; life < kLives && !HasFailure(); ++life) {
      SCOPED_TRACE("disk " + std::to_string(i) + ", life " + std::to_string(life));
      crash_everywhere(*disk, wall, is_sound, random);
      SimDisk::Random chance(random.bits());
      disk = disk->crash(chance);
      wall += 2'000'000'000;
    }
  }
}

}  // namespace
}  // namespace haricot::binlog
