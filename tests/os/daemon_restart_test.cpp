#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/hand_over_fixture.hpp"
#include "support/random.hpp"
#include "take_over_fixture.hpp"

namespace haricot::test {
namespace {

// Clients in every state act in every way, at each step of each way to replace a server. No client
// loses its connection, its jobs or its holds, and none that has left keeps any: everything is as
// without a restart.

// A large job, and more answers that contain it than the buffers of sockets hold.
constexpr std::size_t kLongJob = 65'000;
constexpr int kLongAnswers = 100;

// The columns.
struct State {
  const char* name;
  std::string (*begins)(const std::string& held);  // Bytes sent before, by the id of the held job.
  std::string rest;                                // Bytes sent later.
  std::vector<std::string> answers;                // Beginnings of the answers to both.
  std::uint64_t new_jobs = 0;                      // Jobs put by both.
  // Beginnings of the answers if the client shuts its side down instead of sending the rest.
  std::vector<std::string> last_answers = {};
};

std::string nothing(const std::string&) {
  return "";
}

const State kStates[] = {
    {"idle", nothing, "list-tube-used\r\n", {"USING"}},
    {"waiting",
     [](const std::string&) { return std::string("reserve\r\n"); },
     "list-tube-used\r\n",
     {"RESERVED", "USING"},
     0,
     {"TIMED_OUT"}},
    {"half a line",
     [](const std::string&) { return std::string("list-tube-us"); },
     "ed\r\n",
     {"USING"}},
    {"half a body",
     [](const std::string&) { return std::string("put 9 0 60 10\r\n12345"); },
     "67890\r\n",
     {"INSERTED"},
     1},
    {"unread answer",
     [](const std::string&) { return std::string("stats\r\n"); },
     "list-tube-used\r\n",
     {"OK", "USING"},
     0,
     {"OK"}},
    {"unread answers",
     [](const std::string& job) {
       std::string lines;
       for (int i = 0; i < kLongAnswers; ++i) lines += "peek " + job + "\r\n";
       return lines;
     },
     "list-tube-used\r\n", std::vector<std::string>(kLongAnswers, "FOUND"), 0,
     std::vector<std::string>(kLongAnswers, "FOUND")},
};

// The rows.
enum class Act { stays, sends, closes, resets, half_closes };
constexpr Act kActs[] = {Act::stays, Act::sends, Act::closes, Act::resets, Act::half_closes};
constexpr const char* kActNames[] = {"stays", "sends", "closes", "resets", "half-closes"};
enum class Step { before, between, after };
constexpr Step kSteps[] = {Step::before, Step::between, Step::after};
constexpr const char* kStepNames[] = {"before", "between", "after"};

struct Cell {
  const State* state;
  Act act;
  Step step;
  Client client = nullptr;
  std::string tube = {};
  std::string held = {};  // Id of a job of that tube that the client holds.

  bool leaves() const { return act != Act::stays && act != Act::sends; }
  bool is_waiting() const { return std::string(state->name) == "waiting"; }
  std::string name() const {
    return std::string(state->name) + ", " + kActNames[static_cast<int>(act)] + " " +
           kStepNames[static_cast<int>(step)];
  }
};

// How the server is replaced.
enum class Way {
  none,
  manager,       // A service manager keeps the sockets in between.
  deaf_manager,  // It also keeps them afterwards.
  socket,        // The successor asks on a socket.
  refused,       // It asks, refuses, and keeps its duplicates.
};
constexpr const char* kWayNames[] = {"NoRestart", "Manager", "DeafManager", "Socket", "Refused"};

// The flags of the successor.
enum class Next { same, other_address, other_port, smaller_limits };
constexpr const char* kNextNames[] = {"SameFlags", "OtherAddress", "OtherPort", "SmallerLimits"};

struct Restart {
  Way way;
  Next next = Next::same;
};

std::vector<Restart> all_restarts() {
  std::vector<Restart> all = {{Way::none}, {Way::refused}};
  for (const Way way : {Way::manager, Way::deaf_manager, Way::socket}) {
    for (const Next next :
         {Next::same, Next::other_address, Next::other_port, Next::smaller_limits}) {
      all.push_back({way, next});
    }
  }
  return all;
}

class EachClient : public HandOverTest, public ::testing::WithParamInterface<Restart> {
 protected:
  std::string path() const { return folder_.file("next"); }
  std::string late_path() const { return folder_.file("late"); }

