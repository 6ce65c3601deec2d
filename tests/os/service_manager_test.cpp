#include "os/service_manager.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "os/clock.hpp"
#include "support/notify_socket.hpp"
#include "support/temporary_folder.hpp"

namespace haricot::os {
namespace {

using test::NotifySocket;
using Messages = std::vector<std::string>;

class NotifierTest : public ::testing::Test {
 protected:
  ~NotifierTest() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  }
  void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
  void listen_on(const std::string& name) {
    ASSERT_TRUE(manager_.open(name));
    set("NOTIFY_SOCKET", name);
  }

  test::TemporaryFolder folder_;
  const std::string path_ = folder_.file("notify");
  NotifySocket manager_;
  Notifier notifier_;
  std::string error_;
};

TEST_F(NotifierTest, SendsNothingUnlessRequested) {
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  EXPECT_FALSE(notifier_.is_open());
  notifier_.ready("serving");
  notifier_.stopping();
  EXPECT_EQ(notifier_.next_keep_alive(), Instant::never());
}

TEST_F(NotifierTest, WritesToAPath) {
  listen_on(path_);
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  notifier_.ready("serving");
  notifier_.status("drain mode");
  notifier_.stopping();
  EXPECT_EQ(manager_.receive_all(), (Messages{"READY=1\nSTATUS=serving\n", "STATUS=drain mode\n",
                                              "STOPPING=1\nSTATUS=stopping\n"}));
}

TEST_F(NotifierTest, WritesToAnAbstractName) {
  listen_on("@haricot-notify-test-" + std::to_string(::getpid()));
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  notifier_.ready("serving");
  EXPECT_EQ(manager_.receive_all(), Messages{"READY=1\nSTATUS=serving\n"});
}

TEST_F(NotifierTest, AnAbstractNameMayFillTheWholeAddress) {
  std::string name = "@haricot-notify-test-" + std::to_string(::getpid()) + "-";
  name.append(sizeof(sockaddr_un::sun_path) - name.size(), 'x');
  listen_on(name);
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  notifier_.ready("serving");
  EXPECT_EQ(manager_.receive_all().size(), 1u);
}

TEST_F(NotifierTest, TakesItsVariablesOutOfTheEnvironment) {
  listen_on(path_);
  set("WATCHDOG_USEC", "1000000");
  set("WATCHDOG_PID", std::to_string(::getpid()));
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    EXPECT_EQ(std::getenv(name), nullptr) << name;
  }
}

TEST_F(NotifierTest, ReportsAnInvalidAddress) {
  for (const std::string& name : {std::string("notify"), std::string("vsock:2:1234"),
                                  std::string("@"), "/" + std::string(107, 'x')}) {
    set("NOTIFY_SOCKET", name);
    EXPECT_FALSE(notifier_.open(error_)) << name;
    EXPECT_NE(error_.find(name), std::string::npos) << error_;
  }
}

TEST_F(NotifierTest, ReportsAMissingSocket) {
  set("NOTIFY_SOCKET", path_);
  EXPECT_FALSE(notifier_.open(error_));
  EXPECT_NE(error_.find("No such file"), std::string::npos) << error_;
  notifier_.ready("serving");
}

TEST_F(NotifierTest, AStatusIsOneLine) {
  listen_on(path_);
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  notifier_.status("one\nREADY=1");
  EXPECT_EQ(manager_.receive_all(), Messages{"STATUS=one READY=1\n"});
}

TEST_F(NotifierTest, ALongStartAsksForMoreTime) {
  listen_on(path_);
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  notifier_.takes_time("40 % read");
  EXPECT_EQ(manager_.receive_all(), Messages{"EXTEND_TIMEOUT_USEC=60000000\nSTATUS=40 % read\n"});
}

TEST_F(NotifierTest, TheWatchdogHearsTwiceInItsInterval) {
  listen_on(path_);
  set("WATCHDOG_USEC", "3000000");
  set("WATCHDOG_PID", std::to_string(::getpid()));
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  const Instant begin = read_clock();
  notifier_.keep_alive(begin);
  EXPECT_EQ(manager_.receive_all(), Messages{"WATCHDOG=1\n"});
  EXPECT_EQ(notifier_.next_keep_alive(), begin + Duration::milliseconds(1500));
  notifier_.keep_alive(begin + Duration::milliseconds(1499));
  EXPECT_EQ(manager_.receive_all(), Messages{});
  notifier_.keep_alive(begin + Duration::milliseconds(1500));
  EXPECT_EQ(manager_.receive_all(), Messages{"WATCHDOG=1\n"});
}

