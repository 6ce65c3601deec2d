#include "runner.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace haricot::conformance {
namespace {

// A server that answers every line with the next of the given answers, whatever the line is. An
// empty answer is none; `close` closes the connection.
class Parrot final : public Backend {
 public:
  explicit Parrot(std::deque<std::string> answers) : answers_(std::move(answers)) {}

  std::optional<int> open() override {
    if (full) return std::nullopt;
    connections_.emplace_back();
    return static_cast<int>(connections_.size()) - 1;
  }

  void send(int connection, std::string_view bytes) override {
    ++sends;
    received += bytes;
    Connection& to = at(connection);
    to.input += bytes;
    for (std::size_t end; (end = to.input.find("\r\n")) != std::string::npos;) {
      to.input.erase(0, end + 2);
      if (answers_.empty()) continue;
      if (answers_.front() == "close")
        to.closed = true;
      else
        to.output += answers_.front();
      answers_.pop_front();
    }
  }

  Arrival receive(int connection, Patience, std::string& into) override {
    Connection& from = at(connection);
    if (from.output.empty()) return from.closed ? Arrival::end : Arrival::nothing;
    into += from.output;
    from.output.clear();
    return Arrival::bytes;
  }

  std::size_t connections() const { return connections_.size(); }

  void half_close(int) override { log += "half_close "; }
  void close(int) override { log += "close "; }
  void reset(int) override { log += "reset "; }
  void advance(std::chrono::nanoseconds) override { log += "advance "; }
  void drain() override { log += "drain "; }
  bool can_restart() const override { return true; }
  std::chrono::nanoseconds lateness() const override { return late; }
  std::string restart(ServerEnd how, const std::vector<std::string>& flags) override {
    log += how == ServerEnd::kill ? "kill" : "restart";
    for (const std::string& flag : flags) log += " " + flag;
    log += " ";
    return restart_error;
  }

  bool full = false;
  std::chrono::milliseconds late{0};
  std::string restart_error;
  int sends = 0;
  std::string received;
  std::string log;

 private:
  struct Connection {
    std::string input;
    std::string output;
    bool closed = false;
  };

  Connection& at(int connection) { return connections_[static_cast<std::size_t>(connection)]; }

