// Sources that others add to a daemon. For the daemon as a black box, see daemon_*_test.cpp.

#include "os/daemon.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "child_result.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/queue/journal.hpp"
#include "haricot/service/server_info.hpp"
#include "haricot/service/service.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"
#include "support/fake_journal.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_client.hpp"

namespace haricot::os {
namespace {

using test::WireClient;

// A daemon in this process. Only it receives the signals that end it.
class OwnDaemon : public ::testing::Test {
 public:
  static void end_run() { EXPECT_EQ(::kill(::getpid(), SIGTERM), 0); }

 protected:
  void SetUp() override {
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &mask_), 0);
    std::string error;
    listeners_ = Listener::open("unix:" + socket(), "", error);
    ASSERT_EQ(listeners_.size(), 1U) << error;
  }
  void TearDown() override { EXPECT_EQ(::pthread_sigmask(SIG_SETMASK, &mask_, nullptr), 0); }

  std::string socket() const { return folder_.file("clients"); }
  static void open(Daemon& daemon) {
    std::string error;
    ASSERT_TRUE(daemon.open(error)) << error;
  }

  sigset_t mask_{};
  test::TemporaryFolder folder_;
  std::vector<Listener> listeners_;
  ServerInfo info_;
  NoJournal journal_;
  Service service_{info_, journal_, read_clock(), make_hash_key()};
  Log log_{STDERR_FILENO, {.level = Level::error}};
  Notifier notifier_;
};

// Another kind of listener in one class: it sends the number of jobs and closes.
class CountListener {
 public:
  CountListener(const Service& service, const std::string& path) : service_(service) {
    std::string error;
    listeners_ = Listener::open("unix:" + path, "", error);
    EXPECT_EQ(listeners_.size(), 1U) << error;
    source_.descriptor = listeners_.at(0).descriptor();
  }
  EventSource& source() { return source_; }

 private:
  void answer(EventSource& source, std::uint32_t) {
    const Descriptor client(::accept4(source.descriptor, nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(client);
    const std::string line = std::to_string(service_.engine().jobs().size()) + "\r\n";
    EXPECT_EQ(::send(client.get(), line.data(), line.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size()));
  }

  const Service& service_;
  std::vector<Listener> listeners_;
  const EventHandler on_ready_ = EventHandler::to<&CountListener::answer>(*this);
  EventSource source_{on_ready_, -1};
};

TEST_F(OwnDaemon, ServesAListenerOfAnotherKindBesideItsClients) {
  CountListener counts(service_, folder_.file("counts"));
  Daemon daemon(service_, std::move(listeners_), log_, notifier_, 0);
  open(daemon);
  ASSERT_TRUE(daemon.add_source(counts.source(), EPOLLIN));
  std::thread server([&daemon] { daemon.run(); });
  WireClient client;
  EXPECT_TRUE(client.connect_unix(socket())) << client.failure();
  for (int jobs = 1; jobs <= 3; ++jobs) {
    EXPECT_EQ(client.put("job"), "INSERTED " + std::to_string(jobs) + "\r\n");
    WireClient other;
    EXPECT_TRUE(other.connect_unix(folder_.file("counts"))) << other.failure();
    EXPECT_EQ(other.read_line(), std::to_string(jobs));
    EXPECT_TRUE(other.at_eof());
  }
  end_run();
  server.join();
}

// Two sources that are always ready. The test selects their handler.
struct Pair {
  explicit Pair(Daemon& daemon_of) : daemon(daemon_of) {}

  [[nodiscard]] bool add() {
    return daemon.add_source(first, EPOLLIN) && daemon.add_source(second, EPOLLIN);
  }
  EventSource& other(EventSource& source) { return &source == &first ? second : first; }

  // The first one removes the other, and itself the next time.
  void end_other(EventSource& source, std::uint32_t) {
    called.push_back(&source);
    if (called.size() == 1) {
      daemon.remove_source(other(source));
    } else {
      daemon.remove_source(source);
      OwnDaemon::end_run();
    }
  }
  // Each is silent after its first call until the third call of the other one.
  void take_turns(EventSource& source, std::uint32_t) {
    called.push_back(&source);
    if (called.size() == 1) daemon.change_source(source, 0);
    if (called.size() == 4) daemon.change_source(other(source), EPOLLIN);
    if (called.size() > 4 && &source == called.front()) OwnDaemon::end_run();
  }

  Daemon& daemon;
  std::vector<EventSource*> called;
  EventHandler handler = EventHandler::to<&Pair::end_other>(*this);
  Descriptor first_event{::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)};
  Descriptor second_event{::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)};
  EventSource first{handler, first_event.get()};
  EventSource second{handler, second_event.get()};
};

TEST_F(OwnDaemon, CallsNoSourceThatWasRemovedEvenIfBothWereReady) {
  Daemon daemon(service_, std::move(listeners_), log_, notifier_, 0);
  open(daemon);
  Pair pair(daemon);
  ASSERT_TRUE(pair.add());
  daemon.run();
  ASSERT_EQ(pair.called.size(), 2U);
  EXPECT_EQ(pair.called[0], pair.called[1]);
}

