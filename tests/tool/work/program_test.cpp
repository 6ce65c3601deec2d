#include "tool/work/program.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>

#include "os/descriptor.hpp"

namespace haricot::tool {
namespace {

class OutletTest : public testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    int ends[2] = {};
    ASSERT_EQ(::pipe(ends), 0);
    reading_ = os::Descriptor(ends[0]);
    writing_ = os::Descriptor(ends[1]);
  }

  std::string read_some() {
    char bytes[65536];
    const ssize_t count = ::read(reading_.get(), bytes, sizeof bytes);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

  os::Descriptor reading_;
  os::Descriptor writing_;
};

TEST_F(OutletTest, AFullPipeBlocksNoWriter) {
  Outlet outlet(writing_.get());
  std::string all;
  for (int i = 0; i < 50'000; ++i) all += std::to_string(i) + "\n";
  outlet.add(all);
  outlet.write_some();
  EXPECT_TRUE(outlet.has_more());
  std::string seen;
  while (seen.size() < all.size()) {
    seen += read_some();
    outlet.write_some();
  }
  EXPECT_FALSE(outlet.has_more());
  EXPECT_EQ(seen, all);
}

TEST_F(OutletTest, AReaderThatHasGoneIsAFailure) {
  Outlet outlet(writing_.get());
  reading_.reset();
  outlet.add("x");
  outlet.write_some();
  EXPECT_EQ(outlet.failure(), EPIPE);
  outlet.add("y");
  EXPECT_FALSE(outlet.has_more());
  outlet.finish(1000);
}

TEST_F(OutletTest, EachLineHasThePrefix) {
  Outlet outlet(writing_.get());
  LinePrefix lines("[7] ");
  for (const char* piece : {"one\ntw", "o\n", "\n", "thr", "ee"}) lines.take(piece, outlet);
  outlet.write_some();
  EXPECT_EQ(read_some(), "[7] one\n[7] two\n[7] \n");
  lines.finish(outlet);
  lines.finish(outlet);
  outlet.write_some();
  EXPECT_EQ(read_some(), "[7] three\n");
}

TEST_F(OutletTest, AVeryLongLineIsCut) {
  Outlet outlet(writing_.get());
  LinePrefix lines("> ");
  const std::string piece(LinePrefix::kLineBytesMax, 'x');
  lines.take(piece + piece + "y\n", outlet);
  outlet.write_some();
  EXPECT_EQ(read_some(), "> " + piece + "\n> " + piece + "\n> y\n");
}

TEST_F(OutletTest, ALineOfTheGreatestLengthIsOneLine) {
  Outlet outlet(writing_.get());
  LinePrefix lines("");
  const std::string line(LinePrefix::kLineBytesMax, 'x');
  lines.take(line + "\nz\n", outlet);
  outlet.write_some();
  EXPECT_EQ(read_some(), line + "\nz\n");
}

}  // namespace
}  // namespace haricot::tool