  void start_first_one() {
    for (const State& state : kStates) {
      for (const Act act : kActs) {
        for (const Step step : kSteps) cells_.push_back({&state, act, step});
      }
    }
    ASSERT_NO_FATAL_FAILURE(start_first({"--take-over-socket=" + path()}));
    observer_ = connect();
    for (Cell& cell : cells_) ASSERT_NO_FATAL_FAILURE(begin(cell));
    // The server has read all earlier input.
    ASSERT_EQ(observer_->ask("list-tube-used"), "USING default\r\n");
  }
  void begin(Cell& cell) {
    const bool is_long = cell.state == &kStates[std::size(kStates) - 1];
    cell.tube = "t" + std::to_string(&cell - cells_.data());
    cell.client = is_long ? connect_narrow() : connect();
    ASSERT_EQ(cell.client->ask("use " + cell.tube), "USING " + cell.tube + "\r\n");
    ASSERT_EQ(cell.client->ask("watch " + cell.tube), "WATCHING 2\r\n");
    ASSERT_EQ(cell.client->ask("ignore default"), "WATCHING 1\r\n");
    const std::string put = cell.client->put(std::string(is_long ? kLongJob : 4, 'h'));
    ASSERT_TRUE(put.starts_with("INSERTED ")) << put;
    cell.held = put.substr(9, put.size() - 11);
    ASSERT_TRUE(cell.client->ask("reserve").starts_with("RESERVED " + cell.held));
    ASSERT_TRUE(cell.client->send(cell.state->begins(cell.held)));
  }

  void act(Step step) {
    for (Cell& cell : cells_) {
      if (cell.step != step) continue;
      if (cell.act == Act::sends) {
        EXPECT_TRUE(cell.client->send(cell.state->rest)) << cell.name();
      }
      if (cell.act == Act::closes) cell.client->close();
      if (cell.act == Act::resets) cell.client->reset();
      if (cell.act == Act::half_closes) {
        EXPECT_TRUE(cell.client->shutdown_write()) << cell.name();
      }
    }
  }

  ServerOptions next_options() {
    std::vector<std::string> words = {
        "--take-over-socket=" + path(), "-l",
        GetParam().next == Next::other_address ? "0.0.0.0" : "127.0.0.1"};
    if (GetParam().next == Next::other_port) port_ = free_port();
    if (GetParam().next == Next::smaller_limits) {
      words.insert(words.end(), {"-z", "8", "--connections-max", "10"});
    }
    words.insert(words.end(), {"-p", std::to_string(port_)});
    return options_with(std::move(words));
  }
  static std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    socklen_t length = sizeof address;
    address.sin_family = AF_INET;
    EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length), 0);
    ::close(socket);
    return ntohs(address.sin_port);
  }

  void replace_by_manager() {
    stop();
    ASSERT_GT(manager_.kept(), 0U) << server_.standard_error();
    act(Step::between);
    if (GetParam().way == Way::deaf_manager) manager_.hear_no_removals();
    ASSERT_TRUE(manager_.start(server_, next_options())) << server_.standard_error();
  }
  // The test relays between both servers.
  void replace_by_socket() {
    Talk here;
    std::vector<int> descriptors;
    ASSERT_TRUE(here.connect(path()));
    ASSERT_TRUE(here.say("take over"));
    const std::string parts = here.hear(descriptors);
    ASSERT_TRUE(parts.starts_with("parts ")) << parts;
    act(Step::between);
    if (GetParam().way == Way::refused) {
      ASSERT_TRUE(here.say("no time"));
      EXPECT_EQ(here.hear(), "");
      kept_ = descriptors;
      return;
    }
    Talk listener;
    ASSERT_TRUE(listener.listen(late_path()));
    ServerOptions options = next_options();
    options.arguments.push_back("--take-over=" + late_path());
    ASSERT_TRUE(next_.launch(options));
    const Talk there(listener.accept());
    EXPECT_EQ(there.hear(), "take over");
    ASSERT_TRUE(there.say(parts, descriptors));
    for (const int descriptor : descriptors) ::close(descriptor);
    ASSERT_EQ(there.hear(), "mine") << next_.standard_error();
    ASSERT_TRUE(here.say("mine"));
    ASSERT_EQ(here.hear(), "yours");
    ASSERT_EQ(server_.wait_exit(), kGood) << server_.standard_error();
    ASSERT_TRUE(there.say("yours"));
  }
  void replace() {
    const Way way = GetParam().way;
    if (way == Way::none) {
      act(Step::between);
    } else if (way == Way::manager || way == Way::deaf_manager) {
      replace_by_manager();
    } else {
      replace_by_socket();
    }
  }
  ServerProcess& last() { return GetParam().way == Way::socket ? next_ : server_; }

  std::uint64_t jobs(const Cell& cell, const char* state) {
    return report_number(observer_->ask("stats-tube " + cell.tube),
                         std::string("current-jobs-") + state);
  }
  void expect_to_stay(Cell& cell) {
    if (cell.is_waiting()) {
      // It waits for this job.
      EXPECT_EQ(observer_->ask("use " + cell.tube), "USING " + cell.tube + "\r\n");
      EXPECT_TRUE(observer_->put("new").starts_with("INSERTED "));
    }
    if (cell.act == Act::stays) {
      EXPECT_TRUE(cell.client->send(cell.state->rest));
    }
    for (const std::string& begin : cell.state->answers) {
      const std::optional<std::string> answer = cell.client->read_answer();
      ASSERT_TRUE(answer && answer->starts_with(begin + " "))
          << begin << " " << answer.value_or("");
    }
    if (cell.state->answers.back() == "FOUND") {
      EXPECT_EQ(cell.client->read_answer(), "USING " + cell.tube + "\r\n");
    }
    EXPECT_EQ(jobs(cell, "reserved"), cell.is_waiting() ? 2U : 1U);
    EXPECT_EQ(jobs(cell, "ready"), cell.state->new_jobs);
    EXPECT_EQ(cell.client->ask("delete " + cell.held), "DELETED\r\n") << "it is not held any more";
  }
  void expect_to_have_left(Cell& cell) {
    if (cell.act == Act::half_closes) {
      for (const std::string& begin : cell.state->last_answers) {
        const std::optional<std::string> answer = cell.client->read_answer();
        ASSERT_TRUE(answer && answer->starts_with(begin)) << begin << " " << answer.value_or("");
      }
      EXPECT_TRUE(cell.client->at_eof()) << "the client sees no end";
    }
    EXPECT_TRUE(eventually([&] { return jobs(cell, "reserved") == 0; })) << "a job stays held";
    EXPECT_EQ(jobs(cell, "ready"), 1U);
    EXPECT_EQ(report_number(observer_->ask("stats-tube " + cell.tube), "current-waiting"), 0U);
  }

  std::vector<Cell> cells_;
  Client observer_;
  ServerProcess next_;
  std::vector<int> kept_;
};

