// A folder that haricotd and beanstalkd use in turns: each reads the files of the other.

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <vector>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "legacy_log.hpp"
#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

constexpr ServerKind kHaricot = ServerKind::haricot;
constexpr ServerKind kBeanstalkd = ServerKind::beanstalkd_1_12;
// Small files, so that there are several and compaction copies jobs.
const std::vector<std::string> kTinyFiles = {"-s", "16384"};

class Interop : public PersistenceTest {
 protected:
  // Puts jobs into several tubes, deletes most of them, and puts the rest into all states. Returns
  // the number of assigned ids.
  std::uint64_t fill() {
    const Client client = connect();
    constexpr std::uint64_t kJobs = 400;
    static constexpr const char* kTubes[] = {"default", "a",
                                             "tube-of-forty-bytes-or-so-for-a-change"};
    for (std::uint64_t id = 1; id <= kJobs; ++id) {
      const std::string tube = kTubes[id % 3];
      EXPECT_EQ(client->ask("use " + tube), "USING " + tube + "\r\n");
      const auto number = static_cast<std::uint32_t>(id);
      const std::uint32_t delay = id % 10 == 4 ? 1000 + number : 0;
      const std::string body = id % 7 == 0 ? "" : numbered_body(id, 12 + id * 37 % 500);
      EXPECT_EQ(inserted_id(client->put(body, number * 3, delay, 60 + number)), id);
      // Deletes a part of every ten jobs, so that files get sparse.
      if (id % 10 == 0) {
        for (std::uint64_t old = id - 9; old < id - 6; ++old) remove(*client, old);
      }
      if (id % 50 == 0) {
        for (std::uint64_t old = id - 46; old < id - 20; ++old) {
          if (old % 10 > 3 || old % 10 == 0) remove(*client, old);
        }
      }
    }
    return kJobs;
  }

  void change_states(std::uint64_t from, std::uint64_t to, bool with_undelayed_release) {
    const Client client = connect();
    // Downwards, so that the order of burying differs from that of the ids.
    for (std::uint64_t id = to; id >= from; --id) {
      const std::string number = std::to_string(id);
      if (client->ask("peek " + number) == "NOT_FOUND\r\n") continue;
      switch (id % 9) {
        case 0:
          take(*client, id);
          EXPECT_EQ(client->ask("bury " + number + " 5"), "BURIED\r\n");
          break;
        case 1:
          take(*client, id);
          EXPECT_EQ(client->ask("release " + number + " 6 2000"), "RELEASED\r\n");
          break;
        case 2:
          take(*client, id);
          EXPECT_EQ(client->ask("bury " + number + " 7"), "BURIED\r\n");
          EXPECT_EQ(client->ask("kick-job " + number), "KICKED\r\n");
          break;
        case 3:
          if (!with_undelayed_release) break;
          take(*client, id);
          EXPECT_EQ(client->ask("release " + number + " 8 0"), "RELEASED\r\n");
          break;
        default:
          break;
      }
    }
  }

  static void take(WireClient& client, std::uint64_t id) {
    EXPECT_TRUE(client.ask("reserve-job " + std::to_string(id)).starts_with("RESERVED ")) << id;
  }
  static void remove(WireClient& client, std::uint64_t id) {
    EXPECT_EQ(client.ask("delete " + std::to_string(id)), "DELETED\r\n") << id;
  }
  Jobs jobs(std::uint64_t highest) { return read_jobs(*connect(), highest); }

  std::vector<std::string> buried_order(const std::string& tube) {
    const Client client = connect();
    client->ask("use " + tube);
    std::vector<std::string> bodies;
    for (;;) {
      const std::string found = client->ask("peek-buried");
      if (!found.starts_with("FOUND ")) return bodies;
      bodies.push_back(found.substr(found.find("\r\n")));
      EXPECT_EQ(client->ask("kick 1"), "KICKED 1\r\n");
    }
  }
};

