// A disk that fails once, permanently or for a while. No acknowledged change is lost, changes that
// cannot be stored are refused, and the server recovers with the disk.

#include <algorithm>
#include <string>
#include <tuple>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "persistence_fixture.hpp"
#include "recorded_load.hpp"
#include "traced_faults.hpp"

namespace haricot::test {
namespace {

constexpr const char* kWrites = "pwrite64,pwritev,pwritev2";
constexpr const char* kSyncs = "fdatasync,fsync,sync_file_range";
constexpr const char* kRenames = "rename,renameat,renameat2,link,linkat";

// A failure of the disk: strace's words for it, and a name for the test.
struct Fault {
  const char* name;
  std::string injection;
  bool nothing_can_be_kept;  // The server has to refuse changes.
};

Fault fault(const char* name, const std::string& calls, const char* error, const char* when,
            bool nothing_can_be_kept) {
  return {name, calls + ":error=" + error + ":when=" + when, nothing_can_be_kept};
}

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      fault("WritesFail", kWrites, "EIO", "1+", true),
      fault("WritesFindNoSpace", kWrites, "ENOSPC", "1+", true),
      fault("AWriteFails", kWrites, "EIO", "2..2", false),
      fault("AWriteFindsNoSpace", kWrites, "ENOSPC", "2..2", false),
      fault("WritesFailAfterAWhile", kWrites, "EIO", "5+", true),
      fault("EverySecondWriteFails", kWrites, "EIO", "1+2", false),
      fault("SyncsFail", kSyncs, "EIO", "1+", true),
      fault("ASyncFails", kSyncs, "EIO", "1..1", false),
      fault("SyncsFailAfterAWhile", kSyncs, "EIO", "4+", true),
      fault("SyncsFindNoSpace", kSyncs, "ENOSPC", "1+", true),
      fault("FilesCannotBeCut", "ftruncate", "EIO", "1+", false),
      fault("FilesCannotBeRenamed", kRenames, "EIO", "1+", false),
      fault("FilesCannotBeRemoved", "unlink,unlinkat", "EIO", "1+", false),
      fault("SpaceCannotBeTaken", "fallocate", "ENOSPC", "1+", false),
      fault("SpaceIsAnError", "fallocate", "EIO", "1+", false),
      fault("AnythingFails",
            std::string(kWrites) + "," + kSyncs + "," + kRenames + ",ftruncate,fallocate", "EIO",
            "1+", true),
  };
  return all;
}

class DiskTrouble : public PersistenceTest {
 protected:
  void SetUp() override {
    if (!TracedFaults::are_possible()) GTEST_SKIP() << "strace is missing, or may not trace";
  }

  // Expects answers to commands that do not need the disk.
  void expect_answers() {
    const Client client = connect();
    EXPECT_TRUE(client->ask("stats").starts_with("OK "));
    EXPECT_EQ(client->ask("use empty"), "USING empty\r\n");
    EXPECT_EQ(client->ask("watch held"), "WATCHING 2\r\n");
    EXPECT_EQ(client->ask("ignore default"), "WATCHING 1\r\n");
    EXPECT_TRUE(client->ask("reserve-with-timeout 0").starts_with("RESERVED "));
    EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
    EXPECT_EQ(client->ask("reserve-with-timeout 0"), "TIMED_OUT\r\n");
  }

