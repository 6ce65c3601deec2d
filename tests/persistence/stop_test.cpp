// SIGTERM under load: a clean and quick end, without losses.

#include <csignal>
#include <string>

#include "binlog_folder.hpp"
#include "job_facts.hpp"
#include "persistence_fixture.hpp"
#include "recorded_load.hpp"

namespace haricot::test {
namespace {

class Stop : public PersistenceTest {
 protected:
  void survive(const std::vector<std::string>& flags, int rounds) {
    RecordedLoad load(seed_of_this_run(), 5);
    ASSERT_TRUE(start(flags)) << server_.failure();
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      ASSERT_TRUE(load.connect(server_));
      load.send(1 + load.below(100));
      ASSERT_TRUE(load.read_all());
      load.send(1 + load.below(300));
      ASSERT_TRUE(server_.signal(SIGTERM));
      const auto end = server_.wait_exit();
      ASSERT_TRUE(end) << "it did not end in time";
      EXPECT_EQ(*end, (ExitStatus{.code = 0})) << server_.standard_error();
      load.read_what_came();
      EXPECT_TRUE(last_file_is_sealed());
      ASSERT_TRUE(start(flags)) << server_.failure();
      ASSERT_EQ(load.broken_promises(read_jobs(*connect(), load.highest_id())), "");
      ASSERT_EQ(load.nonsense(), "");
    }
    EXPECT_EQ(load.refused(), 0U);
  }

  // Returns true if the last file ends with a seal, which distinguishes a finished file from a torn
  // one.
  bool last_file_is_sealed() {
    const std::string bytes =
        read_file(file_path(folder_.path(), file_numbers(folder_.path()).back()));
    const std::size_t end = bytes.find_last_not_of('\0');
    const std::size_t seal = bytes.rfind("SEAL");
    constexpr std::size_t kRecordBytes = 84;
    return seal != std::string::npos && end != std::string::npos && end - seal < kRecordBytes;
  }
};

TEST_F(Stop, UnderLoadNothingThatWasAcknowledgedIsLost) {
  survive({"-f", "50"}, 4);
}

TEST_F(Stop, UnderLoadNothingIsLostWhenEachWriteIsSynced) {
  survive({"-f", "0", "-s", "20000"}, 4);
}

TEST_F(Stop, WithoutAnyJobItIsCleanAsWell) {
  ASSERT_TRUE(start()) << server_.failure();
  ASSERT_NO_FATAL_FAILURE(stop());
  EXPECT_TRUE(last_file_is_sealed());
  ASSERT_TRUE(start()) << server_.failure();
  EXPECT_EQ(server_.standard_error().find("damage"), std::string::npos) << server_.standard_error();
}

}  // namespace
}  // namespace haricot::test
