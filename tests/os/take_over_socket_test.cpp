// Both ends of a take-over in one process: the messages that each receives.

#include "os/take_over_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "haricot/queue/journal.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/service.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

// A daemon that pauses for any request. `next_` runs in a thread.
class TakeOverSocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string error;
    auto listener = Listener::open_for_messages(path(), "", error);
    ASSERT_TRUE(listener) << error;
    socket_.emplace(std::move(*listener));
    ASSERT_TRUE(daemon_.open(error)) << error;
    ASSERT_TRUE(socket_->attach(daemon_, error)) << error;
  }
  std::string path() const { return folder_.file("next"); }
  // Returns two parts.
  static std::vector<NamedDescriptor> parts() {
    std::vector<NamedDescriptor> result;
    result.push_back({"one", Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC))});
    result.push_back({"two", Descriptor(::open("/dev/zero", O_RDONLY | O_CLOEXEC))});
    return result;
  }

  test::TemporaryFolder folder_;
  ServerInfo info_;
  NoJournal journal_;
  Service service_{info_, journal_, read_clock(), make_hash_key()};
  Log log_{STDERR_FILENO, {.level = Level::error}};
  Notifier notifier_;
  Notifier next_notifier_;  // Used by the thread.
  std::optional<TakeOverSocket> socket_;
  Daemon daemon_{service_, {}, log_, notifier_, 0};
};

TEST_F(TakeOverSocketTest, TheNextOneGetsThePartsAndBothAgree) {
  std::vector<NamedDescriptor> came;
  bool has_agreed = false;
  std::thread next([&] {
    TakeOverRequest request;
    std::string error;
    EXPECT_TRUE(request.ask(path(), came, next_notifier_, error)) << error;
    EXPECT_TRUE(request.is_open());
    has_agreed = request.confirm(error);
    EXPECT_FALSE(request.is_open());
  });
  ASSERT_EQ(daemon_.run(), Daemon::End::paused);
  std::string error;
  EXPECT_TRUE(socket_->give(parts(), Duration::seconds(60), notifier_, error)) << error;
  EXPECT_FALSE(has_agreed) << "the socket is open";
  socket_->close_peer();
  next.join();
  EXPECT_TRUE(has_agreed);
  ASSERT_EQ(came.size(), 2U);
  EXPECT_EQ(came[0].name, "one");
  EXPECT_EQ(came[1].name, "two");
  char byte = 1;
  EXPECT_EQ(::read(came[0].descriptor.get(), &byte, 1), 0);
  EXPECT_EQ(::read(came[1].descriptor.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 0);
}

TEST_F(TakeOverSocketTest, ANextOneThatIsSilentGetsNothingMore) {
  std::string next_error;
  bool has_agreed = true;
  std::atomic<bool> is_given_up = false;
  std::thread next([&] {
    TakeOverRequest request;
    std::vector<NamedDescriptor> came;
    EXPECT_TRUE(request.ask(path(), came, next_notifier_, next_error)) << next_error;
    while (!is_given_up) ::usleep(1000);
    has_agreed = request.confirm(next_error);
  });
  ASSERT_EQ(daemon_.run(), Daemon::End::paused);
  std::string error;
  EXPECT_FALSE(socket_->give(parts(), Duration::milliseconds(20), notifier_, error));
  EXPECT_EQ(error, "the successor does not answer");
  is_given_up = true;
  next.join();
  EXPECT_FALSE(has_agreed);
  EXPECT_EQ(next_error, "the predecessor no longer waits");
}

TEST_F(TakeOverSocketTest, EachHearsWhyTheOtherDoesNotWantTo) {
  std::string next_error;
  std::vector<NamedDescriptor> came;
  std::thread refused([&] {
    TakeOverRequest request;
    EXPECT_FALSE(request.ask(path(), came, next_notifier_, next_error));
  });
  ASSERT_EQ(daemon_.run(), Daemon::End::paused);
  socket_->refuse("not now");
  refused.join();
  EXPECT_EQ(next_error, "the predecessor refuses: not now");
  EXPECT_TRUE(came.empty());

  std::thread refusing([&] {
    TakeOverRequest request;
    EXPECT_TRUE(request.ask(path(), came, next_notifier_, next_error)) << next_error;
    request.refuse("no room here");
  });
  ASSERT_EQ(daemon_.run(), Daemon::End::paused);
  std::string error;
  EXPECT_FALSE(socket_->give(parts(), Duration::seconds(60), notifier_, error));
  EXPECT_EQ(error, "no room here");
  refusing.join();
}

}  // namespace
}  // namespace haricot::os