TEST_F(Interop, HaricotdReadsTheFilesOfBeanstalkd) {
  ASSERT_TRUE(start(kBeanstalkd, kTinyFiles)) << server_.failure();
  const std::uint64_t highest = fill();
  change_states(1, highest, false);
  const Jobs before = jobs(highest);
  EXPECT_GT(before.size(), 50U);
  EXPECT_GT(file_numbers(folder_.path()).size(), 2U);
  ASSERT_NO_FATAL_FAILURE(stop());

  ASSERT_TRUE(start(kHaricot, kTinyFiles)) << server_.failure();
  EXPECT_EQ(differences(before, jobs(highest)), "");
  EXPECT_EQ(inserted_id(connect()->put("next")), highest + 1);
  // haricotd also reads its own files.
  ASSERT_TRUE(restart()) << server_.failure();
  Jobs after = jobs(highest + 1);
  EXPECT_EQ(after.erase(highest + 1), 1U);
  EXPECT_EQ(differences(before, after), "");
  EXPECT_EQ(server_.standard_error().find("damage"), std::string::npos) << server_.standard_error();
}

TEST_F(Interop, HaricotdReadsTheFilesOfAKilledBeanstalkd) {
  ASSERT_TRUE(start(kBeanstalkd, kTinyFiles)) << server_.failure();
  const std::uint64_t highest = fill();
  change_states(1, highest, false);
  const Jobs before = jobs(highest);
  kill();
  ASSERT_TRUE(start(kHaricot, kTinyFiles)) << server_.failure();
  EXPECT_EQ(differences(before, jobs(highest)), "");
}

TEST_F(Interop, BeanstalkdReadsTheFilesOfHaricotd) {
  ASSERT_TRUE(start(kHaricot, kTinyFiles)) << server_.failure();
  const std::uint64_t highest = fill();
  change_states(1, highest, true);
  const Jobs before = jobs(highest);
  EXPECT_GT(before.size(), 50U);
  EXPECT_GT(file_numbers(folder_.path()).size(), 2U);
  ASSERT_NO_FATAL_FAILURE(stop());

  ASSERT_TRUE(start(kBeanstalkd, kTinyFiles)) << server_.failure();
  EXPECT_EQ(differences(before, jobs(highest), {.beanstalkd_counted = true}), "");
  EXPECT_EQ(server_.standard_error(), "");
}

TEST_F(Interop, BeanstalkdReadsTheFilesOfAKilledHaricotd) {
  ASSERT_TRUE(start(kHaricot, kTinyFiles)) << server_.failure();
  const std::uint64_t highest = fill();
  change_states(1, highest, true);
  const Jobs before = jobs(highest);
  kill();
  ASSERT_TRUE(start(kBeanstalkd, kTinyFiles)) << server_.failure();
  EXPECT_EQ(differences(before, jobs(highest), {.beanstalkd_counted = true}), "");
  EXPECT_EQ(server_.standard_error(), "");
}

