// Servers of which each takes everything over from the one before.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/daemon_fixture.hpp"

namespace haricot::test {

// With and without a binlog.
class TakeOver : public DaemonTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) binlog_ = {"-b", jobs_.path()};
  }
  std::string path() const { return folder_.file("next"); }

  void start_first(std::vector<std::string> arguments = {}) {
    arguments.push_back("--take-over-socket=" + path());
    arguments.insert(arguments.end(), binlog_.begin(), binlog_.end());
    ASSERT_TRUE(start(arguments)) << server_.failure();
    arguments_ = {"-l", "127.0.0.1", "-p", std::to_string(server_.port())};
    arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
  }
  // Starts a server that asks the first one, or the one that has taken over from it.
  ServerProcess& launch_next(std::vector<std::string> arguments) {
    arguments.push_back("--take-over=" + path());
    next_.push_back(std::make_unique<ServerProcess>());
    EXPECT_TRUE(next_.back()->launch(options_with(std::move(arguments))));
    return *next_.back();
  }
  ServerProcess& last() { return next_.empty() ? server_ : *next_.back(); }
  void take_over() {
    ServerProcess& before = last();
    ServerProcess& next = launch_next(arguments_);
    EXPECT_EQ(before.wait_exit(), kGood) << before.standard_error() << next.standard_error();
    ASSERT_TRUE(says(next, "event=taken-over")) << next.standard_error();
  }
  static bool says(const ServerProcess& server, const std::string& text) {
    return eventually([&] { return server.standard_error().find(text) != std::string::npos; });
  }
  // A server that was asked in vain goes on, and says why.
  void expect_refusal(const ServerProcess& server, const std::string& why) {
    EXPECT_TRUE(says(server, "event=hand-over-refused message=\"" + why))
        << server.standard_error();
  }

  TemporaryFolder jobs_;
  std::vector<std::string> binlog_;
  std::vector<std::string> arguments_;
  std::vector<std::unique_ptr<ServerProcess>> next_;
};

}  // namespace haricot::test