TEST_F(OwnDaemon, CallsASourceForTheEventsOfItsLastChange) {
  Daemon daemon(service_, std::move(listeners_), log_, notifier_, 0);
  open(daemon);
  Pair pair(daemon);
  pair.handler = EventHandler::to<&Pair::take_turns>(pair);
  ASSERT_TRUE(pair.add());
  daemon.run();
  ASSERT_GE(pair.called.size(), 5U);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NE(pair.called[i], pair.called[0]) << i;
}

TEST_F(OwnDaemon, ReportsWhyASourceCannotBeWatched) {
  Daemon daemon(service_, std::move(listeners_), log_, notifier_, 0);
  open(daemon);
  Pair pair(daemon);
  folder_.put("file", "always ready, says epoll");
  const Descriptor file(::open(folder_.file("file").c_str(), O_RDONLY | O_CLOEXEC));
  EventSource source(pair.handler, file.get());
  EXPECT_FALSE(daemon.add_source(source, EPOLLIN));
  EXPECT_EQ(errno, EPERM);
  ASSERT_TRUE(pair.add());  // A failure leaves nothing behind.
  daemon.run();
  EXPECT_EQ(pair.called.size(), 2U);
}

// A process may take long to end if a volume hangs. Its clients must not wait for answers then.
TEST_F(OwnDaemon, EndsItsOtherSourcesTooWhenItIsFenced) {
  CountListener counts(service_, folder_.file("counts"));
  test::TemporaryFolder jobs;
  const int status = result_in_child([&] {
    BinlogFolder binlog({}, Duration::seconds(600), log_, notifier_);
    std::string error;
    if (!binlog.open_folder(jobs.path(), error) || !binlog.take_lock(error)) return 2;
    Daemon daemon(service_, std::move(listeners_), log_, notifier_, 0, &binlog);
    if (!daemon.open(error) || !daemon.add_source(counts.source(), EPOLLIN)) return 3;
    daemon.end_fenced();
  });
  EXPECT_EQ(status, Daemon::kExitFenced);
  // The listener is still open here, so it would accept connections if it was not shut down.
  WireClient client;
  EXPECT_FALSE(client.connect_unix(folder_.file("counts")));
}

// A server that was at rest, and whose clients have all sent a command meanwhile.
class AfterRest : public OwnDaemon {
 protected:
  static constexpr std::size_t kClients = 3 * turn_limits::kEvents;

  // Counts a command of the turn, which is known by the end of the one before.
  static void count(void* self, const Session&, std::string_view) {
    auto& test = *static_cast<AfterRest*>(self);
    ++test.commands_[test.turns_.last_turn];
  }
  void pause(EventSource& source, std::uint32_t) {
    daemon_->remove_source(source);
    daemon_->pause();
  }
  // Runs the daemon during the act, and until its clients were answered.
  template <typename Act>
  void serve_during(Act act) {
    std::thread server([this] { daemon_->run(); });
    act();
    const Descriptor event(::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
    const EventHandler handler = EventHandler::to<&AfterRest::pause>(*this);
    EventSource source(handler, event.get());
    EXPECT_TRUE(daemon_->add_source(source, EPOLLIN));
    server.join();
  }

  test::FakeJournal turns_;
  Service served_{info_, turns_, read_clock(), make_hash_key()};
  std::unique_ptr<Daemon> daemon_;
  std::map<Instant, std::size_t> commands_;
};

TEST_F(AfterRest, ReadsABoundedNumberOfConnectionsInATurnAndFiresNoDeadlineBefore) {
  daemon_ = std::make_unique<Daemon>(served_, std::move(listeners_), log_, notifier_, 0);
  open(*daemon_);
  std::vector<std::unique_ptr<WireClient>> clients;
  serve_during([&] {
    for (std::size_t i = 0; i < kClients; ++i) {
      clients.push_back(std::make_unique<WireClient>());
      ASSERT_TRUE(clients.back()->connect_unix(socket())) << clients.back()->failure();
      ASSERT_EQ(clients.back()->ask("use t"), "USING t\r\n");
    }
    ASSERT_EQ(clients.back()->put("job", 0, 0, 1), "INSERTED 1\r\n");
    ASSERT_EQ(clients.back()->ask("reserve-job 1"), "RESERVED 1 3\r\njob\r\n");
  });
  ASSERT_TRUE(daemon_->quiesce(Duration::seconds(1)));
  for (std::size_t i = 0; i + 1 < kClients; ++i) ASSERT_TRUE(clients[i]->send_line("use t"));
  ASSERT_TRUE(clients.back()->send_line("delete 1"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  served_.set_trace({&AfterRest::count, this});
  serve_during([&] {
    for (std::size_t i = 0; i + 1 < kClients; ++i) {
      EXPECT_EQ(clients[i]->read_answer(), "USING t\r\n");
    }
    EXPECT_EQ(clients.back()->read_answer(), "DELETED\r\n");
  });
  EXPECT_EQ(served_.engine().counts().timeouts, 0U);
  EXPECT_GE(commands_.size(), 3U);
  for (const auto& [turn, commands] : commands_) EXPECT_LE(commands, turn_limits::kEvents);
}

}  // namespace
}  // namespace haricot::os
