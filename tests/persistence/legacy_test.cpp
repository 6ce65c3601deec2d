// Folders of other servers that crashed: undamaged records are read, others are reported or
// skipped, and no readable folder is refused.

#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <string>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "legacy_log.hpp"
#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

class Legacy : public PersistenceTest {
 protected:
  static LegacyRecord job(std::uint64_t id) {
    return {.tube = "old",
            .id = id,
            .priority = 5,
            .body = numbered_body(id, 60),
            .created_at = std::time(nullptr)};
  }

  void expect_jobs(std::uint64_t first, std::uint64_t last) {
    const Jobs jobs = read_jobs(*connect(), last + 10);
    EXPECT_EQ(jobs.size(), last + 1 - first);
    for (std::uint64_t id = first; id <= last; ++id) {
      ASSERT_TRUE(jobs.contains(id)) << id;
      EXPECT_EQ(jobs.at(id).body, numbered_body(id, 60));
    }
  }
};

TEST_F(Legacy, AFileThatEndsInTheMiddleOfARecordIsReadUntilThere) {
  std::string whole = legacy_version();
  for (std::uint64_t id = 1; id <= 3; ++id) whole += legacy_bytes(job(id));
  const std::string last = legacy_bytes(job(4));
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{7}, std::size_t{9}, std::size_t{40},
                                  std::size_t{88}, last.size() - 40, last.size() - 1}) {
    SCOPED_TRACE(bytes);
    for (const std::uint64_t number : file_numbers(folder_.path())) {
      ASSERT_EQ(std::remove(file_path(folder_.path(), number).c_str()), 0);
    }
    ASSERT_TRUE(write_file(file_path(folder_.path(), 1), whole + last.substr(0, bytes)));
    ASSERT_TRUE(start()) << server_.failure();
    expect_jobs(1, 3);
    ASSERT_NO_FATAL_FAILURE(stop());
  }
}

// A crash leaves zeros if files are preallocated.
TEST_F(Legacy, ZerosInPlaceOfTheRestOfARecordEndTheFile) {
  std::string bytes = legacy_version();
  for (std::uint64_t id = 1; id <= 3; ++id) bytes += legacy_bytes(job(id));
  const std::string last = legacy_bytes(job(4));
  bytes += last.substr(0, 11) + std::string(5000, '\0');
  ASSERT_TRUE(write_file(file_path(folder_.path(), 1), bytes));
  ASSERT_TRUE(start()) << server_.failure();
  const Jobs jobs = read_jobs(*connect(), 10);
  for (std::uint64_t id = 1; id <= 3; ++id) EXPECT_TRUE(jobs.contains(id)) << id;
}

TEST_F(Legacy, RubbishInAFileLosesTheRestOfTheFileAndIsReported) {
  std::string first = legacy_version();
  std::string second = legacy_version();
  for (std::uint64_t id = 1; id <= 3; ++id) first += legacy_bytes(job(id));
  first += std::string(200, '\xff');
  for (std::uint64_t id = 4; id <= 6; ++id) second += legacy_bytes(job(id));
  ASSERT_TRUE(write_file(file_path(folder_.path(), 1), first));
  ASSERT_TRUE(write_file(file_path(folder_.path(), 2), second));
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_TRUE(connect()->ask("stats").starts_with("OK "));  // The start's log is complete.
  const std::string said = server_.standard_error();
  EXPECT_NE(said.find("binlog.1"), std::string::npos) << said;
  expect_jobs(1, 6);
  EXPECT_TRUE(read_file(folder_.file("binlog.1.damaged.1")) == first) << said;
}

TEST_F(Legacy, ALengthThatCannotBeIsNotBelieved) {
  LegacyRecord huge = job(2);
  std::string bytes = legacy_version() + legacy_bytes(job(1)) + legacy_bytes(huge);
  const std::size_t body_size = bytes.size() - 62 - 77 + 32;
  for (const std::string& size : {std::string("\xff\xff\xff\xff"), std::string("\xff\xff\xff\x7f"),
                                  std::string("\0\0\0\0", 4), std::string("\1\0\0\0", 4)}) {
    SCOPED_TRACE(escaped(size));
    TemporaryFolder folder;
    ASSERT_TRUE(write_file(file_path(folder.path(), 1), bytes.replace(body_size, 4, size)));
    ServerProcess server;
    const auto binary = find_server_binary(ServerKind::haricot);
    ASSERT_TRUE(binary);
    ASSERT_TRUE(server.start({.binary = *binary, .arguments = {"-b", folder.path()}}))
        << server.failure();
    WireClient client;
    ASSERT_TRUE(client.connect(server));
    EXPECT_EQ(client.ask("peek 1"), "FOUND 1 60\r\n" + numbered_body(1, 60) + "\r\n");
    EXPECT_EQ(client.ask("peek 2"), "NOT_FOUND\r\n");
  }
}

// Our files follow the old ones and receive the jobs that are still in them.
TEST_F(Legacy, OldFilesGoWhenTheirJobsAreGone) {
  std::string bytes = legacy_version();
  for (std::uint64_t id = 1; id <= 50; ++id) bytes += legacy_bytes(job(id));
  ASSERT_TRUE(write_file(file_path(folder_.path(), 41), bytes));
  ASSERT_TRUE(start()) << server_.failure();
  const Client client = connect();
  for (std::uint64_t id = 1; id <= 50; ++id) {
    ASSERT_EQ(client->ask("delete " + std::to_string(id)), "DELETED\r\n");
  }
  EXPECT_TRUE(eventually([&] { return file_numbers(folder_.path()).front() > 41; }));
  ASSERT_TRUE(kill_and_start()) << server_.failure();
  EXPECT_EQ(inserted_id(connect()->put("next")), 51U);
}

}  // namespace
}  // namespace haricot::test
