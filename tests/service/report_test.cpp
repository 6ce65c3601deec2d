#include "haricot/service/report.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/engine_world.hpp"

namespace haricot {
namespace {

using test::World;

TEST(Report, WritesKeysAndValues) {
  std::string text = "what an earlier report left";
  Report report(text, Compat::v1_13);
  report.integer("one", 0);
  report.integer("two", 18446744073709551615u);
  report.word("three", "word");
  report.quoted("four", "text");
  report.item("five");
  EXPECT_EQ(text, "---\none: 0\ntwo: 18446744073709551615\nthree: word\nfour: \"text\"\n- five\n");
}

TEST(Report, QuotesNothingWithCompat112) {
  std::string text;
  Report report(text, Compat::v1_12);
  report.quoted("four", "text");
  EXPECT_EQ(text, "---\nfour: text\n");
}

TEST(Report, CpuTimeHasSixDecimals) {
  std::string text;
  Report report(text, Compat::v1_13);
  report.cpu_time("a", 0);
  report.cpu_time("b", 1);
  report.cpu_time("c", 999'999);
  report.cpu_time("d", 1'000'000);
  report.cpu_time("e", 123'456'789);
  EXPECT_EQ(text, "---\na: 0.000000\nb: 0.000001\nc: 0.999999\nd: 1.000000\ne: 123.456789\n");
}

TEST(Report, AJobHasFourteenKeysInOrder) {
  World world;
  Client& client = world.connect();
  ASSERT_EQ(world.engine.use(client, "a-tube"), Outcome::done);
  world.journal.file = 3;
  const JobId id = world.put(client, {.priority = 5, .delay_s = 7, .ttr_s = 20});
  world.pass_s(7);
  ASSERT_EQ(world.engine.reserve_job(client, id, world.now).outcome, Outcome::done);
  world.pass_s(4);
  const std::optional<JobReport> job = world.engine.queries().report(id, world.now);
  ASSERT_TRUE(job.has_value());
  std::string text;
  Report report(text, Compat::v1_13);
  write_job_report(report, *job);
  EXPECT_EQ(text,
            "---\nid: 1\ntube: \"a-tube\"\nstate: reserved\npri: 5\nage: 11\ndelay: 7\nttr: 20\n"
            "time-left: 16\nfile: 3\nreserves: 1\ntimeouts: 0\nreleases: 0\nburies: 0\nkicks: 0\n");
  Report old(text, Compat::v1_12);
  write_job_report(old, *job);
  EXPECT_NE(text.find("\ntube: a-tube\n"), std::string::npos);
}

TEST(Report, AJobReportHasEachCounter) {
  const Tube tube;
  const JobReport job{.id = 1,
                      .tube = &tube,
                      .state = JobState::ready,
                      .priority = 2,
                      .delay_s = 3,
                      .ttr_s = 4,
                      .age_s = 5,
                      .time_left_s = 6,
                      .file = 7,
                      .body_bytes = 13,
                      .reserves = 8,
                      .timeouts = 9,
                      .releases = 10,
                      .buries = 11,
                      .kicks = 12};
  std::string text;
  Report report(text, Compat::v1_12);
  write_job_report(report, job);
  EXPECT_EQ(text,
            "---\nid: 1\ntube: \nstate: ready\npri: 2\nage: 5\ndelay: 3\nttr: 4\ntime-left: 6\n"
            "file: 7\nreserves: 8\ntimeouts: 9\nreleases: 10\nburies: 11\nkicks: 12\n");
}

TEST(Report, ANoteIsShownUpToItsFirstLineEnd) {
  struct Row {
    std::string note;
    std::string shown;
  };
  const std::string long_line(160, 'n');
  const Row rows[] = {{"a", "a"},
                      {"a\r\nb", "a"},
                      {"a\nb", "a"},
                      {"\nb", ""},
                      {"\"\\\t", R"(\"\\\u0009)"},
                      {"\xc3\xa4\xff", "\xc3\xa4\\ufffd"},
                      {long_line, long_line},
                      {long_line + "x", long_line},
                      {long_line.substr(1) + "\xc3\xa4", long_line.substr(1)},
                      {long_line.substr(3) + "\xf0\x9f\x98\x80", long_line.substr(3)}};
  for (const Row& row : rows) {
    std::string text;
    Report report(text, Compat::v1_12);
    report.text("note", row.note);
    EXPECT_EQ(text, "---\nnote: \"" + row.shown + "\"\n");
  }
}

TEST(Report, AJobReportNamesEachState) {
  const Tube tube;
  const std::pair<JobState, const char*> states[] = {{JobState::ready, "ready"},
                                                     {JobState::reserved, "reserved"},
                                                     {JobState::delayed, "delayed"},
                                                     {JobState::buried, "buried"}};
  for (const auto& [state, name] : states) {
    JobReport job{};
    job.tube = &tube;
    job.state = state;
    std::string text;
    Report report(text, Compat::v1_13);
    write_job_report(report, job);
    EXPECT_NE(text.find("\nstate: " + std::string(name) + "\n"), std::string::npos);
  }
}

TEST(Report, ATubeHasFourteenKeysInOrder) {
  World world;
  Client& client = world.connect();
  Client& waiting = world.connect();
  ASSERT_EQ(world.engine.use(client, "t"), Outcome::done);
  ASSERT_EQ(world.engine.watch(waiting, "t"), Outcome::done);
  ASSERT_EQ(world.engine.pause("t", 100, world.now), Outcome::done);
  world.wait(waiting);
  for (int i = 0; i < 3; ++i) world.put(client, {.priority = 1});
  for (int i = 0; i < 4; ++i) world.put(client, {.priority = 1024});
  for (int i = 0; i < 2; ++i) world.put(client, {.delay_s = 1000});
  ASSERT_EQ(world.engine.reserve_job(client, 8, world.now).outcome, Outcome::done);
  ASSERT_EQ(world.engine.reserve_job(client, 1, world.now).outcome, Outcome::done);
  ASSERT_EQ(world.engine.bury(client, 1, 0), Outcome::done);
  ASSERT_EQ(world.engine.delete_job(client, 7), Outcome::done);
  world.pass_ms(1500);
  std::string text;
  Report report(text, Compat::v1_13);
  write_tube_report(report, world.tube("t"), 1, world.now);
  EXPECT_EQ(text,
            "---\nname: \"t\"\ncurrent-jobs-urgent: 2\ncurrent-jobs-ready: 5\n"
            "current-jobs-reserved: 1\ncurrent-jobs-delayed: 1\ncurrent-jobs-buried: 1\n"
            "total-jobs: 9\ncurrent-using: 1\ncurrent-watching: 1\ncurrent-waiting: 1\n"
            "cmd-delete: 1\ncmd-pause-tube: 1\npause: 100\npause-time-left: 98\n");
  Report old(text, Compat::v1_12);
  write_tube_report(old, world.tube("t"), 0, world.now);
  EXPECT_EQ(text.substr(0, 12), "---\nname: t\n");
}

TEST(Report, AnUnpausedTubeHasPauseZero) {
  World world;
  Client& client = world.connect();
  ASSERT_EQ(world.engine.pause("default", 10, world.now), Outcome::done);
  ASSERT_EQ(world.engine.pause("default", 0, world.now), Outcome::done);
  std::string text;
  Report report(text, Compat::v1_13);
  write_tube_report(report, client.used(), 0, world.now);
  EXPECT_NE(text.find("\ncmd-pause-tube: 2\npause: 0\npause-time-left: 0\n"), std::string::npos);
}

CpuUsage some_cpu_usage() {
  return {.user_us = 1'234'567, .system_us = 89};
}

class ServerReport : public ::testing::Test {
 protected:
  ServerReport() {
    for (std::size_t i = 0; i < verbs_.size(); ++i) verbs_[i] = 100 + i;
    info_.pid = 4711;
    info_.instance_id = "0123456789abcdef";
    info_.hostname = "a-host";
    info_.os = "#1 SMP";
    info_.platform = "x86_64";
    info_.cpu_usage = &some_cpu_usage;
    info_.job_bytes_max = 999;
    info_.binlog_bytes_max = 888;
  }

  std::string text(bool draining = false) {
    std::string text;
    Report report(text, info_.compat);
    write_server_report(report, world_.engine,
                        ServerState{.info = info_,
                                    .verbs = verbs_,
                                    .journal = {.oldest_index = 2,
                                                .current_index = 5,
                                                .records_migrated = 6,
                                                .records_written = 7},
                                    .total_connections = 33,
                                    .uptime_s = 44,
                                    .sync_lag_ms = 55,
                                    .draining = draining});
    return text;
  }

  World world_;
  ServerInfo info_;
  VerbCounts verbs_{};
};

TEST_F(ServerReport, HasAllKeysInOrder) {
  Client& client = world_.connect();
  Client& waiting = world_.connect();
  world_.engine.mark_producer(client);
  ASSERT_EQ(world_.engine.use(client, "t"), Outcome::done);
  world_.wait(waiting);
  for (int i = 0; i < 7; ++i) world_.put(client, {.priority = i < 2 ? 5u : 5000u});
  for (int i = 0; i < 3; ++i) world_.put(client, {.delay_s = 1000});
  for (const JobId id : {3u, 4u, 5u}) {
    ASSERT_EQ(world_.engine.reserve_job(client, id, world_.now).outcome, Outcome::done);
  }
  ASSERT_EQ(world_.engine.bury(client, 3, 1), Outcome::done);
  // Each verb has a different count, so that a mix-up is detected.
  EXPECT_EQ(text(),
            "---\n"
            "current-jobs-urgent: 2\n"
            "current-jobs-ready: 4\n"
            "current-jobs-reserved: 2\n"
            "current-jobs-delayed: 3\n"
            "current-jobs-buried: 1\n"
            "cmd-put: 100\n"
            "cmd-peek: 101\n"
            "cmd-peek-ready: 102\n"
            "cmd-peek-delayed: 103\n"
            "cmd-peek-buried: 104\n"
            "cmd-reserve: 105\n"
            "cmd-reserve-with-timeout: 106\n"
            "cmd-delete: 107\n"
            "cmd-release: 108\n"
            "cmd-use: 109\n"
            "cmd-watch: 110\n"
            "cmd-ignore: 111\n"
            "cmd-bury: 112\n"
            "cmd-kick: 113\n"
            "cmd-touch: 114\n"
            "cmd-stats: 115\n"
            "cmd-stats-job: 116\n"
            "cmd-stats-tube: 117\n"
            "cmd-list-tubes: 118\n"
            "cmd-list-tube-used: 119\n"
            "cmd-list-tubes-watched: 120\n"
            "cmd-pause-tube: 121\n"
            "job-timeouts: 0\n"
            "total-jobs: 10\n"
            "max-job-size: 999\n"
            "current-tubes: 2\n"
            "current-connections: 2\n"
            "current-producers: 1\n"
            "current-workers: 2\n"
            "current-waiting: 1\n"
            "total-connections: 33\n"
            "pid: 4711\n"
            "version: \"1.13\"\n"
            "rusage-utime: 1.234567\n"
            "rusage-stime: 0.000089\n"
            "uptime: 44\n"
            "binlog-oldest-index: 2\n"
            "binlog-current-index: 5\n"
            "binlog-records-migrated: 6\n"
            "binlog-records-written: 7\n"
            "binlog-max-size: 888\n"
            "draining: false\n"
            "id: 0123456789abcdef\n"
            "hostname: \"a-host\"\n"
            "os: \"#1 SMP\"\n"
            "platform: \"x86_64\"\n");
}

TEST_F(ServerReport, QuotesOnlyTheVersionWithCompat112) {
  info_.compat = Compat::v1_12;
  const std::string report = text();
  EXPECT_NE(report.find("\nversion: \"1.12\"\n"), std::string::npos);
  EXPECT_NE(report.find("\nid: 0123456789abcdef\nhostname: a-host\nos: #1 SMP\nplatform: x86_64\n"),
            std::string::npos);
}

TEST_F(ServerReport, ReportsDrainMode) {
  EXPECT_NE(text(true).find("\ndraining: true\n"), std::string::npos);
}

TEST_F(ServerReport, ReportsNoCpuTimeWithoutAClock) {
  info_.cpu_usage = nullptr;
  EXPECT_NE(text().find("\nrusage-utime: 0.000000\nrusage-stime: 0.000000\n"), std::string::npos);
}

TEST_F(ServerReport, CountsTimeouts) {
  Client& client = world_.connect();
  world_.put(client, {.ttr_s = 1});
  ASSERT_NE(world_.reserve(client), 0u);
  world_.pass_s(1);
  EXPECT_NE(text().find("\njob-timeouts: 1\n"), std::string::npos);
}

TEST(ReportDeathTest, AQuoteInAValueAborts) {
  std::string text;
  Report report(text, Compat::v1_13);
  EXPECT_DEATH(report.quoted("name", "a\nb: c"), "find_first_of");
}

}  // namespace
}  // namespace haricot
