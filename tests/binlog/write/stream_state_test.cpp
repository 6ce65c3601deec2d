#include "haricot/binlog/write/stream_state.hpp"

#include <gtest/gtest.h>

#include "binlog/parts_world.hpp"

namespace haricot::binlog {
namespace {

TEST(StreamState, TheOldestNeededFileIsNeitherRemovedNorSkipped) {
  PartsWorld world;
  const StreamState& state = world.stream.state();
  EXPECT_EQ(state.oldest_needed(), 0U);
  for (const std::uint64_t number : {3U, 4U, 5U}) world.state.segments->add(number);
  EXPECT_EQ(state.oldest_needed(), 3U);
  world.disk.set_sync_mode(SyncMode::when_told);
  world.stream.sync_line().remove_first("binlog.3", true);
  EXPECT_EQ(state.oldest_needed(), 4U) << "binlog.3 is being removed";
  world.state.segments->at(1).was_passed_over = true;
  EXPECT_EQ(state.oldest_needed(), 5U);
  world.state.segments->at(2).was_passed_over = true;
  EXPECT_EQ(state.oldest_needed(), 5U) << "the newest file is needed in any case";
}

TEST(StreamState, TheNoteGetsTheFilesAndTheNextId) {
  PartsWorld world;
  EXPECT_EQ(world.stream.state().noted_files().newest, 0U);
  world.begin();
  world.put();
  const NoteWriter::Files files = world.stream.state().noted_files();
  EXPECT_EQ(files.oldest_needed, 1U);
  EXPECT_EQ(files.newest, 1U);
  EXPECT_EQ(files.next_id, world.engine.next_id());
}

TEST(StreamState, TheOldestUnsyncedWriteIsTheFirstOfThreeKinds) {
  PartsWorld world;
  world.begin();
  world.settle();
  world.disk.set_sync_mode(SyncMode::when_told);
  const StreamState& state = world.stream.state();
  EXPECT_EQ(state.oldest_unsynced(), Instant::never());
  const Instant first = world.state.now;
  world.stream.progress().begin_to_wait(first + Duration::seconds(3));
  EXPECT_EQ(state.oldest_unsynced(), first + Duration::seconds(3)) << "no sync was requested";
  world.stream.sync_line().sync_file(world.stream.writer().file(), 1, false,
                                     first + Duration::seconds(2));
  EXPECT_EQ(state.oldest_unsynced(), first + Duration::seconds(2)) << "its sync is in line";
  world.stream.progress().doubt_since(first + Duration::seconds(1));
  EXPECT_EQ(state.oldest_unsynced(), first + Duration::seconds(1)) << "it is in doubt";
}

}  // namespace
}  // namespace haricot::binlog
