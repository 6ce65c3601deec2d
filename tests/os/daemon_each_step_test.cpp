// The successor is killed, or hangs and is killed, in front of each system call of its start, one
// after another. Until it has taken everything over, the next start or the predecessor has all
// connections, jobs and holds. Afterwards it is a server that was killed: its log says that it has
// taken over, and a folder keeps the jobs.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/hand_over_fixture.hpp"

namespace haricot::test {
namespace {

constexpr std::uint64_t kStepsMax = 2000;
// Steps between two starts that hang: nothing else differs from a start that is killed. A sanitized
// server starts slowly, so it is killed as rarely.
constexpr std::uint64_t kStepsApart = 7;
#ifdef HARICOT_SANITIZED
constexpr bool kIsSlow = true;
#else
constexpr bool kIsSlow = false;
#endif

enum class By : std::uint8_t { manager, socket };
enum class Jobs : std::uint8_t { in_memory, in_folder };
enum class End : std::uint8_t { killed, hangs };

class EachStep : public HandOverTest,
                 public ::testing::WithParamInterface<std::tuple<By, Jobs, End>> {
 protected:
  static bool by_manager() { return std::get<By>(GetParam()) == By::manager; }
  static bool has_folder() { return std::get<Jobs>(GetParam()) == Jobs::in_folder; }
  static bool hangs() { return std::get<End>(GetParam()) == End::hangs; }
  std::string path() const { return folder_.file("next"); }
  std::string report_path() const { return folder_.file("report"); }
  ServerProcess& server() { return *servers_.back(); }

  // Starts a server that takes nothing over.
  void start_anew() {
    servers_.push_back(std::make_unique<ServerProcess>());
    ASSERT_TRUE(manager_.start(server(), options_of({}))) << server().standard_error();
  }
  ServerOptions options_of(std::vector<std::string> more) {
    std::vector<std::string> words = {"-l", "127.0.0.1", "-p", std::to_string(port_)};
    words.push_back("--take-over-socket=" + path());
    if (has_folder()) words.insert(words.end(), {"-b", folder_.path(), "-f", "0"});
    words.insert(words.end(), more.begin(), more.end());
    return options_with(std::move(words));
  }
  // Stops in front of that call.
  ServerOptions stopped_at(std::uint64_t number, ServerOptions options) {
    std::vector<std::string> words = {report_path(), std::to_string(number),
                                      hangs() ? "hang" : "kill", options.binary};
    words.insert(words.end(), options.arguments.begin(), options.arguments.end());
    options.binary = STOP_AT_CALL;
    options.arguments = std::move(words);
    ::unlink(report_path().c_str());
    return options;
  }

  // A client holds a job, one waits, one has sent half of a line; a job is ready, one delayed.
  void begin_clients() {
    holder_ = connect_again();
    waiting_ = connect_again();
    half_ = connect_again();
    ids_.clear();
    ASSERT_NO_FATAL_FAILURE(put("put 0 0 600 4\r\nheld"));
    ASSERT_TRUE(holder_->ask("reserve-job " + ids_[0]).starts_with("RESERVED " + ids_[0]));
    ASSERT_NO_FATAL_FAILURE(put("put 1 0 600 5\r\nready"));
    ASSERT_NO_FATAL_FAILURE(put("put 2 1000 600 7\r\ndelayed"));
    ASSERT_EQ(waiting_->ask("watch other"), "WATCHING 2\r\n");
    ASSERT_EQ(waiting_->ask("ignore default"), "WATCHING 1\r\n");
    ASSERT_TRUE(waiting_->send_line("reserve"));
    ASSERT_TRUE(half_->send("peek"));
    ASSERT_TRUE(eventually([&] { return stat("current-waiting") == 1; }));
  }
  void put(const std::string& command) {
    const std::string answer = holder_->ask(command);
    ASSERT_TRUE(answer.starts_with("INSERTED ")) << answer;
    ids_.push_back(answer.substr(9, answer.size() - 11));
  }
  // Expects the answers, also to a command that was sent while no server read.
  void expect_all() {
    EXPECT_EQ(holder_->read_answer(), "TOUCHED\r\n") << server().standard_error();
    EXPECT_EQ(half_->ask(" " + ids_[1]), "FOUND " + ids_[1] + " 5\r\nready\r\n");
    EXPECT_TRUE(half_->send("peek"));
    EXPECT_EQ(holder_->ask("peek-delayed"), "FOUND " + ids_[2] + " 7\r\ndelayed\r\n");
    const auto has = [this](const char* key) { return report_number(holder_->ask("stats"), key); };
    EXPECT_EQ(has("current-jobs-ready"), 1U);
    EXPECT_EQ(has("current-jobs-reserved"), 1U);
    EXPECT_EQ(has("current-waiting"), 1U);
    EXPECT_TRUE(eventually([&] { return has("current-connections") == 3; }));
  }
  // A server that was killed while it had everything leaves the jobs of its folder.
  void expect_jobs_of_the_folder() {
    const Client client = connect_again();
    for (const std::string& id : ids_) {
      const std::string answer = client->ask("delete " + id);
      EXPECT_EQ(answer, has_folder() ? "DELETED\r\n" : "NOT_FOUND\r\n") << id;
    }
  }

  // Launches the successor, which is the last of `servers_` from then on, and waits until it is
  // stopped or serves. Returns whether it serves.
  bool launch_next(std::uint64_t number) {
    ServerOptions options = options_of({});
    if (!by_manager()) options.arguments.push_back("--take-over=" + path());
    options = stopped_at(number, std::move(options));
    servers_.push_back(std::make_unique<ServerProcess>());
    EXPECT_TRUE(server().launch(by_manager() ? manager_.passing(options) : options));
    EXPECT_TRUE(eventually([&] {
      manager_.catch_up();
      return !read_file(report_path()).empty();
    }));
    const std::string report = read_file(report_path());
    EXPECT_TRUE(report == "stopped" || report == "serves") << report << server().standard_error();
    return report == "serves";
  }

  // Tries one step, while a client sends a command and another one leaves. Returns whether the
  // start came past it.
  bool try_step(std::uint64_t number) {
    const Client leaves = connect_again();
    EXPECT_TRUE(leaves->send_line("stats"));
    if (by_manager()) {
      EXPECT_EQ(manager_.stop(server()), kGood) << server().standard_error();
      servers_.clear();
    }
    const bool serves = launch_next(number);
    EXPECT_TRUE(holder_->send_line("touch " + ids_[0]));
    leaves->close();
    if (hangs()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!serves) {
      server().kill_hard();
      manager_.catch_up();
      go_on_after_kill();
    } else if (!by_manager()) {
      EXPECT_EQ(servers_.front()->wait_exit(), kGood);
      servers_.erase(servers_.begin());
    }
    if (!HasFailure() && holder_ != nullptr) expect_all();
    return serves;
  }
  // Another start, or the predecessor, has everything; unless the killed one had it.
  void go_on_after_kill() {
    const std::string said = server().standard_error();
    servers_.pop_back();
    const bool has_server = !by_manager() && servers_.back()->running() && !has_given_all();
    if (has_server) return;
    if (!by_manager()) {
      EXPECT_EQ(servers_.back()->wait_exit(), kGood);
    }
    const bool was_stored = manager_.kept() > 0;
    servers_.clear();
    ASSERT_NO_FATAL_FAILURE(start_anew());
    const bool has_taken = server().standard_error().find("event=taken-over") != std::string::npos;
    if (by_manager() && has_taken) return;
    // Its log has the line; that of a process that was killed right after the answer cannot.
    EXPECT_TRUE(!by_manager() || said.find("event=taken-over") != std::string::npos) << said;
    if (by_manager() && was_stored) {
      EXPECT_NE(server().standard_error().find("event=hand-over-refused"), std::string::npos);
    }
    expect_jobs_of_the_folder();
    ++lost_;
    begin_clients();
    EXPECT_TRUE(holder_->send_line("touch " + ids_[0]));
  }
  // Returns whether the predecessor has answered `yours`. Waits if it is about to decide.
  bool has_given_all() {
    const auto count = [this](std::string_view event) {
      const std::string said = server().standard_error();
      std::size_t found = 0;
      for (std::size_t at = said.find(event); at != std::string::npos;
           at = said.find(event, at + 1)) {
        ++found;
      }
      return found;
    };
    EXPECT_TRUE(eventually([&] {
      return count("event=handing-over") ==
             count("event=hand-over-refused") + count("event=handed-over");
    })) << server().standard_error();
    return count("event=handed-over") > 0;
  }

  std::vector<std::unique_ptr<ServerProcess>> servers_;  // The one before may still run.
  Client holder_;
  Client waiting_;
  Client half_;
  std::vector<std::string> ids_;
  std::uint64_t lost_ = 0;  // Times that a server was killed that had everything.
};

INSTANTIATE_TEST_SUITE_P(By, EachStep,
                         ::testing::Combine(::testing::Values(By::manager, By::socket),
                                            ::testing::Values(Jobs::in_memory, Jobs::in_folder),
                                            ::testing::Values(End::killed, End::hangs)),
                         [](const auto& by) {
                           return std::string(std::get<By>(by.param) == By::manager ? "Manager"
                                                                                    : "Socket") +
                                  (std::get<Jobs>(by.param) == Jobs::in_memory ? "InMemory"
                                                                               : "InFolder") +
                                  (std::get<End>(by.param) == End::killed ? "Killed" : "Hangs");
                         });

TEST_P(EachStep, LosesNothingUntilAllIsTakenOver) {
  ASSERT_TRUE(manager_.open(folder_.file("notify")));
  ASSERT_TRUE(start({})) << server_.failure();
  port_ = server_.port();
  ASSERT_EQ(server_.stop(), kGood);
  ASSERT_NO_FATAL_FAILURE(start_anew());
  ASSERT_NO_FATAL_FAILURE(begin_clients());
  const std::uint64_t step = hangs() || kIsSlow ? kStepsApart : 1;
  std::uint64_t number = 1;
  std::uint64_t steps = 0;
  for (bool serves = false; !serves; number += step, ++steps) {
    SCOPED_TRACE("call " + std::to_string(number));
    ASSERT_LT(number, kStepsMax);
    serves = try_step(number);
    ASSERT_FALSE(HasFailure());
  }
  std::printf("%d calls, %d of them with everything\n", static_cast<int>(steps),
              static_cast<int>(lost_));
  EXPECT_GT(steps, 10U);
  EXPECT_LT(lost_, steps / 2);
}

}  // namespace
}  // namespace haricot::test
