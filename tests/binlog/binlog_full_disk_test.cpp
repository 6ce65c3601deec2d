// Crashes of a server on a full disk.

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "binlog_world.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace haricot::binlog {
namespace {

// There is no space to record that the oldest file is not needed, but it has to be removed. If the
// server is killed then, or loses power, no file counts as missing in its folder.
TEST(BinlogFullDisk, NoFileIsMissingAfterACrash) {
  test::Random random;
  int removals = 0;
  constexpr int kRuns = test::kIsSanitized ? 8 : 40;
  for (int run = 0; run < kRuns; ++run) {
    SimDisk disk;
    disk.set_capacity(65536);
    disk.set_sync_mode(run % 2 == 0 ? SyncMode::at_once : SyncMode::when_told);
    BinlogOptions options = kSmallFiles;
    options.sync = run % 4 < 2 ? SyncPolicy::every_turn : SyncPolicy::interval;
    World world(disk, options);
    std::vector<JobId> ids;
    for (int i = 0; i < 800; ++i) {
      const JobId id = world.engine.next_id();
      const Outcome outcome = world.try_put({.body_bytes = random.below(300)});
      if (outcome == Outcome::done) ids.push_back(id);
      if (!ids.empty() && (outcome != Outcome::done || random.one_in(10))) {
        const std::size_t place = random.below(ids.size());
        if (world.delete_job(ids[place]) == Outcome::done) {
          ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place));
        }
      }
      world.end_turn();
      if (random.one_in(3)) disk.complete_syncs(1);
      if (i < 200 || !random.one_in(20)) continue;
      const bool is_kill = random.one_in(2);
      // Without a journal of names, a crash may lose the name of one file and keep that of the
      // next.
      const CrashPolicy policy = is_kill ? CrashPolicy{Unsynced::kept, UnsyncedNames::kept}
                                         : CrashPolicy{Unsynced::any, UnsyncedNames::in_order};
      const auto crashed = disk.crash(random, policy);
      crashed->set_capacity(std::nullopt);
      removals += !crashed->has("binlog.1");
      const World again(*crashed, options, world.wall());
      for (const Problem& problem : again.binlog.replayed().problems) {
        ASSERT_NE(problem.kind, Problem::Kind::unfit)
            << to_sentence(problem) << (is_kill ? " after a kill" : " after a loss of power");
      }
    }
  }
  EXPECT_GT(removals, 100);
}

}  // namespace
}  // namespace haricot::binlog
