#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

// -u: the user of the daemon, without rights of root.

class DaemonUser : public DaemonTest {};

TEST_F(DaemonUser, ItBecomesThatUserInEveryWay) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const passwd* nobody = ::getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  const std::string user = std::to_string(nobody->pw_uid);
  const std::string group = std::to_string(nobody->pw_gid);

  ASSERT_TRUE(start({"-u", "nobody"})) << server_.failure();
  ASSERT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
  // Real, effective, saved, and the one for files.
  EXPECT_EQ(status_words(server_.pid(), "Uid"), std::vector<std::string>(4, user));
  EXPECT_EQ(status_words(server_.pid(), "Gid"), std::vector<std::string>(4, group));
  for (const std::string& id : status_words(server_.pid(), "Groups")) EXPECT_EQ(id, group);
  for (const char* set : {"CapPrm", "CapEff", "CapInh", "CapAmb"}) {
    EXPECT_EQ(status_words(server_.pid(), set), std::vector<std::string>{"0000000000000000"})
        << set;
  }
}

TEST_F(DaemonUser, NamingTheCurrentUserSucceeds) {
  const passwd* self = ::getpwuid(::geteuid());
  ASSERT_NE(self, nullptr);
  ASSERT_TRUE(start({"-u", self->pw_name})) << server_.failure();
  EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
}

// The daemon in its sandbox, from outside: when it enters it, and that all of its functions work
// there.

class DaemonSandbox : public DaemonTest {
 protected:
  void SetUp() override {
    if (kIsSanitized) GTEST_SKIP() << "builds with a sanitizer have no sandbox";
  }

  // Checks /proc of every thread; 2 means a filter.
  static bool all_threads_have(pid_t pid, const std::string& key, const std::string& value) {
    namespace fs = std::filesystem;
    bool all = true;
    for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
      const pid_t id = static_cast<pid_t>(std::stol(thread.path().filename().string()));
      all = all && status_words(id, key) == std::vector<std::string>{value};
    }
    return all;
  }
  // A server listens before it enters the sandbox, and answers only afterwards.
  bool is_sandboxed() {
    EXPECT_EQ(connect()->ask("list-tube-used"), "USING default\r\n");
    return all_threads_have(server_.pid(), "NoNewPrivs", "1") &&
           all_threads_have(server_.pid(), "Seccomp", "2");
  }
  std::size_t threads() {
    return static_cast<std::size_t>(std::stoul(status_words(server_.pid(), "Threads").at(0)));
  }
  bool start_in_environment(const std::string& variable, std::vector<std::string> arguments) {
    ServerOptions options = options_with(std::move(arguments));
    options.environment = {variable};
    return start_with(options);
  }
};

TEST_F(DaemonSandbox, AsRootWithAUserItIsEntered) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  ASSERT_TRUE(start({"-u", "nobody"})) << server_.failure();
  EXPECT_TRUE(is_sandboxed());
  EXPECT_EQ(connect()->put("job"), "INSERTED 1\r\n");
  EXPECT_NE(server_.standard_error().find(" event=sandbox"), std::string::npos);
}

TEST_F(DaemonSandbox, UnderAServiceManagerItIsEntered) {
  for (const char* variable :
       {"INVOCATION_ID=0123456789abcdef0123456789abcdef", "NOTIFY_SOCKET=/nonexistent/notify"}) {
    SCOPED_TRACE(variable);
    ASSERT_TRUE(start_in_environment(variable, {})) << server_.failure();
    EXPECT_TRUE(is_sandboxed());
    EXPECT_EQ(connect()->put("job"), "INSERTED 1\r\n");
    EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  }
}

TEST_F(DaemonSandbox, StartedByHandItIsEnteredOnlyWhenAsked) {
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_TRUE(all_threads_have(server_.pid(), "Seccomp", "0"));
  EXPECT_EQ(server_.standard_error().find("sandbox"), std::string::npos);
  ASSERT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  ASSERT_TRUE(start({"--sandbox"})) << server_.failure();
  EXPECT_TRUE(is_sandboxed());
}

