// A restart under a service manager that keeps descriptors: connections, reservations, waits,
// bodies that are under way and answers that nobody has read go on in the next process.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "notify_socket.hpp"
#include "support/daemon_fixture.hpp"

namespace haricot::test {
namespace {

using Client = std::unique_ptr<WireClient>;

// Does what systemd does: keeps descriptors under their names, and passes them at the next start.
class Manager {
 public:
  Manager() = default;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  [[nodiscard]] bool open(const std::string& name) { return socket_.open(name); }

  // Takes in what the server has to give, until it has ended.
  void keep_all(ServerProcess& server) {
    ASSERT_TRUE(server.signal(SIGTERM));
    for (;;) {
      int descriptor = -1;
      const auto message = socket_.receive_with_descriptor(descriptor);
      ASSERT_TRUE(message.has_value()) << "no barrier came";
      if (*message == "BARRIER=1") {
        ::close(descriptor);
        break;
      }
      if (!has_line(*message, "FDSTORE=1")) continue;
      const std::size_t name = message->find("FDNAME=") + 7;
      kept_.push_back({message->substr(name, message->find('\n', name) - name), descriptor});
    }
    EXPECT_EQ(server.wait_exit(), (ExitStatus{.code = 0})) << server.standard_error();
  }
  void drop_all() {
    for (const Kept& one : kept_) {
      if (one.descriptor >= 0) ::close(one.descriptor);
    }
    kept_.clear();
  }
  ~Manager() { drop_all(); }
  std::size_t kept() const { return kept_.size(); }
  void answer_barrier() {
    for (;;) {
      int barrier = -1;
      const auto message = socket_.receive_with_descriptor(barrier);
      if (barrier >= 0) ::close(barrier);
      if (!message || *message == "BARRIER=1") return;
    }
  }
  // Another state takes the place of the one that was given.
  void exchange_state() {
    for (Kept& one : kept_) {
      if (one.name != "parcel-state") continue;
      const int other = ::memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
      const std::string bytes = std::string("\1\0\0\0", 4) + std::string(100, 'x');
      EXPECT_EQ(::write(other, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
      constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
      EXPECT_EQ(::fcntl(other, F_ADD_SEALS, kSeals), 0);
      ::close(std::exchange(one.descriptor, other));
    }
  }

  ServerOptions passing(ServerOptions options) const {
    std::string names;
    for (const Kept& one : kept_) {
      names += (names.empty() ? "" : ":") + one.name;
      options.descriptors.push_back(one.descriptor);
    }
    options.launcher = {"/bin/sh", "-c",
                        "export LISTEN_PID=$$ LISTEN_FDS=" + std::to_string(kept_.size()) +
                            " LISTEN_FDNAMES=" + names + "; exec \"$0\" \"$@\""};
    return options;
  }
  // How many the server does not need any more, when it has said so of all. It does with them as it
  // is told, or, if it has not heard it, keeps them.
  std::size_t count_forgotten(bool has_heard = true) {
    std::size_t forgotten = 0;
    for (;;) {
      int barrier = -1;
      const auto message = socket_.receive_with_descriptor(barrier);
      if (barrier >= 0) ::close(barrier);
      if (!message) return 0;
      if (!has_line(*message, "FDSTOREREMOVE=1")) continue;
      for (Kept& one : kept_) {
        const bool is_named = has_line(*message, "FDNAME=" + one.name);
        if (is_named && has_heard) ::close(std::exchange(one.descriptor, -1));
      }
      if (++forgotten == kept_.size()) return forgotten;
    }
  }

 private:
  struct Kept {
    std::string name;
    int descriptor;
  };

  NotifySocket socket_;
  std::vector<Kept> kept_;
};

class HandOver : public DaemonTest {
 protected:
  ServerOptions managed(std::vector<std::string> arguments = {}) {
    ServerOptions options = options_with(std::move(arguments));
    options.environment = {"NOTIFY_SOCKET=" + folder_.file("notify")};
    return options;
  }
  void start_first(std::vector<std::string> arguments = {}) {
    ASSERT_TRUE(manager_.open(folder_.file("notify")));
    arguments_ = std::move(arguments);
    ASSERT_TRUE(start_with(managed(arguments_))) << server_.failure();
    port_ = server_.port();
    address_ = {"-l", "127.0.0.1", "-p", std::to_string(port_)};
  }
  // The same server again, with what the manager has kept.
  void restart() {
    manager_.keep_all(server_);
    std::vector<std::string> words = address_;
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    ASSERT_TRUE(server_.launch(manager_.passing(managed(words)))) << server_.failure();
    ASSERT_EQ(manager_.count_forgotten(), manager_.kept()) << server_.standard_error();
    manager_.drop_all();
  }

  Manager manager_;
  std::vector<std::string> arguments_;
  std::vector<std::string> address_;
  std::uint16_t port_ = 0;
};

TEST_F(HandOver, ConnectionsJobsAndWaitsGoOn) {
  start_first();
  const Client producer = connect();
  const Client worker = connect();
  const Client waiting = connect();
  const Client in_line = connect();
  const Client in_body = connect();
  ASSERT_EQ(producer->ask("use work"), "USING work\r\n");
  ASSERT_EQ(producer->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(producer->ask("put 1 100 60 3\r\ntwo"), "INSERTED 2\r\n");
  ASSERT_EQ(worker->ask("watch work"), "WATCHING 2\r\n");
  ASSERT_EQ(worker->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  ASSERT_EQ(waiting->ask("watch work"), "WATCHING 2\r\n");
  ASSERT_TRUE(waiting->send_line("reserve"));
  ASSERT_TRUE(in_line->send("stats-jo"));
  const std::string body(60'000, 'b');
  ASSERT_TRUE(in_body->send("put 0 0 60 60000\r\n" + body.substr(0, 40'000)));
  // They are all with the server: it answers those that came later.
  ASSERT_EQ(producer->ask("stats-job 1").find("NOT_FOUND"), std::string::npos);

  restart();

  EXPECT_EQ(in_line->ask("b 9"), "NOT_FOUND\r\n");
  EXPECT_EQ(producer->put("three"), "INSERTED 4\r\n");
  EXPECT_EQ(waiting->read_answer(), "RESERVED 4 5\r\nthree\r\n");
  EXPECT_EQ(worker->ask("delete 1"), "DELETED\r\n");
  ASSERT_TRUE(in_body->send(body.substr(40'000) + "\r\n"));
  EXPECT_EQ(in_body->read_answer(), "INSERTED 3\r\n");
  EXPECT_EQ(producer->ask("peek 2"), "FOUND 2 3\r\ntwo\r\n");
  EXPECT_EQ(producer->ask("kick 10"), "KICKED 1\r\n");
  WireClient another;
  ASSERT_TRUE(another.connect_tcp(port_)) << "the listener is gone";
  EXPECT_EQ(another.ask("list-tube-used"), "USING default\r\n");
}

TEST_F(HandOver, TheBinlogHasTheBodies) {
  start_first({"-b", folder_.path()});
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->put("two"), "INSERTED 2\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  restart();
  EXPECT_EQ(client->ask("bury 1 0"), "BURIED\r\n") << "it is not held any more";
  EXPECT_EQ(client->ask("reserve"), "RESERVED 2 3\r\ntwo\r\n");
  restart();
  EXPECT_EQ(client->ask("delete 2"), "DELETED\r\n");
  EXPECT_EQ(client->ask("peek-buried"), "FOUND 1 3\r\none\r\n");
}

TEST_F(HandOver, AnswersThatNobodyHasReadComeAfterIt) {
  start_first();
  const Client client = connect();
  const std::string body(65'000, 'x');
  ASSERT_EQ(client->ask("put 0 0 60 65000\r\n" + body), "INSERTED 1\r\n");
  constexpr int kPeeks = 200;
  for (int i = 0; i < kPeeks; ++i) ASSERT_TRUE(client->send_line("peek 1"));
  restart();
  for (int i = 0; i < kPeeks; ++i) {
    ASSERT_EQ(client->read_answer(), "FOUND 1 65000\r\n" + body + "\r\n") << i;
  }
  EXPECT_EQ(client->ask("list-tube-used"), "USING default\r\n");
}

TEST_F(HandOver, AFolderOfOthersKeepsItsJobsAndTheConnectionsGoOn) {
  start_first({"-b", folder_.path()});
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  TemporaryFolder other;
  arguments_ = {"-b", other.path()};
  restart();
  EXPECT_EQ(client->ask("delete 1"), "NOT_FOUND\r\n");
  EXPECT_EQ(client->put("new"), "INSERTED 2\r\n");
  const std::string said = server_.standard_error();
  EXPECT_NE(said.find("hand-over-refused"), std::string::npos) << said;
}

TEST_F(HandOver, AStartThatEndsInTheMiddleTakesNothingAway) {
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  ASSERT_EQ(client->ask("reserve"), "RESERVED 1 3\r\none\r\n");
  manager_.keep_all(server_);
  // One cannot listen, and ends; another one is killed.
  ASSERT_TRUE(server_.launch(manager_.passing(managed({"-l", "203.0.113.1", "-p", "1"}))));
  EXPECT_EQ(server_.wait_exit(), (ExitStatus{.code = 111})) << server_.standard_error();
  ASSERT_TRUE(server_.launch(manager_.passing(managed(address_))));
  ASSERT_EQ(manager_.count_forgotten(false), manager_.kept()) << server_.standard_error();
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
  server_.kill_hard();
  // The manager has not heard that it need not keep them, and begins again.
  ASSERT_TRUE(server_.launch(manager_.passing(managed(address_))));
  ASSERT_EQ(manager_.count_forgotten(), manager_.kept()) << server_.standard_error();
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
}

TEST_F(HandOver, AStateThatIsDamagedIsForgottenAndTheServerServes) {
  start_first();
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  manager_.keep_all(server_);
  manager_.exchange_state();
  ASSERT_TRUE(server_.launch(manager_.passing(managed(address_))));
  ASSERT_EQ(manager_.count_forgotten(), manager_.kept()) << server_.standard_error();
  manager_.answer_barrier();
  EXPECT_TRUE(client->at_eof());
  WireClient another;
  ASSERT_TRUE(eventually([&] { return another.connect_tcp(port_); })) << server_.standard_error();
  EXPECT_EQ(another.ask("peek 1"), "NOT_FOUND\r\n");
  const std::string said = server_.standard_error();
  EXPECT_NE(said.find("the state is damaged"), std::string::npos) << said;
}

TEST_F(HandOver, CanBeSwitchedOff) {
  start_first({"--no-hand-over"});
  const Client client = connect();
  ASSERT_EQ(client->put("one"), "INSERTED 1\r\n");
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  EXPECT_FALSE(client->send_line("stats") && client->read_line().has_value());
}

}  // namespace
}  // namespace haricot::test
