// Twenty restarts in a row with clients of all kinds at work: no connection is lost, no answer is
// wrong, and each job comes exactly once.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/hand_over_fixture.hpp"

namespace haricot::test {
namespace {

class HandOverUnderLoad : public HandOverTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr int kRestarts = 20;
  static constexpr int kOfEachKind = 20;

  // Takes jobs of the shared tube until all producers have ended and the tube is empty.
  void work() {
    WireClient client;
    if (!client.connect_tcp(port_)) return complain("no connection");
    if (client.ask("watch shared") != "WATCHING 2\r\n") return complain("watch");
    while (!has_failed_) {
      const bool was_over = is_over_;
      const std::string got = client.ask("reserve-with-timeout 0");
      if (got == "TIMED_OUT\r\n") {
        if (was_over) return;
        std::this_thread::yield();
        continue;
      }
      if (!got.starts_with("RESERVED ")) return complain("reserve: " + got);
      const std::string id = got.substr(9, got.find(' ', 9) - 9);
      const std::string body = got.substr(got.find('\n') + 1);
      {
        const std::lock_guard guard(lock_);
        if (!taken_.insert(body).second) return complain("it comes twice: " + body);
      }
      if (const std::string is = client.ask("delete " + id); is != "DELETED\r\n") {
        return complain("delete: " + is);
      }
    }
  }
  void produce(int number) {
    WireClient client;
    if (!client.connect_tcp(port_)) return complain("no connection");
    if (client.ask("use shared") != "USING shared\r\n") return complain("use");
    for (int i = 0; !is_over_; ++i) {
      const std::string body = std::to_string(number) + "-" + std::to_string(i);
      if (const std::string is = client.put(body); !is.starts_with("INSERTED ")) {
        return complain("put: " + is);
      }
      const std::lock_guard guard(lock_);
      put_.insert(body + "\r\n");
    }
  }
  void complain(const std::string& what) {
    const std::lock_guard guard(complaints_);
    if (wrong_.empty()) wrong_ = what;
    has_failed_ = is_over_ = true;
  }

  std::mutex lock_;
  std::mutex complaints_;
  std::set<std::string> put_, taken_;
  std::atomic<bool> is_over_ = false;  // The producers stop.
  std::atomic<bool> has_failed_ = false;
  std::string wrong_;
};

TEST_P(HandOverUnderLoad, NothingIsLostAndNothingComesTwice) {
  start_first(*GetParam() == '\0'
                  ? std::vector<std::string>{}
                  : std::vector<std::string>{"-b", folder_.path(), "-f", GetParam()});
  const std::vector<Client> waiting = connect(kOfEachKind);
  const std::vector<Client> holding = connect(kOfEachKind);
  const std::vector<Client> in_line = connect(kOfEachKind);
  const std::vector<Client> in_body = connect(kOfEachKind);
  const std::vector<Client> unread = connect(kOfEachKind);
  std::vector<std::string> held;
  for (std::size_t i = 0; i < kOfEachKind; ++i) {
    ASSERT_EQ(waiting[i]->ask("watch wait-" + std::to_string(i)), "WATCHING 2\r\n");
    ASSERT_EQ(waiting[i]->ask("ignore default"), "WATCHING 1\r\n");
    ASSERT_TRUE(waiting[i]->send_line("reserve"));
    const std::string put = holding[i]->put("held");
    ASSERT_TRUE(put.starts_with("INSERTED ")) << put;
    held.push_back(put.substr(9, put.size() - 11));
    ASSERT_EQ(holding[i]->ask("reserve-job " + held[i]), "RESERVED " + held[i] + " 4\r\nheld\r\n");
    ASSERT_TRUE(in_line[i]->send("list-tube"));
    ASSERT_TRUE(in_body[i]->send("put 0 0 60 10\r\n01234"));
    for (int times = 0; times < 100; ++times) ASSERT_TRUE(unread[i]->send_line("stats"));
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([this] { work(); });
    threads.emplace_back([this, i] { produce(i); });
  }
  for (int i = 0; i < kRestarts && !HasFatalFailure(); ++i) restart();
  is_over_ = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong_, "") << server_.standard_error();
  EXPECT_EQ(put_, taken_);
  EXPECT_GT(put_.size(), static_cast<std::size_t>(kRestarts));

  for (std::size_t i = 0; i < kOfEachKind && !HasFailure(); ++i) {
    EXPECT_EQ(holding[i]->ask("delete " + held[i]), "DELETED\r\n");
    EXPECT_EQ(in_line[i]->ask("-used"), "USING default\r\n");
    const std::string put = in_body[i]->ask("56789");
    EXPECT_TRUE(put.starts_with("INSERTED ")) << put;
    EXPECT_EQ(in_body[i]->ask("delete " + put.substr(9, put.size() - 11)), "DELETED\r\n");
    for (int times = 0; times < 100; ++times) {
      const std::string report = unread[i]->read_answer().value_or("");
      EXPECT_TRUE(report.starts_with("OK ") && report.ends_with("\n\r\n")) << report;
    }
    EXPECT_EQ(in_line[i]->ask("use wait-" + std::to_string(i)),
              "USING wait-" + std::to_string(i) + "\r\n");
    const std::string last = in_line[i]->put("last");
    const std::string id = last.substr(9, last.size() - 11);
    EXPECT_EQ(waiting[i]->read_answer(), "RESERVED " + id + " 4\r\nlast\r\n");
  }
  EXPECT_EQ(stat("current-jobs-ready"), 0U);
  EXPECT_EQ(stat("current-jobs-reserved"), static_cast<std::uint64_t>(kOfEachKind));
}

INSTANTIATE_TEST_SUITE_P(Of, HandOverUnderLoad, ::testing::Values("", "0", "50"),
                         [](const auto& of) {
                           return *of.param == '\0' ? std::string("Memory")
                                                    : std::string("Syncs") + of.param;
                         });

}  // namespace
}  // namespace haricot::test