  std::deque<std::string> answers_;
  std::vector<Connection> connections_;
};

Outcome run(const std::string& text, Parrot& parrot, Delivery delivery = Delivery::as_written) {
  const ParsedScript parsed = parse_script("# What it pins.\n" + text, "x.script", kMemory);
  EXPECT_EQ(parsed.error, "");
  return run_script(parsed.script, delivery, parrot);
}

Outcome run(const std::string& text, const std::deque<std::string>& answers) {
  Parrot parrot(answers);
  return run(text, parrot);
}

TEST(RunScript, PassesWhenEverythingIsAsExpected) {
  const Outcome outcome = run(
      "A> one\nA< first\nA> two\nA<< sec\nA<< ond\\r\\n\nA> three\nA< OK yaml\n  a: 1\nA<nothing\n"
      "A> four\nA<eof\n",
      {"first\r\n", "second\r\n", "OK 9\r\n---\na: 1\n\r\n", "close"});
  EXPECT_TRUE(outcome.passed) << outcome.report;
}

TEST(RunScript, FailsAtAnotherLine) {
  const Outcome outcome = run("A> one\nA< INSERTED 1\n", {"INSERTED 2\r\n"});
  EXPECT_FALSE(outcome.passed);
  EXPECT_NE(outcome.report.find("x.script:3:"), std::string::npos) << outcome.report;
  EXPECT_NE(outcome.report.find("expected: INSERTED 1\\r\\n"), std::string::npos);
  EXPECT_NE(outcome.report.find("got: INSERTED 2\\r\\n"), std::string::npos);
  EXPECT_NE(outcome.report.find("A> one\\r\\n"), std::string::npos);
}

TEST(RunScript, FailsAtALongerOrShorterLine) {
  EXPECT_FALSE(run("A> one\nA< OK\n", {"OKAY\r\n"}).passed);
  EXPECT_FALSE(run("A> one\nA< OKAY\n", {"OK\r\n"}).passed);
  EXPECT_FALSE(run("A> one\nA< OK\n", {"OK\n"}).passed);
  EXPECT_FALSE(run("A> one\nA< OK\n", {"OK"}).passed);
}

TEST(RunScript, FailsWhenNothingComes) {
  const Outcome outcome = run("A> one\nA< OK\n", {});
  EXPECT_FALSE(outcome.passed);
  EXPECT_NE(outcome.report.find("got: nothing"), std::string::npos) << outcome.report;
  EXPECT_FALSE(run("A> one\nA<< OK\n", {}).passed);
  EXPECT_FALSE(run("A> one\nA< OK yaml\n", {}).passed);
}

TEST(RunScript, FailsWhenTheServerClosesInstead) {
  const Outcome outcome = run("A> one\nA< OK\n", {"close"});
  EXPECT_FALSE(outcome.passed);
  EXPECT_NE(outcome.report.find("the server closed the connection"), std::string::npos);
}

TEST(RunScript, FailsAtOtherBytes) {
  EXPECT_FALSE(run("A> one\nA<< abc\n", {"abd"}).passed);
  EXPECT_FALSE(run("A> one\nA<< abc\n", {"ab"}).passed);
}

TEST(RunScript, FailsWhenSomethingComesInsteadOfNothing) {
  EXPECT_FALSE(run("A> one\nA<nothing\nA<< x\n", {"x"}).passed);
  EXPECT_FALSE(run("A> one\nA<nothing\n", {"close"}).passed);
}

TEST(RunScript, FailsWhenTheConnectionStaysOpen) {
  EXPECT_FALSE(run("A> one\nA<eof\n", {}).passed);
  EXPECT_FALSE(run("A> one\nA<eof\n", {"x"}).passed);
}

TEST(RunScript, FailsWhenMoreCameThanWasExpected) {
  const Outcome outcome = run("A> one\nA< OK\n", {"OK\r\nOK\r\n"});
  EXPECT_FALSE(outcome.passed);
  EXPECT_NE(outcome.report.find("at the end"), std::string::npos) << outcome.report;
  EXPECT_FALSE(run("A> one\nA< OK\nA!close\n", {"OK\r\nx"}).passed);
  EXPECT_FALSE(run("A> one\nB> two\nA< OK\n", {"OK\r\n", "OK\r\n"}).passed);
}

TEST(RunScript, FailsAtAnotherYaml) {
  const std::string script = "A> one\nA< OK yaml\n  a: 1\n";
  EXPECT_TRUE(run(script, {"OK 9\r\n---\na: 1\n\r\n"}).passed);
  EXPECT_FALSE(run(script, {"OK 9\r\n---\na: 2\n\r\n"}).passed);
  EXPECT_FALSE(run(script, {"OK 8\r\n---\na: 1\n\r\n"}).passed);
  EXPECT_FALSE(run(script, {"OK 10\r\n---\na: 1\n\r\n"}).passed);
  EXPECT_FALSE(run(script, {"OK 09\r\n---\na: 1\n\r\n"}).passed);
  EXPECT_FALSE(run(script, {"OK\r\n---\na: 1\n\r\n"}).passed);
  EXPECT_FALSE(run(script, {"OK x\r\n---\na: 1\n\r\n"}).passed);
  EXPECT_FALSE(run(script, {"NOT_FOUND\r\n"}).passed);
  EXPECT_FALSE(run(script, {"\r\n"}).passed);
}

TEST(RunScript, LetsAnAgeBeOlderByAsMuchAsTheMachineIsLate) {
  for (const auto& [late, passes] :
       {std::pair(0, false), std::pair(150, false), std::pair(900, false), std::pair(1200, true)}) {
    Parrot parrot({"OK 11\r\n---\nage: 4\n\r\n"});
    parrot.late = std::chrono::milliseconds(late);
    EXPECT_EQ(run("A> one\nA< OK yaml\n  age: 1..2\n", parrot).passed, passes) << late;
  }
}

TEST(RunScript, CountsLines) {
  const std::string script = "A> one\nA<lines 3\nA< four\n";
  EXPECT_TRUE(run(script, {"one\r\n\r\nthree\r\nfour\r\n"}).passed);
  EXPECT_FALSE(run(script, {"one\r\nthree\r\nfour\r\n"}).passed);
  EXPECT_FALSE(run(script, {"one\r\ntwo\r\nthree\r\n3\r\nfour\r\n"}).passed);
  EXPECT_FALSE(run(script, {"one\r\ntwo\r\nthree"}).passed);
}

TEST(RunScript, FailsWhenTheServerTakesNoConnection) {
  Parrot parrot({});
  parrot.full = true;
  EXPECT_FALSE(run("A> one\nA<nothing\n", parrot).passed);
}

TEST(RunScript, PassesTheActionsOfTheScriptToTheBackend) {
  Parrot parrot({});
  EXPECT_TRUE(
      run("A<nothing\nA!shutdown\nadvance 1s\nsignal drain\nA!close\nB!reset\n", parrot).passed);
  EXPECT_EQ(parrot.log, "half_close advance drain close reset ");
}

TEST(RunScript, OpensNewConnectionsBehindARestart) {
  Parrot parrot({"1\r\n", "2\r\n"});
  const Outcome outcome =
      run("flags -V\nbinlog\nA> one\nA< 1\nrestart\nA> two\nA< 2\nkill -z 5\nA<nothing\n", parrot);
  EXPECT_TRUE(outcome.passed) << outcome.report;
  EXPECT_EQ(parrot.log, "restart -V kill -z 5 ");
  EXPECT_EQ(parrot.connections(), 3U);
}

TEST(RunScript, FailsWhenAnAnswerIsUnreadAtARestart) {
  Parrot parrot({"1\r\n"});
  EXPECT_FALSE(run("binlog\nA> one\nkill\nA<nothing\n", parrot).passed);
  EXPECT_EQ(parrot.log, "");
}

TEST(RunScript, FailsWhenTheServerDoesNotRestart) {
  Parrot parrot({});
  parrot.restart_error = "it is broken";
  const Outcome outcome = run("binlog\nrestart\nA<nothing\n", parrot);
  EXPECT_FALSE(outcome.passed);
  EXPECT_NE(outcome.report.find("it is broken"), std::string::npos) << outcome.report;
}

TEST(RunScript, DeliversTheSameBytesInEveryWay) {
  const std::string script = "A> one\nA< 1\nA> two\nA< 2\n";
  const std::deque<std::string> answers = {"1\r\n", "2\r\n"};
  for (const auto& [delivery, sends] :
       {std::pair(Delivery::as_written, 2), std::pair(Delivery::byte_by_byte, 10),
        std::pair(Delivery::pipelined, 1)}) {
    Parrot parrot(answers);
    const Outcome outcome = run(script, parrot, delivery);
    EXPECT_TRUE(outcome.passed) << outcome.report;
    EXPECT_EQ(parrot.received, "one\r\ntwo\r\n");
    EXPECT_EQ(parrot.sends, sends);
  }
}

TEST(RunScript, FailsInEveryWayOfDelivery) {
  for (const Delivery delivery :
       {Delivery::as_written, Delivery::byte_by_byte, Delivery::pipelined}) {
    Parrot parrot({"1\r\n", "3\r\n"});
    EXPECT_FALSE(run("A> one\nA< 1\nA> two\nA< 2\n", parrot, delivery).passed);
  }
}

}  // namespace
}  // namespace haricot::conformance