INSTANTIATE_TEST_SUITE_P(By, EachClient, ::testing::ValuesIn(all_restarts()), [](const auto& by) {
  return std::string(kWayNames[static_cast<int>(by.param.way)]) +
         kNextNames[static_cast<int>(by.param.next)];
});

TEST_P(EachClient, KeepsItsClientsAndNoMore) {
  ASSERT_NO_FATAL_FAILURE(start_first_one());
  act(Step::before);
  ASSERT_NO_FATAL_FAILURE(replace());
  act(Step::after);
  for (Cell& cell : cells_) {
    SCOPED_TRACE(cell.name());
    if (cell.leaves()) {
      ASSERT_NO_FATAL_FAILURE(expect_to_have_left(cell));
    } else {
      ASSERT_NO_FATAL_FAILURE(expect_to_stay(cell));
    }
  }
  std::uint64_t staying = 1;
  for (const Cell& cell : cells_) staying += cell.leaves() ? 0U : 1U;
  EXPECT_TRUE(eventually([&] {
    return report_number(observer_->ask("stats"), "current-connections") == staying;
  })) << last().standard_error();
  const std::string said = last().standard_error();
  EXPECT_EQ(said.find("event=hand-over-refused") != std::string::npos,
            GetParam().way == Way::refused)
      << said;
  for (const int descriptor : kept_) ::close(descriptor);
  EXPECT_EQ(GetParam().way == Way::socket ? next_.stop() : manager_.stop(server_), kGood) << said;
}

// A table of restarts under a service manager and by a socket: changes of settings, times ways in
// which the next process ends while it starts. In each cell every connection, job, hold and wait
// exists at the end, and a start that does not serve logs the reason.

enum class Before : std::uint8_t { in_memory, in_folder };

