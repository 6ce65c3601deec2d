// Damaged files: jobs in the damaged bytes are lost and reported, all others are restored, and the
// damaged file is copied for the operator.

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "persistence_fixture.hpp"

namespace haricot::test {
namespace {

constexpr std::uint64_t kJobs = 300;
constexpr std::size_t kBodyBytes = 400;
constexpr std::uint64_t kHeaderBytes = 84 + 7;  // With the tube `default`.
constexpr std::uint64_t kJobBytes = kHeaderBytes + kBodyBytes + 2;
constexpr std::uint64_t kSectorBytes = 512;

class Damage : public PersistenceTest {
 protected:
  // Writes several files of jobs, and stops the server cleanly.
  void SetUp() override {
    ASSERT_TRUE(start({"-s", "30000"})) << server_.failure();
    const Client client = connect();
    for (std::uint64_t id = 1; id <= kJobs; ++id) {
      ASSERT_EQ(inserted_id(client->put(body(id), 9, 0, 70)), id);
    }
    before_ = read_jobs(*client, kJobs);
    ASSERT_NO_FATAL_FAILURE(stop());
    ASSERT_GT(file_numbers(folder_.path()).size(), 4U);
  }

  static std::string body(std::uint64_t id) { return numbered_body(id, kBodyBytes); }

  // Returns the position of a job's record.
  Position position_of(std::uint64_t id) {
    Position position = find_in_files(folder_.path(), body(id));
    EXPECT_GT(position.file, 0U) << "job " << id << " is in no file";
    position.offset -= kHeaderBytes;
    return position;
  }
  std::string path_of(Position position) { return file_path(folder_.path(), position.file); }

  // Returns the jobs whose records overlap these bytes of a file.
  std::set<std::uint64_t> jobs_in(Position begin, std::uint64_t bytes) {
    std::set<std::uint64_t> ids;
    for (std::uint64_t id = 1; id <= kJobs; ++id) {
      const Position at = position_of(id);
      if (at.file != begin.file || at.offset >= begin.offset + bytes) continue;
      if (at.offset + kJobBytes > begin.offset) ids.insert(id);
    }
    return ids;
  }

  // Starts the server. Expects that exactly these jobs are lost, that it reports the damage, and
  // that it copies the file.
  void expect_lost(const std::set<std::uint64_t>& ids, Position damage) {
    const std::string name = "binlog." + std::to_string(damage.file);
    std::string damaged = read_file(path_of(damage));
    damaged.resize(damaged.find_last_not_of('\0') + 1);  // The copy has no zeros at its end.
    ASSERT_TRUE(start({"-s", "30000"})) << server_.failure();
    EXPECT_TRUE(connect()->ask("stats").starts_with("OK "));  // The start's log is complete.
    said_ = server_.standard_error();
    EXPECT_NE(said_.find(name), std::string::npos) << said_;
    EXPECT_TRUE(read_file(folder_.file(name + ".damaged.1")) == damaged) << "no copy of " << name;
    const std::size_t before_copies = copies();
    Jobs expected = before_;
    for (const std::uint64_t id : ids) expected.erase(id);
    EXPECT_EQ(differences(expected, read_jobs(*connect(), kJobs)), "");
    // The next start loses no more jobs, and makes no second copy.
    ASSERT_TRUE(kill_and_start()) << server_.failure();
    EXPECT_EQ(copies(), before_copies);
    EXPECT_EQ(differences(expected, read_jobs(*connect(), kJobs)), "");
    // No id is assigned again. The lost records may have had higher ids.
    EXPECT_GT(inserted_id(connect()->put("next")), kJobs);
  }

  // Returns the number of copied files.
  std::size_t copies() {
    std::size_t count = 0;
    for (const auto& [name, bytes] : folder_contents(folder_.path())) {
      if (name.find(".damaged") != std::string::npos) ++count;
    }
    return count;
  }

  void expect_offset_told(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t offset = from; offset <= to; ++offset) {
      if (said_.find(std::to_string(offset)) != std::string::npos) return;
    }
    ADD_FAILURE() << "no offset from " << from << " to " << to << " in: " << said_;
  }