// beanstalkd skips the records of tags and of keys that outlive their jobs. So it restores all
// living jobs and no deleted one, and ignores lanes.
TEST_F(Interop, BeanstalkdReadsJobsWithTags) {
  ASSERT_TRUE(start(kHaricot, kTinyFiles)) << server_.failure();
  const Client client = connect();
  constexpr std::uint64_t kJobs = 300;
  static constexpr const char* kTags[] = {
      "con:key", "con:another-key:2 idp:", "try:3 con:key idp:", "try:2 back:60"};
  const auto tags_of = [](std::uint64_t id) {
    const std::string tags = kTags[id % 4];
    if (!tags.ends_with(':')) return tags;
    return tags + "key-" + std::to_string(id) + (id % 4 == 1 ? ":3600" : "");
  };
  for (std::uint64_t id = 1; id <= kJobs; ++id) {
    const std::string body = numbered_body(id, 100);
    EXPECT_EQ(client->ask("put 9 " + std::string(id % 10 == 4 ? "1000" : "0") + " 60 100 " +
                          tags_of(id) + "\r\n" + body),
              "INSERTED " + std::to_string(id) + "\r\n");
    // Makes files sparse, so that compaction copies jobs with their tags.
    if (id > 20 && id % 3 != 0) remove(*client, id - 20);
  }
  for (const std::uint64_t id : {kJobs, kJobs - 1}) {
    take(*client, id);
    EXPECT_EQ(client->ask("bury " + std::to_string(id) + " 5"), "BURIED\r\n");
  }
  EXPECT_TRUE(client->ask("reserve").starts_with("RESERVED "));
  EXPECT_TRUE(client->ask("reserve").starts_with("RESERVED "));
  EXPECT_TRUE(client->ask("reserve").starts_with("RESERVED "));
  EXPECT_GT(file_numbers(folder_.path()).size(), 2U);
  ASSERT_NO_FATAL_FAILURE(stop());
  ASSERT_TRUE(start(kHaricot, kTinyFiles)) << server_.failure();
  // A delayed job that was copied still has its key.
  EXPECT_TRUE(
      connect()->ask("put 9 0 60 1 " + tags_of(34) + "\r\nx").starts_with("INSERTED 34 DELAYED"));
  // The jobs that were deleted first and last have left their keys.
  for (const std::uint64_t id : {5U, 273U}) {
    EXPECT_EQ(connect()->ask("put 9 0 60 1 " + tags_of(id) + "\r\nx"),
              "INSERTED " + std::to_string(id) + " DELETED\r\n");
  }
  const Jobs before = jobs(kJobs);
  const std::uint64_t ready = stat("current-jobs-ready");
  EXPECT_GT(ready, 50U);
  kill();

  ASSERT_TRUE(start(kBeanstalkd, kTinyFiles)) << server_.failure();
  EXPECT_EQ(differences(before, jobs(kJobs), {.beanstalkd_counted = true}), "");
  EXPECT_EQ(server_.standard_error(), "");
  const Client worker = connect();
  for (std::uint64_t i = 0; i < ready; ++i) {
    ASSERT_TRUE(worker->ask("reserve-with-timeout 0").starts_with("RESERVED ")) << i;
  }
  EXPECT_EQ(worker->ask("reserve-with-timeout 0"), "TIMED_OUT\r\n");
}

TEST_F(Interop, ThereAndBackAgainNothingIsLost) {
  ASSERT_TRUE(start(kHaricot, kTinyFiles)) << server_.failure();
  const std::uint64_t highest = fill();
  change_states(1, highest / 2, true);
  Jobs before = jobs(highest);
  ASSERT_NO_FATAL_FAILURE(stop());

  ASSERT_TRUE(start(kBeanstalkd, kTinyFiles)) << server_.failure();
  change_states(highest / 2 + 1, highest, false);
  EXPECT_EQ(inserted_id(connect()->put("put into beanstalkd", 11, 0, 22)), highest + 1);
  for (std::uint64_t id = 1; id < highest; id += 8) {
    if (before.contains(id)) remove(*connect(), id);
  }
  before = jobs(highest + 1);
  ASSERT_NO_FATAL_FAILURE(stop());

  ASSERT_TRUE(start(kHaricot, kTinyFiles)) << server_.failure();
  EXPECT_EQ(differences(before, jobs(highest + 1), {.beanstalkd_counted = true}), "");
  EXPECT_EQ(inserted_id(connect()->put("next")), highest + 2);
}

TEST_F(Interop, ReservedJobsAreReadyForTheOtherServer) {
  for (const auto& [first, second] :
       {std::pair(kHaricot, kBeanstalkd), std::pair(kBeanstalkd, kHaricot)}) {
    SCOPED_TRACE(to_string(first));
    ASSERT_TRUE(start(first)) << server_.failure();
    const std::uint64_t id = inserted_id(connect()->put("held", 3, 0, 44));
    const Jobs before = jobs(id);
    const Client holder = connect();
    take(*holder, id);
    kill();
    ASSERT_TRUE(start(second)) << server_.failure();
    EXPECT_EQ(differences(before, jobs(id)), "");
    remove(*connect(), id);
    ASSERT_NO_FATAL_FAILURE(stop());
  }
}

