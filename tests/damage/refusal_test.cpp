// Folders that the server refuses. It must not change a byte of them.

#include <gtest/gtest.h>

#include <string>

#include "folders.hpp"
#include "haricot/binlog/format/file_identity.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "haricot/queue/job.hpp"
#include "support/log_maker.hpp"
#include "sweep.hpp"

namespace haricot::damage {
namespace {

constexpr binlog::BinlogOptions kStrict{
    .file_bytes = 4096, .sync = binlog::SyncPolicy::every_turn, .strict = true};

// Returns the error of a strict server, or an empty string if it starts.
std::string refusal(const Image& image, const binlog::BinlogOptions& options) {
  SimDisk disk;
  put_all(image, disk);
  const Server server(disk, kWall, options);
  if (server.reading().is_good) return "";
  EXPECT_EQ(image_of(disk), image);
  EXPECT_EQ(disk.calls(binlog::DiskCall::write) + disk.calls(binlog::DiskCall::create), 0U);
  EXPECT_FALSE(server.reading().error.empty());
  return server.reading().error;
}

TEST(RefusedFolder, AStrictServerStartsOnlyWhereNothingIsLost) {
  const KnownFolder& folder = of_three_files(Ending::stopped);
  for (const KnownFile& file : folder.files) {
    for (std::size_t at = 0; at<file.bytes.size(); at += kStride> 1 ? 131 : 23) {
      for (const bool is_cut : {false, true}) {
        HurtFolder hurt(folder);
        if (is_cut) {
          hurt.cut(file.number, at);
        } else {
          hurt.flip(file.number, at, at % 8);
        }
        SimDisk disk;
        put_all(hurt.image(), disk);
        const Reading reading = check(disk, kWall);
        const std::string error = refusal(hurt.image(), kStrict);
        EXPECT_EQ(error.empty(), reading.is_sound) << hurt.what() << "\n"
                                                   << reading.text() << error;
        if (reading.is_sound) continue;
        // The error names the first problem.
        const std::string sentence = binlog::to_sentence(reading.problems.front());
        EXPECT_NE(error.find(sentence), std::string::npos) << error << "\n" << sentence;
      }
    }
  }
}

TEST(RefusedFolder, AStrictServerStartsOnSoundOnesAndBehindACrash) {
  for (const KnownFolder* folder : folders_of_haricotd()) {
    EXPECT_EQ(refusal(HurtFolder(*folder).image(), kStrict), "") << folder->name;
  }
  const KnownFolder& folder = of_three_files(Ending::killed);
  const KnownFile& last = folder.files.back();
  HurtFolder torn(folder);
  torn.zero(last.number, last.pieces.back().end() - 40, 40);
  EXPECT_EQ(refusal(torn.image(), kStrict), "");
}

TEST(RefusedFolder, HasANumberNearTheLastThatBeanstalkdCanRead) {
  for (const std::uint64_t number : {binlog::kFileNumberLast + 1, binlog::kFileNumberMax}) {
    binlog::LogMaker maker(number);
    maker.add(binlog::full_record(1, "tube", "body\r\n"));
    maker.seal();
    const std::string error =
        refusal({{binlog::binlog_file_name(number), maker.bytes()}}, kSmallFiles);
    EXPECT_NE(error.find(binlog::binlog_file_name(number)), std::string::npos) << error;
  }
  binlog::LogMaker maker(binlog::kFileNumberLast);
  maker.add(binlog::full_record(1, "tube", "body\r\n"));
  maker.seal();
  EXPECT_EQ(
      refusal({{binlog::binlog_file_name(binlog::kFileNumberLast), maker.bytes()}}, kSmallFiles),
      "");
}

TEST(RefusedFolder, HasIdsNearTheLastOne) {
  for (const std::uint64_t id : {~std::uint64_t{0} - 1, kJobIdLast + 1}) {
    // If the server was not stopped, the next file may be missing, and its possible ids are
    // skipped.
    for (const bool was_stopped : {true, false}) {
      binlog::LogMaker maker(1);
      maker.add(binlog::full_record(id, "tube", "body\r\n"));
      maker.seal(was_stopped);
      EXPECT_NE(refusal({{"binlog.1", maker.bytes()}}, kSmallFiles), "") << id;
    }
  }
  binlog::LogMaker maker(1);
  maker.add(binlog::full_record(std::uint64_t{1} << 63, "tube", "body\r\n"));
  maker.seal();
  EXPECT_EQ(refusal({{"binlog.1", maker.bytes()}}, kSmallFiles), "");
}

TEST(RefusedFolder, HasAnUnknownVersion) {
  Image image = HurtFolder(of_three_files(Ending::stopped)).image();
  image["binlog.9"] = std::string("\x08\0\0\0", 4) + std::string(500, 'x');
  EXPECT_NE(refusal(image, kSmallFiles).find("binlog.9"), std::string::npos);
}

}  // namespace
}  // namespace haricot::damage
