// Fixture for tests of a restart: a server under a manager that keeps its descriptors.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/daemon_fixture.hpp"
#include "support/service_manager.hpp"

namespace haricot::test {

class HandOverTest : public DaemonTest {
 protected:
  void start_first(std::vector<std::string> arguments = {}) {
    ASSERT_TRUE(manager_.open(folder_.file("notify")));
    arguments_ = std::move(arguments);
    ASSERT_TRUE(start_with(manager_.passing(with_environment(options_with(arguments_)))))
        << server_.failure();
    port_ = server_.port();
    address_ = {"-l", "127.0.0.1", "-p", std::to_string(port_)};
  }
  ServerOptions at_address(std::vector<std::string> words) {
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    return with_environment(options_with(std::move(words)));
  }
  void stop() { ASSERT_EQ(manager_.stop(server_), kGood) << server_.standard_error(); }
  void start_again() {
    ASSERT_TRUE(manager_.start(server_, at_address(address_))) << server_.standard_error();
  }
  // Restarts the server with the descriptors that the manager keeps.
  void restart() {
    stop();
    ASSERT_GT(manager_.kept(), 0U) << server_.standard_error();
    start_again();
  }

  // Starts a process, and kills it after `before_kill`. The manager keeps everything, even if the
  // process was ready and no longer needed it. Its messages are handled, so that a later start does
  // not see its READY=1.
  void kill_start(const ServerOptions& options, const std::function<void()>& before_kill) {
    manager_.hear_no_removals();
    ASSERT_TRUE(server_.launch(manager_.passing(options)));
    before_kill();
    server_.kill_hard();
    manager_.catch_up();
    manager_.hear_removals();
  }

  // Connects after a restart, using the port of the first process.
  Client connect_again() {
    auto client = std::make_unique<WireClient>();
    EXPECT_TRUE(client->connect_tcp(port_)) << client->failure();
    return client;
  }
  std::uint64_t stat(std::string_view key) {
    return report_number(connect_again()->ask("stats"), std::string(key));
  }

  ServiceManager manager_;
  std::vector<std::string> environment_;  // For each process.
  std::vector<std::string> arguments_;
  std::string binary_;  // For the next process; empty: that of the build.
  std::vector<std::string> address_;
  std::uint16_t port_ = 0;

 private:
  ServerOptions with_environment(ServerOptions options) const {
    options.environment = environment_;
    if (!binary_.empty()) options.binary = binary_;
    return options;
  }
};

}  // namespace haricot::test