TEST_F(Interop, IdsGoOnThoughHaricotdHasNoJobsLeft) {
  ASSERT_TRUE(start(kHaricot)) << server_.failure();
  for (std::uint64_t id = 1; id <= 20; ++id) {
    EXPECT_EQ(inserted_id(connect()->put("x")), id);
    remove(*connect(), id);
  }
  ASSERT_TRUE(restart()) << server_.failure();
  ASSERT_TRUE(restart()) << server_.failure();
  ASSERT_NO_FATAL_FAILURE(stop());
  ASSERT_TRUE(start(kBeanstalkd)) << server_.failure();
  EXPECT_EQ(stat("current-jobs-ready"), 0U);
  EXPECT_GT(inserted_id(connect()->put("x")), 20U);
}

TEST_F(Interop, JobsOfAnyBytesGoBothWays) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::string body = bytes + "\r\ndelete 1\r\n" + std::string(1000, '\0');
  const std::string tube(200, 't');
  ASSERT_TRUE(start(kHaricot)) << server_.failure();
  Client client = connect();
  client->ask("use " + tube);
  ASSERT_EQ(client->put(body, 4294967295, 4294967295, 4294967295), "INSERTED 1\r\n");
  ASSERT_EQ(client->put("", 1), "INSERTED 2\r\n");
  const Jobs before = jobs(2);
  for (const ServerKind kind : {kBeanstalkd, kHaricot, kBeanstalkd}) {
    ASSERT_NO_FATAL_FAILURE(stop());
    ASSERT_TRUE(start(kind)) << server_.failure();
    EXPECT_EQ(differences(before, jobs(2)), "") << to_string(kind);
  }
}

// Returns the jobs that haricotd restores from the records of the next test.
Jobs jobs_of_the_oldest() {
  return {
      {3,
       {.id = 3,
        .tube = "default",
        .body = "ready",
        .state = "ready",
        .priority = 7,
        .ttr = 61,
        .age = 100,
        .counters = {1, 2, 3, 0, 5}}},
      {4,
       {.id = 4,
        .tube = "old",
        .body = std::string("bi\0nary", 7),
        .state = "delayed",
        .delay = 1000,
        .ttr = 60,
        .age = 10,
        .time_left = 989}},
      {5,
       {.id = 5,
        .tube = "old",
        .body = "buried",
        .state = "buried",
        .priority = 99,
        .ttr = 60,
        .counters = {1, 0, 0, 1, 0}}},
      {9, {.id = 9, .tube = "old", .state = "ready", .ttr = 60}},
  };
}

// A folder of a server of ten years ago.
TEST_F(Interop, HaricotdReadsTheFilesOfTheOldestBeanstalkd) {
  const std::int64_t now = std::time(nullptr);
  const Jobs expected = jobs_of_the_oldest();
  const LegacyRecord ready{.tube = "default",
                           .id = 3,
                           .priority = 7,
                           .ttr_seconds = 61,
                           .body = "ready",
                           .created_at = now - 100,
                           .counters = {1, 2, 3, 0, 5}};
  const LegacyRecord delayed{.tube = "old",
                             .id = 4,
                             .delay_seconds = 1000,
                             .body = std::string("bi\0nary", 7),
                             .created_at = now - 10,
                             .deadline_at = now + 990,
                             .state = LegacyState::delayed};
  LegacyRecord buried{.tube = "old", .id = 5, .body = "buried", .created_at = now};
  const LegacyRecord gone{.tube = "old", .id = 6, .body = "gone", .created_at = now};
  const LegacyRecord held{
      .tube = "old", .id = 9, .body = "", .created_at = now, .state = LegacyState::reserved};
  std::string first = legacy_version();
  for (const LegacyRecord& record : {ready, delayed, buried}) first += legacy_bytes(record);
  std::string second = legacy_version() + legacy_bytes(gone) + legacy_bytes(held);
  buried.tube.clear();
  buried.priority = 99;
  buried.counters = {1, 0, 0, 1, 0};
  buried.state = LegacyState::buried;
  second += legacy_bytes(buried);
  second += legacy_bytes({.id = 6, .created_at = now, .state = LegacyState::deleted}) +
            std::string(4096, '\0');
  ASSERT_TRUE(write_file(file_path(folder_.path(), 7), first));
  ASSERT_TRUE(write_file(file_path(folder_.path(), 8), second));

  ASSERT_TRUE(start(kHaricot)) << server_.failure();
  EXPECT_EQ(differences(expected, jobs(12)), "");
  EXPECT_EQ(inserted_id(connect()->put("next")), 10U);
  remove(*connect(), 10);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(kill_and_start()) << server_.failure();
    EXPECT_EQ(differences(expected, jobs(12)), "");
  }
}

