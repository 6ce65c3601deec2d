// Damaged folders that the real beanstalkd 1.12 has written, alone and after haricotd.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "folders.hpp"
#include "support/random.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_client.hpp"
#include "sweep.hpp"

namespace haricot::damage {
namespace {

namespace fs = std::filesystem;
using test::WireClient;

constexpr const char* kSmallFile = "8192";

class RealBeanstalkd : public ::testing::Test {
 protected:
  void write_folder(const Image& image) {
    for (const auto& [name, bytes] : image) {
      ASSERT_TRUE(test::write_file(folder_.path() + "/" + name, bytes));
    }
  }
  Image read_folder() const {
    Image image;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (name == "lock") continue;
      image[name] = test::read_file(entry.path());
    }
    return image;
  }

  // Runs beanstalkd on the folder, and puts and changes jobs. Returns the highest id.
  JobId run(int puts) {
    const auto binary = test::find_server_binary(test::ServerKind::beanstalkd_1_12);
    EXPECT_TRUE(binary);
    if (!binary) return 0;
    test::ServerProcess server;
    EXPECT_TRUE(server.start(
        {.binary = *binary, .arguments = {"-b", folder_.path(), "-s", kSmallFile, "-F"}}))
        << server.failure();
    WireClient client;
    EXPECT_TRUE(client.connect(server));
    JobId highest = 0;
    for (int i = 0; i < puts; ++i) {
      client.ask(i % 3 == 0 ? "use mail" : "use default");
      const std::string answer =
          client.put(std::string(20 + static_cast<std::size_t>(i * 37 % 150), 'b'),
                     static_cast<std::uint32_t>(i * 3), i % 5 == 1 ? 5000 : 0, 61);
      EXPECT_TRUE(answer.starts_with("INSERTED ")) << answer;
      highest = std::stoull(answer.substr(9));
      const std::string id = std::to_string(highest);
      if (i % 4 == 1) client.ask("delete " + id);
      if (i % 4 == 2) client.ask("reserve-job " + id);
      if (i % 8 == 2) client.ask("bury " + id + " 9");
      if (i % 8 == 6) client.ask("release " + id + " 8 4000");
      // Deletes a job of an earlier file or of the other server.
      if (i % 6 == 5 && highest > 20) client.ask("delete " + std::to_string(highest - 20));
    }
    EXPECT_TRUE(server.stop());
    return highest;
  }

  void judge_all(const KnownFolder& folder) {
    const Verdict sound = damage::judge(HurtFolder(folder), Depth::starts);
    ASSERT_EQ(sound.wrong, "");
    ASSERT_TRUE(sound.reading.is_sound) << sound.reading.text();
    test::Random random(3);
    Sweep sweep(11, kStride);
    for (const KnownFile& file : folder.files) {
      for (std::size_t at = 0; at < file.bytes.size(); at += 5) {
        if (sweep.is_next()) sweep.judge(HurtFolder(folder).flip(file.number, at, at / 5 % 8));
      }
      for (std::size_t at = 0; at < file.bytes.size(); at += 64) {
        std::string bytes(100, '\0');
        if (sweep.is_next()) sweep.judge(HurtFolder(folder).overwrite(file.number, at, bytes));
        bytes = random.bytes(bytes.size());
        if (sweep.is_next()) sweep.judge(HurtFolder(folder).overwrite(file.number, at, bytes));
        if (sweep.is_next()) sweep.judge(HurtFolder(folder).cut(file.number, at));
      }
    }
  }

  test::TemporaryFolder folder_;
};

TEST_F(RealBeanstalkd, IsReadAroundItsDamage) {
  const JobId highest = run(150);
  const KnownFolder folder = know("by beanstalkd", read_folder(), highest);
  ASSERT_GT(folder.files.size(), 2U);
  judge_all(folder);
}

TEST_F(RealBeanstalkd, IsReadBetweenFilesOfHaricotd) {
  ASSERT_NO_FATAL_FAILURE(write_folder(HurtFolder(of_three_files(Ending::stopped)).image()));
  const JobId highest = run(40);
  SimDisk disk;
  put_all(read_folder(), disk);
  const KnownFolder before = know("haricotd and beanstalkd", image_of(disk), highest);
  judge_all(before);
  JobId next_id = 0;
  {
    Server server(disk, before.wall, {.file_bytes = 65536, .sync = binlog::SyncPolicy::every_turn});
    ASSERT_TRUE(server.reading().is_good) << server.reading().error;
    work(server, 5, 40);
    server.end_turn();
    server.close();
    next_id = server.next_id();
  }
  const KnownFolder behind = know("there and back with beanstalkd", image_of(disk), next_id - 1);
  judge_all(behind);
}

}  // namespace
}  // namespace haricot::damage