TEST_F(DaemonSandbox, ItCanBeLeftOut) {
  ASSERT_TRUE(start_in_environment("INVOCATION_ID=1", {"--no-sandbox"})) << server_.failure();
  EXPECT_TRUE(all_threads_have(server_.pid(), "NoNewPrivs", "0"));
  EXPECT_TRUE(all_threads_have(server_.pid(), "Seccomp", "0"));
}

TEST_F(DaemonSandbox, EveryCommandWorksInIt) {
  ASSERT_TRUE(start({"--sandbox", "-z", "10000000", "-VV"})) << server_.failure();
  const Client client = connect();
  const std::vector<std::pair<std::string, std::string>> dialogue = {
      {"use t", "USING t"},
      {"watch t", "WATCHING 2"},
      {"put 0 0 60 1\r\nx", "INSERTED 1"},
      {"put 0 100 60 1\r\nx", "INSERTED 2"},
      {"kick-job 2", "KICKED"},
      {"reserve-job 2", "RESERVED 2 1"},
      {"touch 2", "TOUCHED"},
      {"release 2 0 0", "RELEASED"},
      {"reserve-with-timeout 0", "RESERVED 1 1"},
      {"bury 1 0", "BURIED"},
      {"kick 10", "KICKED 1"},
      {"peek 1", "FOUND 1 1"},
      {"peek-ready", "FOUND 1 1"},
      {"peek-delayed", "NOT_FOUND"},
      {"peek-buried", "NOT_FOUND"},
      {"pause-tube t 0", "PAUSED"},
      {"stats", "OK "},
      {"stats-tube t", "OK "},
      {"stats-job 1", "OK "},
      {"list-tubes", "OK "},
      {"list-tube-used", "USING t"},
      {"list-tubes-watched", "OK "},
      {"delete 1", "DELETED"},
      {"ignore default", "WATCHING 1"},
      {"nonsense", "UNKNOWN_COMMAND"},
  };
  for (const auto& [question, answer] : dialogue) {
    EXPECT_TRUE(client->ask(question).starts_with(answer)) << question;
  }
  EXPECT_EQ(client->ask("reserve-with-timeout 1"), "RESERVED 2 1\r\nx\r\n");
  EXPECT_EQ(client->ask("reserve-with-timeout 1"), "TIMED_OUT\r\n");
  EXPECT_EQ(client->put(varied_bytes(9'000'000, 1)).substr(0, 9), "INSERTED ");
  EXPECT_EQ(client->ask("reserve").size(),
            9'000'000U + 2 + std::string("RESERVED 4 9000000\r\n").size());
  client->send_line("quit");
  EXPECT_TRUE(client->at_eof());
}

