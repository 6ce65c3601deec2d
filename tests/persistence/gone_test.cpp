// The folder of the binlog, or files in it, are removed under a running server.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

constexpr const char* kRefused = "INTERNAL_ERROR\r\n";

// Uses a folder in the temporary folder, so that it can be removed.
class BinlogGone : public PersistenceTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { ASSERT_EQ(::mkdir(folder().c_str(), 0700), 0); }

  std::string folder() const { return folder_.file("jobs"); }
  std::vector<std::string> flags() const {
    return {"-b", folder(), "-f", GetParam(), "-s", "65536"};
  }

  [[nodiscard]] bool start_there() {
    const auto binary = find_server_binary(ServerKind::haricot);
    return binary && server_.start({.binary = *binary, .arguments = flags()});
  }

  // Puts 300 jobs into several files, and deletes 100.
  void put_jobs() {
    const Client client = connect();
    for (int i = 1; i <= 300; ++i) {
      const std::string id = std::to_string(i);
      ASSERT_EQ(client->put(numbered_body(static_cast<std::uint64_t>(i), 700)),
                "INSERTED " + id + "\r\n");
      if (i % 3 != 0) continue;
      ASSERT_EQ(client->ask("delete " + id), "DELETED\r\n");
    }
    ASSERT_GT(file_numbers(folder()).size(), 2U);
  }
  std::string put() {
    const std::string answer = connect()->put("new");
    if (answer.starts_with("INSERTED ")) ++taken_;
    return answer;
  }
  // Returns true once a put is refused. The server checks the folder once a second, and accepts
  // puts until then.
  [[nodiscard]] bool is_refused_soon() {
    return eventually([this] { return put() == kRefused; });
  }
  [[nodiscard]] bool is_taken_soon() {
    return eventually([this] { return put().starts_with("INSERTED "); });
  }
  std::size_t lines_with(const std::string& text) {
    const std::string log = server_.standard_error();
    std::size_t lines = 0;
    for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) {
      ++lines;
    }
    return lines;
  }

  void expect_all_after_a_kill() {
    kill();
    ASSERT_TRUE(start_there()) << server_.failure();
    const Client client = connect();
    // A put that was in doubt when the removal was detected was refused, but its job is kept.
    EXPECT_GE(stat("current-jobs-ready"), 200U + taken_);
    EXPECT_LE(stat("current-jobs-ready"), 200U + taken_ + 1);
    for (int i = 1; i <= 300; ++i) {
      const std::string answer = client->ask("peek " + std::to_string(i));
      if (i % 3 == 0) {
        EXPECT_EQ(answer, "NOT_FOUND\r\n");
      } else {
        EXPECT_EQ(answer, "FOUND " + std::to_string(i) + " 700\r\n" +
                              numbered_body(static_cast<std::uint64_t>(i), 700) + "\r\n");
      }
    }
    EXPECT_EQ(lines_with("binlog-file-unfit"), 0U) << server_.standard_error();
  }

  // Removes the folder. Retries, because the server may remove or rename a file at the same time.
  bool remove_folder() {
    return eventually([this] {
      std::error_code ignored;
      std::filesystem::remove_all(folder(), ignored);
      return !std::filesystem::exists(folder());
    });
  }

  std::uint64_t taken_ = 0;
};

TEST_P(BinlogGone, AMissingFolderIsReportedOnceAndUsedWhenItReturns) {
  ASSERT_TRUE(start_there()) << server_.failure();
  ASSERT_NO_FATAL_FAILURE(put_jobs());
  ASSERT_TRUE(remove_folder());
  ASSERT_TRUE(is_refused_soon());
  EXPECT_EQ(stat("binlog-refusing"), 1U);
  EXPECT_GE(stat("binlog-errors"), 1U);
  EXPECT_EQ(connect()->ask("delete 1"), kRefused);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(put(), kRefused);
  EXPECT_EQ(lines_with("event=binlog-gone"), 1U) << server_.standard_error();
  EXPECT_NE(server_.standard_error().find("the folder " + folder() + " no longer exists"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder())) << "the server must not make it";

  ASSERT_EQ(::mkdir(folder().c_str(), 0700), 0);
  ASSERT_TRUE(is_taken_soon());
  EXPECT_EQ(stat("binlog-refusing"), 0U);
  EXPECT_EQ(lines_with("event=binlog-recovered"), 1U) << server_.standard_error();
  expect_all_after_a_kill();
}