// How a start ends.
struct Outcome {
  int status = 0;               // 0: it serves.
  std::string_view words = {};  // In the log of a start that does not serve.
};
constexpr Outcome kServes{};
constexpr Outcome kNoFolderBefore{20, "the predecessor has no binlog"};
constexpr Outcome kOtherFolder{20, "the predecessor has another folder"};
constexpr Outcome kUnknown{10, "is not known here"};
constexpr Outcome kFull{10, "not all jobs"};
constexpr Outcome kOtherJobs{20, "has other jobs"};
constexpr Outcome kNowhere{10, "/nonexistent"};
constexpr Outcome kMistake{5, "unknown flag"};
constexpr Outcome kOlder{20, "the state has version 2"};
constexpr Outcome kFewDescriptors{20, "too many are open"};

// A change of the settings between two servers.
struct Change {
  std::string_view name;
  Before before;
  // Flags of the next one. `OTHER`, `EMPTY`, `UNKNOWN` and `FULL` stand for folders with other
  // jobs, without jobs, with a file of an unknown version, and on a full disk; `SAME` for that of
  // the first server.
  std::vector<std::string> flags;
  Outcome under_manager = kServes;
  Outcome by_socket = under_manager;
  bool is_later = false;         // The first server has a later version.
  unsigned descriptors_max = 0;  // Limit of the next process; 0: that of the test.
};

const std::vector<Change> kChanges = {
    {"Nothing", Before::in_memory, {}},
    {"NothingWithBinlog", Before::in_folder, {"-b", "SAME"}},
    {"BinlogOn", Before::in_memory, {"-b", "EMPTY"}, kServes, kNoFolderBefore},
    {"BinlogOnWithSyncs", Before::in_memory, {"-b", "EMPTY", "-f", "0"}, kServes, kNoFolderBefore},
    {"BinlogOnWithSmallFiles",
     Before::in_memory,
     {"-b", "EMPTY", "-s", "4096"},
     kServes,
     kNoFolderBefore},
    {"BinlogOff", Before::in_folder, {}, kServes, {20, "the predecessor has a binlog"}},
    {"BinlogMoves", Before::in_folder, {"-b", "EMPTY"}, kServes, kOtherFolder},
    {"BinlogOnWithOtherJobs", Before::in_memory, {"-b", "OTHER"}, kOtherJobs, kNoFolderBefore},
    {"BinlogMovesToOtherJobs", Before::in_folder, {"-b", "OTHER"}, kOtherJobs, kOtherFolder},
    {"BinlogOfUnknownVersion", Before::in_memory, {"-b", "UNKNOWN"}, kUnknown, kNoFolderBefore},
    {"BinlogMovesToUnknownVersion", Before::in_folder, {"-b", "UNKNOWN"}, kUnknown, kOtherFolder},
    {"BinlogOnFullDisk", Before::in_memory, {"-b", "FULL"}, kFull, kNoFolderBefore},
    {"BinlogMovesToFullDisk", Before::in_folder, {"-b", "FULL"}, kFull, kOtherFolder},
    {"BinlogNowhere", Before::in_folder, {"-b", "/nonexistent"}, kNowhere},
    {"SmallerJobs", Before::in_memory, {"-z", "10"}},
    {"SmallerJobsWithBinlog", Before::in_folder, {"-b", "SAME", "-z", "10"}},
    {"LessMemory", Before::in_memory, {"--memory-max", "1"}},
    {"LessMemoryWithBinlog", Before::in_folder, {"-b", "SAME", "--memory-max", "1"}},
    {"FewerConnections", Before::in_memory, {"--connections-max", "1"}},
    {"OtherUser", Before::in_memory, {"-u", "nobody"}},
    {"OtherUserAndAddress", Before::in_memory, {"-u", "nobody", "-l", "0.0.0.0"}},
    {"NoUser", Before::in_memory, {"-u", "nobody-has-this-name"}, {33, "there is no user"}},
    {"NoAddress", Before::in_memory, {"--listen-also", "203.0.113.1"}, {111, "cannot listen"}},
    {"Mistake", Before::in_memory, {"--nonsense"}, kMistake},
    {"MistakeWithBinlog", Before::in_folder, {"--nonsense"}, kMistake},
    {"OlderProgram", Before::in_memory, {}, kOlder, kOlder, true},
    {"FewerDescriptors", Before::in_memory, {}, kFewDescriptors, kFewDescriptors, false, 8},
};

class RestartedClients : public HandOverTest {
 protected:
  std::string path() const { return folder_.file("next"); }