  Jobs before_;
  std::string said_;
};

TEST_F(Damage, AFlippedBitInABodyCostsThatJob) {
  const Position position = position_of(150);
  flip_bit(path_of(position), position.offset + kHeaderBytes + 100);
  ASSERT_NO_FATAL_FAILURE(expect_lost({150}, position));
  expect_offset_told(position.offset, position.offset + kJobBytes);
}

TEST_F(Damage, AFlippedBitInAnyPartOfAHeaderCostsThatJob) {
  // Name length, name, id, priority, delay, TTR, body size, times, counters, state.
  std::uint64_t id = 10;
  std::set<std::uint64_t> lost;
  Position position;
  for (const std::uint64_t at :
       {0U, 1U, 6U, 11U, 19U, 27U, 35U, 43U, 44U, 51U, 59U, 67U, 87U, 90U}) {
    position = position_of(id);
    lost.insert(id);
    flip_bit(path_of(position), position.offset + at);
    id += 20;
  }
  ASSERT_NO_FATAL_FAILURE(expect_lost(lost, position));
}

TEST_F(Damage, ASectorOfZerosLosesTheJobsInIt) {
  Position position = position_of(150);
  position.offset = position.offset / kSectorBytes * kSectorBytes;
  const auto lost = jobs_in(position, kSectorBytes);
  ASSERT_LE(lost.size(), 3U);
  overwrite(path_of(position), position.offset, std::string(kSectorBytes, '\0'));
  ASSERT_NO_FATAL_FAILURE(expect_lost(lost, position));
}

TEST_F(Damage, PagesOfRubbishLoseTheJobsInThem) {
  Position position = position_of(150);
  const auto lost = jobs_in(position, 4096);
  std::string rubbish = numbered_body(4711, 4096);
  for (char& c : rubbish) c = static_cast<char>(c * 37);
  overwrite(path_of(position), position.offset, rubbish);
  ASSERT_NO_FATAL_FAILURE(expect_lost(lost, position));
}

TEST_F(Damage, AFirstSectorOfZerosLosesTheJobsInIt) {
  Position position = position_of(150);
  position.offset = 0;
  const auto lost = jobs_in(position, kSectorBytes);
  overwrite(path_of(position), 0, std::string(kSectorBytes, '\0'));
  expect_lost(lost, position);
}

TEST_F(Damage, AFileThatWasCutKeepsTheRecordsBeforeTheCut) {
  const Position position = position_of(150);
  const auto lost = jobs_in({position.file, position.offset + 200}, 1'000'000);
  ASSERT_GT(lost.size(), 0U);
  ASSERT_LT(lost.size(), 100U);
  std::filesystem::resize_file(path_of(position), position.offset + 200);
  ASSERT_NO_FATAL_FAILURE(expect_lost(lost, position));
}

TEST_F(Damage, ACutBetweenTwoRecordsIsNoticed) {
  const Position position = position_of(150);
  const auto lost = jobs_in(position, 1'000'000);
  ASSERT_LT(lost.size(), 100U);
  std::filesystem::resize_file(path_of(position), position.offset);
  ASSERT_NO_FATAL_FAILURE(expect_lost(lost, position));
}

TEST_F(Damage, AnEmptyFileCostsItsJobs) {
  const Position position = position_of(150);
  const auto lost = jobs_in({position.file, 0}, 1'000'000);
  std::filesystem::resize_file(path_of(position), 0);
  ASSERT_NO_FATAL_FAILURE(expect_lost(lost, position));
}

// Simulates a disk that wrote a sector to the wrong place, or not at all.
TEST_F(Damage, ARecordOfAnotherFileIsNotBelieved) {
  const Position from = position_of(20);
  const Position to = position_of(150);
  ASSERT_NE(from.file, to.file);
  overwrite(path_of(to), to.offset, read_file(path_of(from)).substr(from.offset, kJobBytes));
  ASSERT_NO_FATAL_FAILURE(expect_lost({150}, to));
}

TEST_F(Damage, DamageInSeveralFilesIsFoundInAll) {
  std::set<std::uint64_t> lost;
  std::set<std::uint64_t> files;
  for (const std::uint64_t id : {5U, 100U, 200U}) {
    const Position position = position_of(id);
    flip_bit(path_of(position), position.offset + kHeaderBytes);
    lost.insert(id);
    files.insert(position.file);
  }
  ASSERT_EQ(files.size(), 3U);
  ASSERT_NO_FATAL_FAILURE(expect_lost(lost, {*files.rbegin(), 0}));
  for (const std::uint64_t file : files) {
    EXPECT_NE(said_.find("binlog." + std::to_string(file)), std::string::npos) << said_;
  }
}

// A crash in the middle of a write leaves half a record at the end of the last file.
TEST_F(Damage, ATornTailIsNoDamage) {
  ASSERT_TRUE(start({"-s", "30000"})) << server_.failure();
  ASSERT_EQ(inserted_id(connect()->put(body(kJobs + 1))), kJobs + 1);
  ASSERT_EQ(inserted_id(connect()->put(body(kJobs + 2))), kJobs + 2);
  kill();
  const Position last = position_of(kJobs + 2);
  const std::string file = read_file(path_of(last));
  overwrite(path_of(last), last.offset + 150, std::string(file.size() - last.offset - 150, '\0'));
  ASSERT_TRUE(start({"-s", "30000"})) << server_.failure();
  EXPECT_EQ(stat("current-jobs-ready"), kJobs + 1);
  EXPECT_EQ(connect()->ask("peek " + std::to_string(kJobs + 2)), "NOT_FOUND\r\n");
  for (const auto& [name, bytes] : folder_contents(folder_.path())) {
    EXPECT_EQ(name.find(".damaged"), std::string::npos) << server_.standard_error();
  }
}

// The operator may have kept an older damaged file of that name.
TEST_F(Damage, TheCopyOfAnEarlierDamageIsNotOverwritten) {
  const Position position = position_of(150);
  const std::string kept = path_of(position) + ".damaged";
  ASSERT_TRUE(write_file(kept, "evidence"));
  flip_bit(path_of(position), position.offset + kHeaderBytes);
  ASSERT_TRUE(start({"-s", "30000"})) << server_.failure();
  EXPECT_EQ(stat("current-jobs-ready"), kJobs - 1);
  EXPECT_EQ(read_file(kept), "evidence");
  EXPECT_NE(read_file(kept + ".1"), "") << "no copy of what is damaged now";
}

}  // namespace
}  // namespace haricot::test