  std::size_t lines_on_stderr() {
    const std::string text = server_.standard_error();
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  // Puts a job into a tube of its own, for expect_answers().
  void put_held_job(RecordedLoad& load) {
    const Client client = connect();
    client->ask("use held");
    ASSERT_EQ(client->put("a job of its own", 0, 0, 1000), "INSERTED 1\r\n");
    load.expect_put("a job of its own");
  }

  TracedFaults faults_;
};

class DiskErrors : public DiskTrouble,
                   public ::testing::WithParamInterface<std::tuple<std::size_t, std::string>> {};

TEST_P(DiskErrors, AreSurvived) {
  const Fault& fault = faults()[std::get<0>(GetParam())];
  const std::vector<std::string> flags = {"-f", std::get<1>(GetParam()), "-s", "60000"};
  RecordedLoad load(seed_of_this_run(), 3);
  ASSERT_TRUE(start(flags)) << server_.failure();
  ASSERT_NO_FATAL_FAILURE(put_held_job(load));
  ASSERT_TRUE(load.connect(server_));
  load.send(50);
  ASSERT_TRUE(load.read_all());
  ASSERT_EQ(load.refused(), 0U);

  const std::size_t lines = lines_on_stderr();
  ASSERT_TRUE(faults_.begin(server_.pid(), fault.injection));
  for (int i = 0; i < 12; ++i) {
    load.send(1 + load.below(60));
    ASSERT_TRUE(load.read_all()) << "a command was not answered";
    if (i % 4 == 0) expect_answers();
  }
  // Syncs may be rare.
  const bool is_refused = eventually(
      [&] {
        load.send(1);
        return load.read_all() && load.refused() > 0;
      },
      fault.nothing_can_be_kept ? kPatience : std::chrono::milliseconds(0));
  ASSERT_TRUE(server_.running()) << server_.standard_error();
  if (fault.nothing_can_be_kept) {
    EXPECT_TRUE(is_refused);
    EXPECT_GT(stat("binlog-errors"), 0U);
    EXPECT_TRUE(eventually([&] { return stat("binlog-refusing") != 0; }));
  }
  faults_.end();

  EXPECT_TRUE(eventually([&] {
    const std::uint64_t before = load.refused();
    load.send(5);
    return load.read_all() && load.refused() == before;
  })) << "it does not recover: "
      << server_.standard_error();
  EXPECT_TRUE(eventually([&] { return stat("binlog-refusing") == 0; }));
  // At most two lines, about the failure and its end, and two about missing space if a put finds
  // none. Further lines follow after half a minute at the earliest.
  EXPECT_LE(lines_on_stderr() - lines, 4U) << server_.standard_error();
  EXPECT_EQ(load.nonsense(), "");

  load.send(20);
  kill();
  load.read_what_came();
  ASSERT_TRUE(start(flags)) << server_.failure();
  EXPECT_EQ(load.broken_promises(read_jobs(*connect(), load.highest_id())), "");
}

// Kills the server while the disk still fails.
TEST_P(DiskErrors, AndAKillAreSurvived) {
  const Fault& fault = faults()[std::get<0>(GetParam())];
  const std::vector<std::string> flags = {"-f", std::get<1>(GetParam()), "-s", "60000"};
  RecordedLoad load(seed_of_this_run(), 3);
  ASSERT_TRUE(start(flags)) << server_.failure();
  ASSERT_TRUE(load.connect(server_));
  load.send(50);
  ASSERT_TRUE(load.read_all());
  ASSERT_TRUE(faults_.begin(server_.pid(), fault.injection));
  for (int i = 0; i < 4; ++i) {
    load.send(1 + load.below(60));
    ASSERT_TRUE(load.read_all()) << "a command was not answered";
  }
  load.send(20);
  kill();
  faults_.end();
  load.read_what_came();
  EXPECT_EQ(load.nonsense(), "");
  ASSERT_TRUE(start(flags)) << server_.failure();
  EXPECT_EQ(load.broken_promises(read_jobs(*connect(), load.highest_id())), "");
}

INSTANTIATE_TEST_SUITE_P(All, DiskErrors,
                         ::testing::Combine(::testing::Range<std::size_t>(0, faults().size()),
                                            ::testing::Values(std::string("0"), std::string("50"))),
                         [](const auto& chosen) {
                           return std::string(faults()[std::get<0>(chosen.param)].name) + "Sync" +
                                  std::get<1>(chosen.param);
                         });

TEST_F(DiskTrouble, WithoutASyncNothingIsAcknowledgedThatWasToBeSynced) {
  ASSERT_TRUE(start({"-f", "0"})) << server_.failure();
  const Client client = connect();
  ASSERT_EQ(client->put("good"), "INSERTED 1\r\n");
  ASSERT_TRUE(faults_.begin(server_.pid(), std::string(kSyncs) + ":error=EIO:when=1+"));
  for (int i = 0; i < 20; ++i) {
    const std::string answer = client->put("bad");
    EXPECT_TRUE(answer == "INTERNAL_ERROR\r\n" || answer == "OUT_OF_MEMORY\r\n") << answer;
  }
  // Commands without a record do not need the disk.
  EXPECT_EQ(client->ask("reserve"), "RESERVED 1 4\r\ngood\r\n");
  EXPECT_EQ(client->ask("touch 1"), "TOUCHED\r\n");
}

// INTERNAL_ERROR means that the result is unknown: the job existed when writing its record failed.
// OUT_OF_MEMORY means that there is no job.
TEST_F(DiskTrouble, OnlyJobsThatAreServedAfterARefusalAreKept) {
  ASSERT_TRUE(start({"-f", "50"})) << server_.failure();
  const Client client = connect();
  ASSERT_EQ(client->put("good"), "INSERTED 1\r\n");
  ASSERT_TRUE(faults_.begin(server_.pid(), std::string(kWrites) + ":error=EIO:when=1+"));
  std::uint64_t least = 1;
  std::uint64_t unknown = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string answer = client->put("bad");
    if (inserted_id(answer) != 0) {
      ++least;
    } else if (answer == "INTERNAL_ERROR\r\n") {
      ++unknown;
    } else {
      EXPECT_EQ(answer, "OUT_OF_MEMORY\r\n");
    }
  }
  const std::uint64_t served = stat("current-jobs-ready");
  EXPECT_GE(served, least);
  EXPECT_LE(served, least + unknown);
  EXPECT_LT(least, 51U);
  faults_.end();
  ASSERT_TRUE(eventually([&] { return inserted_id(client->put("good")) != 0; }));
  ASSERT_TRUE(kill_and_start()) << server_.failure();
  EXPECT_GT(stat("current-jobs-ready"), served);
}

TEST_F(DiskTrouble, TheReportEndsWithTheStateOfTheDisk) {
  ASSERT_TRUE(start()) << server_.failure();
  const std::string report = connect()->ask("stats");
  const std::size_t platform = report.find("\nplatform: ");
  ASSERT_NE(platform, std::string::npos);
  const std::string behind = report.substr(report.find('\n', platform + 1));
  EXPECT_TRUE(
      behind.starts_with("\nbinlog-errors: 0\nbinlog-refusing: 0\nbinlog-no-space: 0\n"
                         "binlog-refused-puts: 0\nbinlog-sync-lag: 0\nharicot-version: \""))
      << behind;
}

}  // namespace
}  // namespace haricot::test
