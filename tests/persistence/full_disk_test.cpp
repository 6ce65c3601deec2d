// A full disk: new jobs are refused at once, existing jobs can be processed, which frees space
// again.

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "persistence_fixture.hpp"
#include "recorded_load.hpp"
#include "support/process_facts.hpp"

namespace haricot::test {
namespace {

using Clock = std::chrono::steady_clock;

const std::vector<std::string> kFlags = {"-s", "131072"};
constexpr std::size_t kPutBytes = 1000;
// Longer than any answer, and shorter than repeated attempts to get space.
constexpr std::chrono::seconds kAtOnce{3};

// Puts jobs until one is refused. Returns the ids of the accepted jobs. The time in which other
// processes used the core does not count.
std::vector<std::uint64_t> fill(WireClient& client) {
  constexpr int kJobsMax = 20'000;
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < kJobsMax; ++i) {
    const HeldUp held_up({});
    const auto begin = Clock::now();
    const std::string answer = client.put(numbered_body(ids.size(), kPutBytes), 5, 0, 1000);
    EXPECT_LT(Clock::now() - begin - held_up.since(), kAtOnce);
    if (inserted_id(answer) == 0) {
      EXPECT_EQ(answer, "OUT_OF_MEMORY\r\n");
      return ids;
    }
    ids.push_back(inserted_id(answer));
  }
  ADD_FAILURE() << "the disk does not get full";
  return ids;
}

void expect_deleted(WireClient& client, const std::vector<std::uint64_t>& ids) {
  std::string all;
  for (const std::uint64_t id : ids) all += "delete " + std::to_string(id) + "\r\n";
  client.send(all);
  for (const std::uint64_t id : ids) {
    ASSERT_EQ(client.read_answer().value_or("nothing"), "DELETED\r\n") << id;
  }
}

// Runs the commands of a worker for a job.
void work(WireClient& client, std::uint64_t id) {
  const std::string job = std::to_string(id);
  const auto expect = [&](const std::string& question, const char* answer) {
    const HeldUp held_up({});
    const auto begin = Clock::now();
    const std::string got = client.ask(question);
    EXPECT_TRUE(got.starts_with(answer)) << question << ": " << escaped(got.substr(0, 40));
    EXPECT_LT(Clock::now() - begin - held_up.since(), kAtOnce);
  };
  expect("reserve-job " + job, "RESERVED ");
  expect("touch " + job, "TOUCHED");
  expect("bury " + job + " 7", "BURIED");
  expect("kick-job " + job, "KICKED");
  expect("reserve-job " + job, "RESERVED ");
  expect("release " + job + " 3 1000", "RELEASED");
  expect("kick 1", "KICKED 1");
  expect("reserve", ("RESERVED " + job + " ").c_str());
  expect("release " + job + " 4 0", "RELEASED");
}

class FullDisk : public PersistenceTest {
 protected:
  // Mounts a small file system for the folder, in a mount namespace of this process and its
  // servers.
  void SetUp() override {
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=1m") == 0;
    if (!mounted) GTEST_SKIP() << "may not mount a file system: " << std::strerror(errno);
  }

  void TearDown() override {
    server_.stop();
    ::umount2(folder_.path().c_str(), MNT_DETACH);
  }

