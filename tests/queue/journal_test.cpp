#include "haricot/queue/journal.hpp"

#include <gtest/gtest.h>

namespace haricot {
namespace {

TEST(NoJournal, HasRoomForEverything) {
  NoJournal journal;
  EXPECT_EQ(journal.take_room_for_put({200, 1U << 30}, {}), JournalStatus::ok);
  EXPECT_EQ(journal.take_room_for_update(Promise::burial), JournalStatus::ok);
  journal.release_room();
  EXPECT_EQ(journal.take_promised_room(
                {.deletions = 1000, .tombstones = {.keys = 1000, .bytes = 90'000}}),
            JournalStatus::ok);
}

TEST(NoJournal, HoldsNoAnswerBack) {
  NoJournal journal;
  const Job job{};
  const JournaledJob journaled{static_cast<JobRef>(1), job, "default", Instant()};
  journal.record(JobChange::put, journaled);
  journal.record(JobChange::update, journaled);
  journal.record_deletion(journaled, nullptr);
  EXPECT_EQ(journal.records(), journal.safe_records());
}

TEST(NoJournal, HasNoStatistics) {
  const NoJournal journal;
  EXPECT_EQ(journal.numbers().oldest_index, 0u);
  EXPECT_EQ(journal.numbers().current_index, 0u);
  EXPECT_EQ(journal.numbers().records_migrated, 0u);
  EXPECT_EQ(journal.numbers().records_written, 0u);
  EXPECT_EQ(journal.numbers().sync_lag_ms(Instant::at(5'000'000'000)), 0u);
  EXPECT_EQ(journal.file_of(static_cast<JobRef>(1)), 0u);
}

}  // namespace
}  // namespace haricot
