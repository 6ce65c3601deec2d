// Clients in every state act in every way, at each step of each way to replace a server. No client
// loses its connection, its jobs or its holds, and none that has left keeps any: everything is as
// without a restart.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/hand_over_fixture.hpp"
#include "take_over_fixture.hpp"

namespace haricot::test {
namespace {

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
  socket,        // The next server asks on a socket.
  refused,       // It asks, refuses, and keeps its duplicates.
};
constexpr const char* kWayNames[] = {"NoRestart", "Manager", "DeafManager", "Socket", "Refused"};

// The flags of the next server.
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

}  // namespace
}  // namespace haricot::test