TEST_P(BinlogGone, AllFilesAreWrittenAnew) {
  ASSERT_TRUE(start_there()) << server_.failure();
  ASSERT_NO_FATAL_FAILURE(put_jobs());
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    std::filesystem::remove(entry.path());
  }
  ASSERT_TRUE(eventually([&] {
    (void)put();
    return lines_with("event=binlog-recovered") == 1;
  }));
  EXPECT_EQ(lines_with("event=binlog-gone"), 1U) << server_.standard_error();
  // The server holds its lock again, so a second server exits.
  ServerProcess other;
  std::vector<std::string> words = flags();
  words.insert(words.end(), {"-l", "127.0.0.1", "-p", "0"});
  ASSERT_TRUE(
      other.launch({.binary = *find_server_binary(ServerKind::haricot), .arguments = words}));
  const auto end = other.wait_exit();
  EXPECT_TRUE(end && end->code == 10) << other.standard_error();
  expect_all_after_a_kill();
}

TEST_P(BinlogGone, AnOlderFileIsWrittenAnewWhilePutsAreTaken) {
  ASSERT_TRUE(start_there()) << server_.failure();
  ASSERT_NO_FATAL_FAILURE(put_jobs());
  const std::vector<std::uint64_t> numbers = file_numbers(folder());
  std::filesystem::remove(file_path(folder(), numbers[numbers.size() - 2]));
  ASSERT_TRUE(eventually([&] {
    EXPECT_TRUE(put().starts_with("INSERTED "));
    return stat("binlog-errors") > 0;
  }));
  ASSERT_TRUE(eventually([&] { return file_numbers(folder()).front() >= numbers.back(); }));
  ASSERT_TRUE(eventually([&] { return lines_with("event=binlog-recovered") == 1; }));
  expect_all_after_a_kill();
}

TEST_P(BinlogGone, FolderOfAnotherServerIsLeftAlone) {
  ASSERT_TRUE(start_there()) << server_.failure();
  ASSERT_NO_FATAL_FAILURE(put_jobs());
  std::filesystem::rename(folder(), folder_.file("moved"));
  ASSERT_EQ(::mkdir(folder().c_str(), 0700), 0);
  ServerProcess other;
  const auto binary = find_server_binary(ServerKind::haricot);
  ASSERT_TRUE(other.start({.binary = *binary, .arguments = flags()})) << other.failure();
  ASSERT_TRUE(is_refused_soon());
  ASSERT_TRUE(eventually([&] {
    (void)put();
    return lines_with("another server uses the folder") == 1;
  })) << server_.standard_error();
  // It takes connections before it has begun its file.
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(folder() + "/binlog.1"); }));
  other.kill_hard();
  // The files of the other server remain.
  ASSERT_TRUE(eventually([&] { return lines_with("has a file binlog.") == 1; }))
      << server_.standard_error();
  EXPECT_EQ(put(), kRefused);
  ASSERT_TRUE(remove_folder());
  std::filesystem::rename(folder_.file("moved"), folder());
  ASSERT_TRUE(is_taken_soon());
  expect_all_after_a_kill();
}

TEST_P(BinlogGone, AServerThatEndsWithoutAFolderReportsIt) {
  ASSERT_TRUE(start_there()) << server_.failure();
  ASSERT_NO_FATAL_FAILURE(put_jobs());
  ASSERT_TRUE(remove_folder());
  const auto end = server_.stop();
  EXPECT_TRUE(end && end->code == 1);
  EXPECT_EQ(lines_with("event=binlog-not-written"), 1U) << server_.standard_error();
}

INSTANTIATE_TEST_SUITE_P(Sync, BinlogGone, ::testing::Values("0", "50"),
                         [](const auto& ms) { return "Every" + std::string(ms.param) + "ms"; });

}  // namespace
}  // namespace haricot::test