  // Starts the first server, with jobs in all places and clients.
  void begin(Before before) {
    std::vector<std::string> flags = {"--take-over-socket=" + path()};
    if (before == Before::in_folder) flags.insert(flags.end(), {"-b", folder_.path()});
    start_first(flags);
    holder_ = connect();
    waiting_ = connect();
    half_ = connect();
    ASSERT_EQ(holder_->put("held"), "INSERTED 1\r\n");
    ASSERT_EQ(holder_->ask("reserve"), "RESERVED 1 4\r\nheld\r\n");
    ASSERT_EQ(holder_->put("ready"), "INSERTED 2\r\n");
    ASSERT_EQ(holder_->ask("put 5 100 60 7\r\ndelayed"), "INSERTED 3\r\n");
    for (int i = 4; i < 4 + kLarge; ++i) {
      ASSERT_EQ(holder_->ask("put 9 0 60 20000\r\n" + std::string(20'000, 'x')),
                "INSERTED " + std::to_string(i) + "\r\n");
    }
    ASSERT_EQ(waiting_->ask("watch other"), "WATCHING 2\r\n");
    ASSERT_EQ(waiting_->ask("ignore default"), "WATCHING 1\r\n");
    ASSERT_TRUE(waiting_->send_line("reserve"));
    ASSERT_TRUE(half_->send("peek"));
    ASSERT_TRUE(eventually([&] { return stat("current-waiting") == 1; }));
  }
  void expect_all() {
    EXPECT_EQ(half_->ask(" 2"), "FOUND 2 5\r\nready\r\n");
    EXPECT_TRUE(half_->send("peek"));
    EXPECT_EQ(holder_->ask("touch 1"), "TOUCHED\r\n") << server_.standard_error();
    EXPECT_EQ(holder_->ask("peek-delayed"), "FOUND 3 7\r\ndelayed\r\n");
    EXPECT_EQ(report_number(holder_->ask("stats"), "current-jobs-ready"), 1U + kLarge);
    EXPECT_EQ(report_number(holder_->ask("stats"), "current-waiting"), 1U);
  }
  static ServerOptions with_descriptors(unsigned most, ServerOptions options) {
    const std::string limit = "ulimit -n " + std::to_string(most);
    std::vector<std::string> shell = {"-c", limit + "; exec \"$0\" \"$@\"", options.binary};
    shell.insert(shell.end(), options.arguments.begin(), options.arguments.end());
    options.binary = "/bin/sh";
    options.arguments = std::move(shell);
    return options;
  }

  static constexpr int kLarge = 20;
  ServerProcess next_;  // By the socket.
  Client holder_;
  Client waiting_;
  Client half_;
};

class StartTable : public RestartedClients, public ::testing::WithParamInterface<Change> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can mount a disk, and become another user";
    ASSERT_TRUE(start({"-b", other_.path()}));
    ASSERT_EQ(connect()->put("of another server"), "INSERTED 1\r\n");
    ASSERT_EQ(server_.stop(), kGood);
    std::ofstream(unknown_.file("binlog.1")) << std::string("\x08\0\0\0", 4) << "something else";
    if (GetParam().is_later) binary_ = LATER_HARICOTD;
  }
  void TearDown() override {
    server_.kill_hard();
    if (is_mounted_) ::umount2(full_.path().c_str(), MNT_DETACH);
  }

  std::string folder_named(const std::string& word) {
    if (word == "SAME") return folder_.path();
    if (word == "EMPTY") return empty_.path();
    if (word == "OTHER") return other_.path();
    if (word == "UNKNOWN") return unknown_.path();
    if (word != "FULL") return word;
    is_mounted_ =
        is_mounted_ || ::mount("tmpfs", full_.path().c_str(), "tmpfs", 0, "size=64k") == 0;
    EXPECT_TRUE(is_mounted_);
    return full_.path();
  }

