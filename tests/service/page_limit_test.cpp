#include "haricot/service/page_limit.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace haricot {
namespace {

class PageLimitTest : public ::testing::Test {
 protected:
  struct OwnSession : Session {
    OwnSession() : Session(nullptr, CommandSet::extended, Instant::at(1'000'000'000)) {}
  };

  PageLimitTest() {
    held_ = Memory::allocate(Memory::kOwnBytes + 1);
    Memory::limit(1);
    EXPECT_TRUE(Memory::is_at_limit());
  }
  ~PageLimitTest() override {
    Memory::limit(SIZE_MAX);
    Memory::free(held_);
  }

  PageLimit limit;
  std::array<OwnSession, PageLimit::kPagesMax + 1> sessions;

 private:
  void* held_ = nullptr;
};

TEST_F(PageLimitTest, FewPagesArePendingAtTheMemoryLimit) {
  for (std::uint32_t i = 0; i < PageLimit::kPagesMax; ++i) {
    EXPECT_EQ(limit.free_pages(), PageLimit::kPagesMax - i);
    limit.begin(sessions[i]);
    limit.begin(sessions[i]);
  }
  EXPECT_EQ(limit.free_pages(), 0U);
  limit.begin(sessions.back());
  EXPECT_EQ(limit.free_pages(), 0U);
  limit.remove(sessions[0]);
  EXPECT_EQ(limit.free_pages(), 0U) << "one was begun before the limit was reached";
  limit.remove(sessions[1]);
  limit.remove(sessions[1]);
  EXPECT_EQ(limit.free_pages(), 1U);
}

TEST_F(PageLimitTest, IsUnlimitedBelowTheMemoryLimit) {
  for (Session& session : sessions) limit.begin(session);
  Memory::limit(SIZE_MAX);
  EXPECT_EQ(limit.free_pages(), PageLimit::kPagesMax);
}

TEST_F(PageLimitTest, APageEndsWhenItIsSent) {
  Session& session = sessions[0];
  limit.begin(session);
  ASSERT_TRUE(session.output().add_text("page"));
  limit.end_if_sent(session);
  EXPECT_EQ(limit.free_pages(), PageLimit::kPagesMax - 1);
  session.output().consume(4);
  session.list = std::make_unique<Session::LongList>();
  limit.end_if_sent(session);
  EXPECT_EQ(limit.free_pages(), PageLimit::kPagesMax - 1) << "more of it is to come";
  session.list.reset();
  limit.end_if_sent(session);
  EXPECT_EQ(limit.free_pages(), PageLimit::kPagesMax);
  limit.end_if_sent(session);
  EXPECT_EQ(limit.free_pages(), PageLimit::kPagesMax);
}

}  // namespace
}  // namespace haricot