TEST_F(NotifierTest, AWatchdogWithoutAProcessIsOurs) {
  listen_on(path_);
  set("WATCHDOG_USEC", "3000000");
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  EXPECT_NE(notifier_.next_keep_alive(), Instant::never());
}

TEST_F(NotifierTest, AWatchdogForAnotherProcessIsNotOurs) {
  listen_on(path_);
  set("WATCHDOG_USEC", "3000000");
  set("WATCHDOG_PID", std::to_string(::getpid() + 1));
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  EXPECT_EQ(notifier_.next_keep_alive(), Instant::never());
}

TEST_F(NotifierTest, AnIntervalThatIsNoneIsNoWatchdog) {
  for (const char* interval : {"0", "-5", "1x", "99999999999999999999", "18446744073709551615"}) {
    listen_on(path_);
    set("WATCHDOG_USEC", interval);
    Notifier notifier;
    ASSERT_TRUE(notifier.open(error_)) << error_;
    EXPECT_EQ(notifier.next_keep_alive(), Instant::never()) << interval;
  }
}

// Fills the socket until the kernel accepts no more.
void fill(Notifier& notifier) {
  for (int i = 0; i < 5000; ++i) notifier.status("full");
}

TEST_F(NotifierTest, AManagerThatDoesNotReadCostsAStatusNothing) {
  listen_on(path_);
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  const Instant begin = read_clock();
  fill(notifier_);
  EXPECT_LT(read_clock() - begin, Duration::seconds(30));
  const std::size_t received = manager_.receive_all().size();
  EXPECT_GT(received, 0u);
  EXPECT_LT(received, 5000u);
}

TEST_F(NotifierTest, ReadyWaitsForAManagerThatIsBusy) {
  listen_on(path_);
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  fill(notifier_);
  // Reads only while the notifier presumably waits; the message must arrive in any case.
  std::thread reader([&] {
    ::usleep(50'000);
    const auto messages = manager_.receive_until("READY=1");
    ASSERT_FALSE(messages.empty());
    EXPECT_EQ(messages.back(), "READY=1\nSTATUS=serving\n");
  });
  notifier_.ready("serving");
  reader.join();
}

TEST_F(NotifierTest, FindsAManagerThatCameBack) {
  listen_on(path_);
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  manager_.close();
  notifier_.status("nobody hears this");
  ASSERT_TRUE(manager_.open(path_));
  notifier_.ready("serving");
  EXPECT_EQ(manager_.receive_all(), Messages{"READY=1\nSTATUS=serving\n"});
}

TEST_F(NotifierTest, GivesADescriptorToTheManagerToKeep) {
  listen_on(path_);
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  const test::TemporaryFolder folder;
  const Descriptor file(::open(folder.file("kept").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(notifier_.store("parcel-state", file.get()));
  notifier_.remove_stored("parcel-state");

  int number = -1;
  EXPECT_EQ(manager_.receive_with_descriptor(number), "FDSTORE=1\nFDNAME=parcel-state\nFDPOLL=0\n");
  const Descriptor kept(number);
  ASSERT_TRUE(kept);
  EXPECT_EQ(::write(kept.get(), "x", 1), 1);
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_END), 1) << "another file";
  EXPECT_EQ(manager_.receive(), "FDSTOREREMOVE=1\nFDNAME=parcel-state\n");
}

TEST_F(NotifierTest, WaitsUntilTheManagerHasReadEverything) {
  listen_on(path_);
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  notifier_.status("one");
  std::vector<std::string> read;
  std::thread manager([&] {
    for (int number = -1; read.size() < 2;) {
      read.push_back(manager_.receive_with_descriptor(number).value_or("none"));
      const Descriptor barrier(number);
    }
  });
  EXPECT_TRUE(notifier_.wait_until_read());
  manager.join();
  EXPECT_EQ(read, (Messages{"STATUS=one\n", "BARRIER=1"}));
}

TEST_F(NotifierTest, CanStoreNothingWhereThereIsNoManager) {
  ASSERT_TRUE(notifier_.open(error_)) << error_;
  EXPECT_FALSE(notifier_.store("parcel-state", STDERR_FILENO));
  EXPECT_FALSE(notifier_.wait_until_read());
}

}  // namespace
}  // namespace haricot::os