TEST_F(Interop, TheOrderOfBuriedJobsOutlivesManyFiles) {
  ASSERT_TRUE(start(kHaricot, kTinyFiles)) << server_.failure();
  const Client client = connect();
  std::vector<std::string> expected;
  for (std::uint64_t id = 1; id <= 100; ++id) client->put(numbered_body(id, 300));
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t id = (i * 37) % 100 + 1;
    take(*client, id);
    EXPECT_EQ(client->ask("bury " + std::to_string(id) + " 0"), "BURIED\r\n");
    expected.push_back("\r\n" + numbered_body(id, 300) + "\r\n");
  }
  ASSERT_TRUE(restart()) << server_.failure();
  ASSERT_TRUE(kill_and_start()) << server_.failure();
  EXPECT_EQ(buried_order("default"), expected);
}

// Two files have the same number, one of them with a leading zero. beanstalkd reads the other one;
// haricotd does not start.
TEST_F(Interop, AFileWithALeadingZeroIsIgnoredByBeanstalkdAndRefused) {
  for (const ServerKind written_by : {kBeanstalkd, kHaricot}) {
    ASSERT_TRUE(start(written_by)) << server_.failure();
    EXPECT_TRUE(connect()->put("the other").starts_with("INSERTED "));
    ASSERT_NO_FATAL_FAILURE(stop());
    const std::string other = read_file(file_path(folder_.path(), file_numbers(folder_.path())[0]));
    for (const auto& [name, bytes] : folder_contents(folder_.path())) {
      ASSERT_EQ(::unlink(folder_.file(name).c_str()), 0);
    }
    ASSERT_EQ(::unlink(folder_.file("lock").c_str()), 0);

    ASSERT_TRUE(start(written_by)) << server_.failure();
    EXPECT_TRUE(connect()->put("read").starts_with("INSERTED "));
    ASSERT_NO_FATAL_FAILURE(stop());
    const std::string first = "binlog." + std::to_string(file_numbers(folder_.path()).front());
    ASSERT_EQ(first, "binlog.1");
    const std::string with_zero = folder_.file("binlog.01");
    ASSERT_TRUE(write_file(with_zero, other));
    ASSERT_TRUE(start(kBeanstalkd)) << server_.failure();
    EXPECT_EQ(stat("current-jobs-ready"), 1U);
    EXPECT_TRUE(connect()->ask("peek-ready").ends_with("\r\nread\r\n"));
    ASSERT_NO_FATAL_FAILURE(stop());
    EXPECT_FALSE(start(kHaricot));
    const auto end = server_.wait_exit();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, 10);
    const std::string said = server_.standard_error();
    EXPECT_NE(said.find("binlog.01 has a number that no server gives"), std::string::npos) << said;
    EXPECT_EQ(read_file(with_zero), other);
    for (const auto& [name, bytes] : folder_contents(folder_.path())) {
      ASSERT_EQ(::unlink(folder_.file(name).c_str()), 0);
    }
    ASSERT_EQ(::unlink(folder_.file("lock").c_str()), 0);
  }
}

}  // namespace
}  // namespace haricot::test