// The rules of the sandbox are bound to the folder at the start, not to its path.
TEST_F(DaemonSandbox, FilesThatAreTakenAwayAreWrittenAnewAndANewFolderIsRefused) {
  const std::string folder = folder_.file("jobs");
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  const std::vector<std::string> words = {"--sandbox", "-b", folder, "-f", "0"};
  ASSERT_TRUE(start(words)) << server_.failure();
  ASSERT_EQ(connect()->put("to stay"), "INSERTED 1\r\n");
  const auto log_has = [this](const std::string& text) {
    return server_.standard_error().find(text) != std::string::npos;
  };
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::filesystem::remove(entry.path());
  }
  ASSERT_TRUE(eventually([&] {
    (void)connect()->ask("bury 1");
    (void)connect()->put("more");
    return log_has("event=binlog-recovered");
  })) << server_.standard_error();
  const std::uint64_t jobs = server_stat("current-jobs-ready");
  server_.kill_hard();
  ASSERT_TRUE(start(words)) << server_.failure();
  EXPECT_EQ(server_stat("current-jobs-ready"), jobs);

  std::filesystem::remove_all(folder);
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  ASSERT_TRUE(eventually([&] {
    (void)connect()->put("refused");
    return log_has("event=binlog-not-back");
  })) << server_.standard_error();
  EXPECT_TRUE(log_has("the sandbox lets this process use no new folder"));
  EXPECT_EQ(connect()->put("refused"), "INTERNAL_ERROR\r\n");
  EXPECT_EQ(connect()->ask("peek 1"), "FOUND 1 7\r\nto stay\r\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(DaemonSandbox, ABinlogGrowsIsCompactedAndBroughtBackInIt) {
  constexpr int kJobs = 3000;
  constexpr int kKept = 10;
  const std::string folder = folder_.file("jobs");
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  const std::vector<std::string> words = {"--sandbox", "-b", folder, "-s", "65536", "-f", "1"};
  ASSERT_TRUE(start(words)) << server_.failure();
  {
    const Client client = connect();
    ASSERT_EQ(client->put("to stay"), "INSERTED 1\r\n");
    for (int i = 2; i <= kJobs; ++i) {
      ASSERT_EQ(client->put(std::string(200, 'x')), "INSERTED " + std::to_string(i) + "\r\n");
      if (i > kKept) {
        ASSERT_EQ(client->ask("delete " + std::to_string(i)), "DELETED\r\n");
      }
    }
  }
  EXPECT_EQ(threads(), 2U);
  EXPECT_TRUE(is_sandboxed());
  EXPECT_TRUE(eventually([this] { return server_stat("binlog-oldest-index") > 1; }));
  EXPECT_GE(server_stat("binlog-records-migrated"), 1U);
  EXPECT_EQ(server_stat("binlog-errors"), 0U);
  EXPECT_EQ(server_stat("current-jobs-ready"), std::uint64_t{kKept});

  server_.kill_hard();
  ASSERT_TRUE(start(words)) << server_.failure();
  EXPECT_EQ(server_stat("current-jobs-ready"), std::uint64_t{kKept});
  EXPECT_EQ(server_.stop(), (ExitStatus{.code = 0}));
  ASSERT_TRUE(start(words)) << server_.failure();
  EXPECT_EQ(server_stat("current-jobs-ready"), std::uint64_t{kKept});
  EXPECT_EQ(connect()->ask("peek 1"), "FOUND 1 7\r\nto stay\r\n");
}

TEST_F(DaemonSandbox, SignalsAreHeardAndASocketIsRemovedAtTheEnd) {
  const std::string path = folder_.file("socket");
  ServerOptions options = options_with({"--sandbox"});
  options.listen_address = "unix:" + path;
  ASSERT_TRUE(start_with(options)) << server_.failure();
  ASSERT_TRUE(is_sandboxed());
  ASSERT_TRUE(server_.signal(SIGUSR1));
  const Client client = connect();
  EXPECT_TRUE(eventually([&] { return client->put("job") == "DRAINING\r\n"; }));
  ASSERT_TRUE(std::filesystem::exists(path));
  ASSERT_TRUE(server_.signal(SIGTERM));
  EXPECT_EQ(server_.wait_exit(), (ExitStatus{.code = 0}));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(DaemonSandbox, ManyClientsComeAndGoInIt) {
  ASSERT_TRUE(start({"--sandbox"})) << server_.failure();
  for (int round = 0; round < 5; ++round) {
    const std::vector<Client> clients = connect(300);
    for (const Client& client : clients) client->send_line("watch other\r\nreserve");
    ASSERT_TRUE(eventually([&] { return server_stat("current-waiting") == clients.size(); }));
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (i % 3 == 0) clients[i]->reset();
      if (i % 3 == 1) clients[i]->shutdown_write();
    }
  }
  EXPECT_TRUE(eventually([&] { return server_stat("current-connections") == 1; }));
}

}  // namespace
}  // namespace haricot::test
