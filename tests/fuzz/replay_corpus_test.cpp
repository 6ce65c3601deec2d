// Plays the corpus of the fuzz target for replay with every compiler, and makes its seeds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "corpus_files.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "replay_input.hpp"
#include "support/log_maker.hpp"

namespace haricot::binlog {
namespace {

std::string legacy_file(std::string_view records) {
  std::string file(kVersionBytes, '\0');
  store_little_endian(file.data(), kVersion);
  return file.append(records) + std::string(100, '\0');
}

// Returns a file with facts of each size, some of a job without them, and a kick.
std::string file_with_facts() {
  LogMaker facts(1);
  const std::string text(kTextBytesOfAPart, '\x02');
  for (JobId id = 1; id <= 6; ++id) {
    const std::size_t bytes[] = {0, 1, 3, 4, 5, kTextBytesOfAPart};
    facts.add(text_record(TextKind::tags, id, id == 4 ? "try:3" : "try:3 back:7", 0));
    if (bytes[id - 1] > 0) {
      facts.add(text_record(TextKind::facts, id, text.substr(0, bytes[id - 1]), 0));
    }
    facts.add(full_record(id, "default", "back\r\n"));
  }
  Record kick = change_record(6, RecordState::ready);
  kick.counts[4] = 9;
  facts.add(kick);
  return facts.bytes();
}

// Returns the seeds, by name. With HARICOT_WRITE_CORPUS=1 the test writes them.
std::vector<std::pair<std::string, ReplayInput>> seeds() {
  LogMaker first(1);
  first.add(full_record(1, "default", "hello\r\n"));
  first.add(full_record(2, "other", "\r\n"));
  first.add(change_record(1, RecordState::buried));
  first.add(full_record(3, "default", "a body of some length\r\n"));
  first.seal(false);
  LogMaker second(2);
  second.add(change_record(2, RecordState::deleted));
  second.add(full_record(1, "default", "hello\r\n"));
  second.add(change_record(1, RecordState::ready));
  second.seal();
  LogMaker third(3);
  Record marker = marker_of(9);
  marker.body = "\r\n";
  third.add(marker);
  third.add(deletion_of(9));
  third.add(change_record(3, RecordState::delayed));
  third.pad(200);
  // A job of a group, one that is held for it, and one that is held for a group without jobs.
  LogMaker groups(1);
  for (JobId id = 1; id <= 3; ++id) {
    Record job = full_record(id, "default", "held\r\n");
    const std::string_view tags = id == 1 ? "grp:g" : id == 2 ? "aft:g" : "aft:gone";
    if (id > 1) {
      job.state = RecordState::delayed;
      job.deadline_at =
          job.created_at + job.delay_ns + std::int64_t{100} * 365 * 86'400'000'000'000;
    }
    groups.add(text_record(TextKind::tags, id, tags, 0));
    groups.add(job);
  }
  // Killed after the last deletion of a group, before the end of a hold.
  LogMaker groups_end(2);
  groups_end.add(deletion_of(1));
  const std::string records = first.bytes().substr(kFirstRecordOffset);
  std::string torn = second.bytes();
  torn.resize(torn.size() - 100);
  std::string damaged = first.bytes();
  damaged[kFirstRecordOffset + 30] ^= 1;
  return {{"empty", {}},
          {"three_files", {0, {first.bytes(), second.bytes(), third.bytes()}}},
          {"three_repaired", {7, {first.bytes(), second.bytes(), third.bytes()}}},
          {"groups", {0, {groups.bytes(), "", ""}}},
          {"groups_ended", {0, {groups.bytes(), groups_end.bytes(), ""}}},
          {"facts", {0, {file_with_facts(), "", ""}}},
          {"torn", {0, {first.bytes(), torn, ""}}},
          {"damaged", {0, {damaged, second.bytes(), ""}}},
          {"legacy", {0, {legacy_file(records), "", third.bytes()}}},
          {"zeros", {0, {std::string(300, '\0'), "", first.bytes()}}}};
}

TEST(ReplayCorpus, HoldsTheSeeds) {
  const std::filesystem::path folder = HARICOT_REPLAY_CORPUS;
  for (const auto& [name, input] : seeds()) {
    if (std::getenv("HARICOT_WRITE_CORPUS") != nullptr) {
      std::ofstream(folder / name, std::ios::binary) << bytes_of(input);
    }
    EXPECT_TRUE(fuzz::read_input(folder / name) == bytes_of(input)) << name;
  }
}

TEST(ReplayCorpus, IsReadAsAnyFolderHasToBe) {
  std::size_t played = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HARICOT_REPLAY_CORPUS)) {
    SCOPED_TRACE(entry.path().string());
    check_replay(input_from(fuzz::read_input(entry.path())));
    ++played;
  }
  EXPECT_GE(played, seeds().size());
}

TEST(ReplayInput, ComesBackFromItsBytes) {
  for (const auto& [name, input] : seeds()) {
    std::vector<std::string> files = input.files;
    files.resize(3);
    const ReplayInput again = input_from(bytes_of(input));
    EXPECT_EQ(again.repaired, input.repaired);
    EXPECT_TRUE(again.files == files) << name;
  }
}

}  // namespace
}  // namespace haricot::binlog
