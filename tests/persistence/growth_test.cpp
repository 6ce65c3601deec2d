// The size of the folder depends on the living jobs, not on the history.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

constexpr std::uint64_t kFileBytes = 65536;
const std::vector<std::string> kSmallFiles = {"-s", "65536"};
constexpr std::uint64_t kRecordBytes = 84 + 7;  // In the tube `default`, without the body.

class Growth : public PersistenceTest {
 protected:
  void ask_many(WireClient& client, const std::string& questions, std::uint64_t answers) {
    client.send(questions);
    for (std::uint64_t i = 0; i < answers; ++i) {
      const auto answer = client.read_answer();
      ASSERT_TRUE(answer) << client.failure();
      for (const char* wrong : {"OUT_OF_MEMORY", "INTERNAL_ERROR", "NOT_FOUND"}) {
        ASSERT_FALSE(answer->starts_with(wrong)) << *answer << server_.standard_error();
      }
    }
  }

  // Returns the size of the folder after it has not changed for a while.
  std::uint64_t settled_bytes() {
    constexpr std::chrono::milliseconds kRest{300};
    std::uint64_t bytes = folder_bytes(folder_.path());
    auto since = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] {
      const std::uint64_t now = folder_bytes(folder_.path());
      if (now != bytes) since = std::chrono::steady_clock::now();
      bytes = now;
      return std::chrono::steady_clock::now() - since > kRest;
    })) << "it never comes to rest";
    return bytes;
  }

  void expect_small_soon(std::uint64_t live_bytes) {
    constexpr std::uint64_t kLockBytes = 256;  // The file `lock` has the note of the folder.
    const std::uint64_t most = std::max(3 * kFileBytes, 3 * live_bytes) + kLockBytes;
    EXPECT_TRUE(eventually([&] { return folder_bytes(folder_.path()) <= most; }))
        << folder_bytes(folder_.path()) << " bytes in " << file_numbers(folder_.path()).size()
        << " files, for " << live_bytes << " live ones";
  }
};

TEST_F(Growth, IdleRestartsLeaveTheFolderAsItIs) {
  constexpr std::uint64_t kJobs = 50'000;
  const std::string body(100, 'x');
  ASSERT_TRUE(start()) << server_.failure();
  {
    const Client client = connect();
    std::string puts;
    for (int i = 0; i < 1000; ++i) puts += "put 0 0 60 100\r\n" + body + "\r\n";
    for (std::uint64_t i = 0; i < kJobs; i += 1000) {
      ASSERT_NO_FATAL_FAILURE(ask_many(*client, puts, 1000));
    }
  }
  ASSERT_TRUE(restart()) << server_.failure();
  const std::uint64_t bytes = settled_bytes();
  const std::size_t files = file_numbers(folder_.path()).size();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(i % 2 == 0 ? restart() : kill_and_start()) << server_.failure();
    ASSERT_EQ(stat("current-jobs-ready"), kJobs);
  }
  EXPECT_LE(settled_bytes(), bytes);
  EXPECT_LE(file_numbers(folder_.path()).size(), files);
}

TEST_F(Growth, IdleRestartsWithoutJobsLeaveNothing) {
  ASSERT_TRUE(start(kSmallFiles)) << server_.failure();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(restart()) << server_.failure();
  expect_small_soon(0);
}

TEST_F(Growth, AJobThatIsReleasedAgainAndAgainTakesItsPlaceOnly) {
  constexpr int kBatch = 500;
  ASSERT_TRUE(start(kSmallFiles)) << server_.failure();
  const Client client = connect();
  ASSERT_EQ(client->put(std::string(1000, 'x'), 0, 0, 1000), "INSERTED 1\r\n");
  std::string cycles;
  for (int i = 0; i < kBatch; ++i) cycles += "reserve-job 1\r\nrelease 1 5 1000\r\n";
  for (int i = 0; i < 20; ++i) ASSERT_NO_FATAL_FAILURE(ask_many(*client, cycles, 2 * kBatch));
  expect_small_soon(kRecordBytes + 1002);
  ASSERT_TRUE(restart()) << server_.failure();
  expect_small_soon(kRecordBytes + 1002);
  EXPECT_EQ(report_value(connect()->ask("stats-job 1"), "releases"), "10000");
}

TEST_F(Growth, OneSurvivorAmongManyHoldsNoFile) {
  constexpr std::uint64_t kBatch = 100;
  constexpr std::uint64_t kSurvivors = 100;
  const std::string body(200, 'x');
  ASSERT_TRUE(start(kSmallFiles)) << server_.failure();
  const Client client = connect();
  for (std::uint64_t first = 1; first < kBatch * kSurvivors; first += kBatch) {
    std::string batch;
    for (std::uint64_t i = 0; i < kBatch; ++i) batch += "put 0 0 60 200\r\n" + body + "\r\n";
    for (std::uint64_t i = 1; i < kBatch; ++i)
      batch += "delete " + std::to_string(first + i) + "\r\n";
    ASSERT_NO_FATAL_FAILURE(ask_many(*client, batch, 2 * kBatch - 1));
  }
  expect_small_soon(kSurvivors * (kRecordBytes + 202));
  ASSERT_TRUE(kill_and_start()) << server_.failure();
  EXPECT_EQ(read_jobs(*connect(), kBatch * kSurvivors).size(), kSurvivors);
}

TEST_F(Growth, JobsDeletedAfterALongLivedOneFreeTheirSpace) {
  const std::string body(1000, 'x');
  ASSERT_TRUE(start(kSmallFiles)) << server_.failure();
  const Client client = connect();
  ASSERT_EQ(client->put("the first of all"), "INSERTED 1\r\n");
  std::string puts;
  std::string deletes;
  for (int i = 0; i < 500; ++i) puts += "put 0 0 60 1000\r\n" + body + "\r\n";
  for (int id = 2; id <= 501; ++id) deletes += "delete " + std::to_string(id) + "\r\n";
  ASSERT_NO_FATAL_FAILURE(ask_many(*client, puts, 500));
  EXPECT_GT(folder_bytes(folder_.path()), 7 * kFileBytes);
  ASSERT_NO_FATAL_FAILURE(ask_many(*client, deletes, 500));
  expect_small_soon(kRecordBytes + 18);
}

// Puts and deletes jobs without a pause in which the disk could catch up.
TEST_F(Growth, ABusyFolderStaysSmallWhileItIsBusy) {
  constexpr std::uint64_t kBatch = 200;
  const std::string body(1000, 'x');
  ASSERT_TRUE(start(kSmallFiles)) << server_.failure();
  const Client client = connect();
  std::uint64_t most = 0;
  for (std::uint64_t first = 1; first < 200 * kBatch; first += kBatch) {
    std::string batch;
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      batch += "put 0 0 60 1000\r\n" + body + "\r\ndelete " + std::to_string(first + i) + "\r\n";
    }
    ASSERT_NO_FATAL_FAILURE(ask_many(*client, batch, 2 * kBatch));
    most = std::max(most, folder_bytes(folder_.path()));
  }
  const auto numbers = file_numbers(folder_.path());
  std::printf("%llu KiB at most in %llu files\n", static_cast<unsigned long long>(most / 1024),
              static_cast<unsigned long long>(numbers.back()));
  EXPECT_GT(numbers.back(), 500U);
  // Three times the allowed three files, and the files that a turn begins.
  EXPECT_LT(most, 24 * kFileBytes);
}

}  // namespace
}  // namespace haricot::test
