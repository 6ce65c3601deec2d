#include "os/connection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

namespace haricot::os {
namespace {

// More than a connection may send.
constexpr std::size_t kMuch = 2 * SendShares::kBytesMax;

// Plays a turn in which this many connections have more to send than they may. Returns the sum of
// the bytes sent.
std::size_t send_all(SendShares& shares, std::size_t connections, std::size_t& least,
                     std::size_t& most) {
  shares.begin_turn();
  std::size_t sent = 0;
  least = SendShares::kBytesMax;
  most = 0;
  for (std::size_t i = 0; i < connections; ++i) {
    const std::size_t share = shares.next(kMuch);
    shares.took(share, true);
    sent += share;
    least = std::min(least, share);
    most = std::max(most, share);
  }
  return sent;
}

TEST(SendShares, FewConnectionsGetMuchEach) {
  SendShares shares;
  std::size_t least = 0;
  std::size_t most = 0;
  for (int turn = 0; turn < 3; ++turn) {
    send_all(shares, SendShares::kBytesOfAllMax / SendShares::kBytesMax, least, most);
    EXPECT_EQ(least, SendShares::kBytesMax);
  }
}

TEST(SendShares, ManyLargeAnswersThatComeAtOnceTakeNoMoreThanTheirPartOfATurn) {
  SendShares shares;
  std::size_t least = 0;
  std::size_t most = 0;
  EXPECT_EQ(send_all(shares, 1000, least, most), SendShares::kBytesOfAllMax);
  EXPECT_EQ(least, 0U);
  // A small answer does not wait for them.
  EXPECT_EQ(shares.next(SendShares::kBytesMin), SendShares::kBytesMin);
  EXPECT_EQ(shares.next(SendShares::kBytesMin + 1), 0U);
}

TEST(SendShares, ManySendersGetEqualShares) {
  SendShares shares;
  std::size_t least = 0;
  std::size_t most = 0;
  for (const std::size_t connections : {20U, 100U, 128U}) {
    send_all(shares, connections, least, most);
    const std::size_t sent = send_all(shares, connections, least, most);
    EXPECT_LE(sent, SendShares::kBytesOfAllMax);
    EXPECT_EQ(most, std::max(SendShares::kBytesOfAllMax / connections, SendShares::kBytesMin));
    EXPECT_EQ(least, most);
  }
  // When most have gone, the rest get large shares again.
  send_all(shares, 2, least, most);
  send_all(shares, 2, least, most);
  EXPECT_EQ(least, SendShares::kBytesMax);
}

// Output that is sent completely does not reduce the shares.
TEST(SendShares, SmallAnswersTakeNothingFromLargeOnes) {
  SendShares shares;
  for (int turn = 0; turn < 3; ++turn) {
    shares.begin_turn();
    for (int i = 0; i < 1000; ++i) shares.took(100, false);
    EXPECT_EQ(shares.next(kMuch), SendShares::kBytesMax);
  }
}

}  // namespace
}  // namespace haricot::os
