#include "haricot/queue/queue_state.hpp"

#include "queue/parts.hpp"

namespace haricot {
namespace {

class QueueStateTest : public test::Parts {};

TEST_F(QueueStateTest, FreesATubeThatNothingNeeds) {
  Tube* const other = state.tubes.find_or_create("other");
  ASSERT_NE(other, nullptr);
  ++other->tasks;
  state.free_if_unreferenced(*other);
  EXPECT_EQ(state.tubes.find("other"), other);
  --other->tasks;
  state.free_if_unreferenced(*other);
  EXPECT_EQ(state.tubes.find("other"), nullptr);
  state.free_if_unreferenced(tube);
  EXPECT_EQ(state.tubes.find("default"), &tube);
}

TEST_F(QueueStateTest, ATimerIsNeverLaterThanItHasToBe) {
  make_delayed(Duration::seconds(9));
  EXPECT_EQ(tube.timer.deadline(), state.now + Duration::seconds(9));
  tube.paused = true;
  tube.pause_end = state.now + Duration::seconds(5);
  state.arm_tube(tube);
  EXPECT_EQ(tube.timer.deadline(), tube.pause_end);
  tube.paused = false;
  state.arm_tube(tube);
  EXPECT_LE(tube.timer.deadline(), state.now + Duration::seconds(9));
  tube.is_behind = true;
  state.arm_tube(tube);
  EXPECT_EQ(tube.timer.deadline(), state.now);
  tube.is_behind = false;
}

}  // namespace
}  // namespace haricot