  ServerOptions changed() {
    std::vector<std::string> words = address_;
    for (const std::string& word : GetParam().flags) words.push_back(folder_named(word));
    const unsigned descriptors = GetParam().descriptors_max;
    ServerOptions options = options_with(std::move(words));
    return descriptors == 0 ? options : with_descriptors(descriptors, std::move(options));
  }
  // Ends the next process at some point.
  void disturb(bool hangs) {
    ASSERT_NO_FATAL_FAILURE(kill_start(changed(), [&] {
      std::this_thread::sleep_for(std::chrono::microseconds(random_.below(60'000)));
      if (!hangs) return;
      server_.signal(SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }));
    ASSERT_GT(manager_.kept(), 0U);
  }
  void expect_outcome() {
    const Outcome& outcome = GetParam().under_manager;
    const bool serves = manager_.start(server_, changed());
    const std::string said = server_.standard_error();
    ASSERT_EQ(serves, outcome.status == 0) << said;
    if (serves) return expect_all();
    EXPECT_EQ(server_.wait_exit(), (ExitStatus{.code = outcome.status})) << said;
    EXPECT_NE(said.find("event=cannot-start"), std::string::npos) << said;
    EXPECT_NE(said.find(outcome.words), std::string::npos) << said;
    EXPECT_NE(said.find("are kept"), std::string::npos) << said;
    // The settings are corrected.
    start_again();
    expect_all();
  }
  // A successor that does not serve leaves everything to the first one.
  void expect_outcome_by_socket() {
    const Outcome& outcome = GetParam().by_socket;
    ServerOptions options = changed();
    options.arguments.push_back("--take-over=" + path());
    ASSERT_TRUE(next_.launch(options));
    const std::optional<ExitStatus> end = (outcome.status == 0 ? server_ : next_).wait_exit();
    const std::string said = next_.standard_error();
    ASSERT_EQ(end, (ExitStatus{.code = outcome.status})) << said << server_.standard_error();
    EXPECT_NE(said.find(outcome.words), std::string::npos) << said;
    expect_all();
  }

  Random random_;
  TemporaryFolder empty_;
  TemporaryFolder other_;
  TemporaryFolder unknown_;
  TemporaryFolder full_;
  bool is_mounted_ = false;
};

TEST_P(StartTable, NothingIsLostWhenItRuns) {
  begin(GetParam().before);
  stop();
  expect_outcome();
}

TEST_P(StartTable, NothingIsLostWhenItAsksOnASocket) {
  begin(GetParam().before);
  expect_outcome_by_socket();
}

TEST_P(StartTable, NothingIsLostWhenItIsKilledOnTheWay) {
  begin(GetParam().before);
  stop();
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(disturb(false));
  expect_outcome();
}

TEST_P(StartTable, NothingIsLostWhenItHangsOnTheWay) {
  begin(GetParam().before);
  stop();
  ASSERT_NO_FATAL_FAILURE(disturb(true));
  expect_outcome();
}

INSTANTIATE_TEST_SUITE_P(Changes, StartTable, ::testing::ValuesIn(kChanges),
                         [](const auto& info) { return std::string(info.param.name); });

// The limit of open descriptors of the next process, one after another.
class DescriptorLimit : public RestartedClients,
                        public ::testing::WithParamInterface<std::tuple<Before, bool>> {
 protected:
  ServerOptions limited(unsigned most, bool by_socket) {
    std::vector<std::string> words = address_;
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    if (by_socket) words.push_back("--take-over=" + path());
    return with_descriptors(most, options_with(std::move(words)));
  }
};

TEST_P(DescriptorLimit, KeepsEverythingUntilItIsHighEnough) {
  constexpr unsigned kLeast = 7;  // For a program to be loaded.
  constexpr unsigned kMost = 60;
  const auto [before, by_socket] = GetParam();
  begin(before);
  if (!by_socket) stop();
  unsigned limit = kLeast;
  for (bool serves = false; !serves; ++limit) {
    SCOPED_TRACE(limit);
    ASSERT_LT(limit, kMost);
    ServerProcess& next = by_socket ? next_ : server_;
    if (by_socket) {
      ASSERT_TRUE(next.launch(limited(limit, true)));
      ASSERT_TRUE(eventually([&] { return !next_.running() || !server_.running(); }));
      serves = next_.running();
    } else {
      serves = manager_.start(server_, limited(limit, false));
    }
    const std::string said = next.standard_error();
    if (!serves) {
      EXPECT_GT(next.wait_exit()->code, 0) << said;
      EXPECT_NE(said.find("event=cannot-start"), std::string::npos) << said;
    }
    if (by_socket || serves) expect_all();
    ASSERT_FALSE(HasFailure()) << said;
  }
  EXPECT_GT(limit, kLeast + 3);
}

INSTANTIATE_TEST_SUITE_P(Of, DescriptorLimit,
                         ::testing::Combine(::testing::Values(Before::in_memory, Before::in_folder),
                                            ::testing::Bool()),
                         [](const auto& of) {
                           return std::string(std::get<bool>(of.param) ? "Socket" : "Manager") +
                                  (std::get<Before>(of.param) == Before::in_memory ? "InMemory"
                                                                                   : "InFolder");
                         });

}  // namespace
}  // namespace haricot::test