  // Fills the rest of the space.
  void add_ballast() {
    std::FILE* const file = std::fopen(ballast().c_str(), "we");
    ASSERT_NE(file, nullptr);
    const std::string bytes(4096, 'b');
    while (std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() &&
           std::fflush(file) == 0) {
    }
    std::fclose(file);
  }
  void remove_ballast() { ASSERT_EQ(std::remove(ballast().c_str()), 0); }
  std::string ballast() const { return folder_.file("ballast"); }
};

TEST_F(FullDisk, OnlyPutsAreRefused) {
  ASSERT_TRUE(start(kFlags)) << server_.failure();
  const Client client = connect();
  const auto ids = fill(*client);
  EXPECT_GT(ids.size(), 400U);  // They take less than half of the 1 MiB.
  for (std::size_t i = 0; i < ids.size(); i += 20) work(*client, ids[i]);
  EXPECT_EQ(client->put(std::string(kPutBytes, 'x')), "OUT_OF_MEMORY\r\n");
  EXPECT_TRUE(client->ask("stats").starts_with("OK "));
}

// Returns commands and the beginnings of their answers. `first` is the first job of `all`, and
// `deleted` the answer to the deletion of `all`.
std::vector<std::pair<std::string, std::string>> all_commands(const std::string& first,
                                                              const std::string& all,
                                                              const std::string& deleted) {
  return {{"put 9 0 1000 1 idp:k2:600\r\nx", "INSERTED 2 READY\r\n"},
          {"put 8 0 1000 1 idp:k2:600\r\nx", "INSERTED 2 READY 8\r\n"},
          {"put 9 0 1000 1000\r\n" + std::string(1000, 'x'), "OUT_OF_MEMORY\r\n"},
          {"capabilities", "OK "},
          {"use default", "USING default\r\n"},
          {"watch other", "WATCHING 2\r\n"},
          {"watch default 3", "WATCHING 2\r\n"},
          {"ignore other", "WATCHING 1\r\n"},
          {"reserve-mode weighted", "USING weighted\r\n"},
          {"reserve-with-timeout 0", "RESERVED " + first + " 1000\r\n"},
          {"touch " + first, "TOUCHED\r\n"},
          {"release " + first + " 3 1000", "RELEASED\r\n"},
          {"peek-delayed", "FOUND " + first + " 1000\r\n"},
          {"kick-job " + first, "KICKED\r\n"},
          {"reserve-with-abort", "RESERVED " + first + " 1000\r\n"},
          {"release " + first + " 3 0", "RELEASED\r\n"},
          {"reserve", "RESERVED " + first + " 1000\r\n"},
          {"bury " + first + " 7", "BURIED\r\n"},
          {"peek-buried", "FOUND " + first + " 1000\r\n"},
          {"kick 10", "KICKED 1\r\n"},
          {"reserve-job 1", "RESERVED 1 1\r\n"},
          {"bury 1 3", "BURIED\r\n"},
          {"reserve-job 1", "RESERVED 1 1\r\n"},
          {"release 1 9 0", "RELEASED\r\n"},
          {"reserve-mode fifo", "USING fifo\r\n"},
          {"touch-all", "TOUCHED_ALL 0\r\n"},
          {"wait-job 3 0", "TIMED_OUT\r\n"},
          {"flush-buried default", "FLUSHED 0\r\n"},
          {"reserve-batch 1", "RESERVED_BATCH 1\r\n"},
          {"list-jobs default ready 10", "OK "},
          {"scan-jobs 1 10", "OK "},
          {"list-clients 1 10", "OK "},
          {"note 4294967296 1\r\nx", "NOT_FOUND\r\n"},
          {"peek-note 3", "NOT_FOUND\r\n"},
          {"stats-tube-detail default", "OK "},
          {"stats-tubes * 10", "OK "},
          {"stats-group g", "OK "},
          {"pause-tube default 0", "PAUSED\r\n"},
          {"delete 3", "DELETED\r\n"},
          {"put 9 0 1000 1 idp:k3:600\r\nx", "INSERTED 3 DELETED\r\n"},
          {"delete-batch" + all, deleted},
          {"put 9 0 1000 1 idp:k2:600\r\nx", "INSERTED 2 READY\r\n"},
          {"drain", "DRAINING\r\n"},
          {"undrain", "NOT_DRAINING\r\n"},
          {"flush-tube default", "FLUSHED 59\r\n"}};
}

// Runs each command of beanstalkd and of the extended set, with jobs that have each kind of tag.
TEST_F(FullDisk, NoCommandButAPutIsRefused) {
  ASSERT_TRUE(start({"-s", "131072", "--allow-drain"})) << server_.failure();
  const Client client = connect();
  constexpr std::uint64_t kTagged = 60;
  for (std::uint64_t id = 1; id <= kTagged; ++id) {
    const std::string tags = " try:5 con:c:100 idp:k" + std::to_string(id) + ":600 grp:g back:1000";
    ASSERT_EQ(inserted_id(client->ask("put 9 0 1000 1" + tags + "\r\nx")), id);
  }
  const std::vector<std::uint64_t> ids = fill(*client);
  ASSERT_GT(ids.size(), 400U);
  std::string all;
  for (const std::uint64_t id : ids) all += " " + std::to_string(id);
  const std::string first = std::to_string(ids[0]);
  const std::string deleted = "DELETED_BATCH " + std::to_string(ids.size()) + " 0\r\n";
  std::string asked;
  for (const auto& [question, answer] : all_commands(first, all, deleted)) {
    asked += question.substr(0, question.find(' ')) + "\n";
    const std::string got = client->ask(question);
    EXPECT_TRUE(got.starts_with(answer)) << question.substr(0, 60) << ": " << got;
    if (question.starts_with("reserve-batch")) {
      EXPECT_TRUE(client->read_answer().value_or("").starts_with("RESERVED "));
    }
  }
  EXPECT_EQ(stat("current-jobs-ready"), 0U);
  EXPECT_EQ(stat("binlog-refusing"), 0U);
  // Checks that the list has all extended commands of the server.
  std::istringstream names(client->ask("capabilities"));
  for (std::string line; std::getline(names, line);) {
    const bool is_tag = line.starts_with("- try") || line.starts_with("- con") ||
                        line.starts_with("- idp") || line.starts_with("- grp") ||
                        line.starts_with("- aft") || line.starts_with("- back");
    if (!line.starts_with("- ") || is_tag) continue;
    EXPECT_NE(asked.find(line.substr(2)), std::string::npos) << line;
  }
}

// The records of held jobs are never refused, neither at the end of the group nor later. The record
// of the group's last job is as small as any other.
TEST_F(FullDisk, AGroupEndsOnIt) {
  ASSERT_TRUE(start({"-s", "16384"})) << server_.failure();
  const Client client = connect();
  constexpr std::uint64_t kHeld = 1500;
  ASSERT_EQ(inserted_id(client->ask("put 9 0 1000 1 grp:g\r\nx")), 1U);
  for (std::uint64_t i = 0; i < kHeld; ++i) {
    const char* const delay_s = i % 2 == 0 ? "0" : "1000";
    client->ask("put 9 " + std::string(delay_s) + " 1000 1 aft:g\r\nx");
  }
  fill(*client);
  EXPECT_EQ(report_value(client->ask("stats-group g"), "waiting-jobs"), std::to_string(kHeld));
  const std::uint64_t ready = stat("current-jobs-ready");
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
  EXPECT_TRUE(eventually([&] { return stat("current-jobs-delayed") == kHeld / 2; }));
  EXPECT_EQ(stat("current-jobs-ready"), ready - 1 + kHeld / 2);
  EXPECT_EQ(stat("binlog-refusing"), 0U);
  EXPECT_EQ(stat("binlog-errors"), 0U);
  ASSERT_TRUE(kill_and_start()) << server_.failure();
  EXPECT_EQ(stat("current-jobs-delayed"), kHeld / 2);
  const Client again = connect();
  EXPECT_EQ(again->ask("scan-jobs 1 1000").find("held"), std::string::npos);
  // An order that leaves a few jobs in each file until the end.
  std::vector<std::uint64_t> ids;
  constexpr std::uint64_t kStride = 7;
  for (std::uint64_t first = 2; first < 2 + kStride; ++first) {
    for (std::uint64_t id = first; id < 2 + kHeld; id += kStride) ids.push_back(id);
  }
  ASSERT_NO_FATAL_FAILURE(expect_deleted(*again, ids));
  EXPECT_EQ(stat("binlog-errors"), 0U);
}

TEST_F(FullDisk, ChangesOnItSurviveAKill) {
  ASSERT_TRUE(start(kFlags)) << server_.failure();
  const Client client = connect();
  const auto ids = fill(*client);
  for (std::size_t i = 0; i < ids.size(); i += 20) work(*client, ids[i]);
  expect_deleted(*client, {ids[1], ids[11], ids[21]});
  const Jobs before = read_jobs(*client, ids.back());
  ASSERT_TRUE(kill_and_start()) << server_.failure();
  EXPECT_EQ(differences(before, read_jobs(*connect(), ids.back())), "");
}

// Files are removed on a full disk, which has no space to record that. A start must not miss them.
TEST_F(FullDisk, LeavesASoundFolderWhereverItIsKilled) {
  Random random;
  const std::vector<std::string> flags = {"-f", "0", "--strict"};
  std::uint64_t oldest = 1;
  for (int life = 0; life < 24; ++life) {
    SCOPED_TRACE(life);
    ASSERT_TRUE(start(flags)) << server_.failure();
    const Client client = connect();
    std::vector<std::uint64_t> ids;
    const std::uint64_t rounds = random.between(500, 2500);
    for (std::uint64_t i = 0; i < rounds; ++i) {
      const std::uint64_t id = inserted_id(client->put(std::string(random.below(300), 'x')));
      if (id != 0) ids.push_back(id);
      if (ids.empty() || (id != 0 && !random.one_in(10))) continue;
      std::swap(ids[random.below(ids.size())], ids.back());
      client->ask("delete " + std::to_string(ids.back()));
      ids.pop_back();
    }
    kill();
    oldest = std::max(oldest, file_numbers(folder_.path()).front());
  }
  EXPECT_GT(oldest, 1U) << "no file has gone";
}

TEST_F(FullDisk, AllJobsCanBeDeletedAndThenThereIsSpaceAgain) {
  ASSERT_TRUE(start(kFlags)) << server_.failure();
  const Client client = connect();
  auto ids = fill(*client);
  // An order that leaves a few jobs in each file until the end.
  std::sort(ids.begin(), ids.end(),
            [](auto a, auto b) { return a % 7 < b % 7 || (a % 7 == b % 7 && a < b); });
  ASSERT_NO_FATAL_FAILURE(expect_deleted(*client, ids));
  ASSERT_TRUE(eventually([&] { return inserted_id(client->put("small again")) != 0; }));
  // The old files are removed one by one, each after the removal of the previous one is durable.
  std::size_t jobs_again = 0;
  EXPECT_TRUE(eventually([&] {
    jobs_again += fill(*client).size();
    return jobs_again > ids.size() / 2;
  })) << jobs_again;
}

TEST_F(FullDisk, SomeDeletesMakeSpaceForSomePuts) {
  ASSERT_TRUE(start(kFlags)) << server_.failure();
  const Client client = connect();
  std::vector<std::uint64_t> ids = fill(*client);
  for (int round = 0; round < 5; ++round) {
    SCOPED_TRACE(round);
    const auto half = ids.begin() + static_cast<std::ptrdiff_t>(ids.size() / 2);
    ASSERT_NO_FATAL_FAILURE(expect_deleted(*client, {ids.begin(), half}));
    ids.erase(ids.begin(), half);
    ASSERT_TRUE(eventually([&] {
      const std::uint64_t id = inserted_id(client->put(std::string(kPutBytes, 'x'), 5, 0, 1000));
      if (id != 0) ids.push_back(id);
      return id != 0;
    })) << "no space came back";
    const auto more = fill(*client);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  EXPECT_EQ(stat("current-jobs-ready"), ids.size());
}

// If each start began a file, it would use up the room for changes.
TEST_F(FullDisk, ChangesAreTakenHoweverOftenItIsKilled) {
  ASSERT_EQ(::mount("tmpfs", folder_.path().c_str(), "tmpfs", MS_REMOUNT, "size=2m"), 0);
  ASSERT_TRUE(start({})) << server_.failure();
  const auto ids = fill(*connect());
  ASSERT_GT(ids.size(), 500U);
  constexpr std::size_t kKills = 20;
  constexpr std::size_t kJobsOfEach = 10;
  for (std::size_t life = 0; life < kKills; ++life) {
    SCOPED_TRACE(life);
    ASSERT_TRUE(kill_and_start()) << server_.failure();
    const Client client = connect();
    for (std::size_t i = 0; i < kJobsOfEach; ++i) work(*client, ids[life * kJobsOfEach + i]);
    EXPECT_EQ(stat("binlog-errors"), 0U);
    EXPECT_EQ(stat("current-jobs-ready"), ids.size());
  }
  ASSERT_NO_FATAL_FAILURE(expect_deleted(*connect(), ids));
}

TEST_F(FullDisk, ARestartOnItLosesNothing) {
  ASSERT_TRUE(start(kFlags)) << server_.failure();
  const auto ids = fill(*connect());
  ASSERT_NO_FATAL_FAILURE(add_ballast());
  const Jobs before = read_jobs(*connect(), ids.back());
  for (const bool is_killed : {true, false, true}) {
    SCOPED_TRACE(is_killed);
    ASSERT_TRUE(is_killed ? kill_and_start() : restart()) << server_.failure();
    EXPECT_EQ(differences(before, read_jobs(*connect(), ids.back())), "");
    EXPECT_EQ(connect()->put(std::string(kPutBytes, 'x')), "OUT_OF_MEMORY\r\n");
    EXPECT_TRUE(connect()->ask("reserve").starts_with("RESERVED "));
  }
  remove_ballast();
  const Client client = connect();
  ASSERT_TRUE(eventually([&] { return stat("current-jobs-reserved") == 0; }));
  // The server tries to get space from time to time.
  const std::string first = "delete " + std::to_string(ids[0]);
  ASSERT_TRUE(eventually([&] { return client->ask(first) == "DELETED\r\n"; }));
  ASSERT_NO_FATAL_FAILURE(expect_deleted(*client, {ids.begin() + 1, ids.end()}));
  EXPECT_TRUE(eventually([&] { return inserted_id(client->put("small again")) != 0; }));
}

TEST_F(FullDisk, SpaceThatComesBackIsUsed) {
  ASSERT_TRUE(start(kFlags)) << server_.failure();
  const Client client = connect();
  ASSERT_EQ(client->put("first"), "INSERTED 1\r\n");
  ASSERT_NO_FATAL_FAILURE(add_ballast());
  const std::size_t few = fill(*client).size();
  remove_ballast();
  const std::string body(kPutBytes, 'x');
  ASSERT_TRUE(eventually([&] { return inserted_id(client->put(body)) != 0; }));
  EXPECT_GT(fill(*client).size(), few);
}

TEST_F(FullDisk, ItsBeginningAndItsEndAreReported) {
  ASSERT_TRUE(start(kFlags)) << server_.failure();
  const Client client = connect();
  EXPECT_EQ(stat("binlog-no-space"), 0U);
  ASSERT_NO_FATAL_FAILURE(add_ballast());
  fill(*client);
  EXPECT_EQ(client->put(std::string(kPutBytes, 'x')), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(stat("binlog-no-space"), 1U);
  EXPECT_EQ(stat("binlog-refused-puts"), 2U);
  const auto said = [&](const char* words) {
    return server_.standard_error().find(words) != std::string::npos;
  };
  EXPECT_TRUE(eventually([&] { return said(" level=warning event=binlog-no-space "); }));
  EXPECT_FALSE(said("event=binlog-space-again"));
  remove_ballast();
  // The server notices without a put.
  EXPECT_TRUE(eventually([&] { return said(" level=info event=binlog-space-again\n"); }))
      << server_.standard_error();
  EXPECT_EQ(stat("binlog-no-space"), 0U);
  EXPECT_NE(inserted_id(client->put(std::string(kPutBytes, 'x'))), 0U);
}

TEST_F(FullDisk, AllJobsCanBeWorkedOff) {
  ASSERT_TRUE(start(kFlags)) << server_.failure();
  const Client client = connect();
  for (const std::uint64_t id : fill(*client)) {
    work(*client, id);
    ASSERT_NO_FATAL_FAILURE(expect_deleted(*client, {id}));
  }
  EXPECT_EQ(stat("current-jobs-ready"), 0U);
}

// The file system has a fiftieth of the configured file size.
TEST_F(FullDisk, TakesFilesThatAreLargerThanItself) {
  ASSERT_TRUE(start({"-s", "52428800"})) << server_.failure();
  struct statvfs space {};
  ASSERT_EQ(::statvfs(folder_.path().c_str(), &space), 0);
  EXPECT_GT(space.f_bavail * 20, space.f_blocks);
  const Client client = connect();
  EXPECT_GT(fill(*client).size(), 500U);
  EXPECT_EQ(client->ask("delete 1"), "DELETED\r\n");
}

TEST_F(FullDisk, DeletionsAreTakenAfterARestartOnIt) {
  for (const bool is_killed : {true, false}) {
    SCOPED_TRACE(is_killed);
    ASSERT_TRUE(start(kFlags)) << server_.failure();
    const auto ids = fill(*connect());
    ASSERT_NO_FATAL_FAILURE(add_ballast());
    if (is_killed) {
      ASSERT_TRUE(kill_and_start()) << server_.failure();
    } else {
      server_.stop();
      ASSERT_NO_FATAL_FAILURE(add_ballast());  // Fills the space that the server has released.
      ASSERT_TRUE(start(kFlags)) << server_.failure();
    }
    const Client client = connect();
    ASSERT_NO_FATAL_FAILURE(expect_deleted(*client, ids));
    EXPECT_TRUE(eventually([&] { return inserted_id(client->put("small again")) != 0; }));
    server_.stop();
    remove_ballast();
  }
}

// A limit of the file size, which has the same effect on a server as a full disk.
class FileLimit : public PersistenceTest {
 protected:
  void limit_to(rlim_t bytes) {
    rlimit limit{};
    ASSERT_EQ(::prlimit(server_.pid(), RLIMIT_FSIZE, nullptr, &limit), 0);
    limit.rlim_cur = bytes;
    ASSERT_EQ(::prlimit(server_.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  }
};

TEST_F(FileLimit, IsNoReasonToEndOrToForget) {
  RecordedLoad load(seed_of_this_run(), 3);
  ASSERT_TRUE(start(kFlags)) << server_.failure();
  ASSERT_TRUE(load.connect(server_));
  load.send(50);
  ASSERT_TRUE(load.read_all());
  ASSERT_NO_FATAL_FAILURE(limit_to(50'000));
  // The server may continue with smaller files before it refuses a put.
  ASSERT_TRUE(eventually([&] {
    load.send(50);
    return load.read_all() && (load.refused() > 0 || stat("binlog-current-index") >= 6);
  }));
  EXPECT_TRUE(connect()->ask("stats").starts_with("OK "));
  ASSERT_NO_FATAL_FAILURE(limit_to(RLIM_INFINITY));
  EXPECT_TRUE(eventually([&] {
    const std::uint64_t before = load.refused();
    load.send(5);
    return load.read_all() && load.refused() == before;
  })) << "it does not recover: "
      << server_.standard_error();
  EXPECT_EQ(load.nonsense(), "");
  ASSERT_TRUE(kill_and_start()) << server_.failure();
  EXPECT_EQ(load.broken_promises(read_jobs(*connect(), load.highest_id())), "");
}

}  // namespace
}  // namespace haricot::test
