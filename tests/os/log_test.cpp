#include "os/log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "os/descriptor.hpp"

namespace haricot::os {
namespace {

// Two ends of what a log is written to.
struct Ends {
  Descriptor reading;
  Descriptor writing;
};

Ends make_pipe() {
  int numbers[2];
  EXPECT_EQ(::pipe2(numbers, O_CLOEXEC), 0);
  return {Descriptor(numbers[0]), Descriptor(numbers[1])};
}

Ends make_socket_pair() {
  int numbers[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, numbers), 0);
  return {Descriptor(numbers[0]), Descriptor(numbers[1])};
}

// All that has arrived by now.
std::string read_available(const Descriptor& from) {
  std::string text;
  char chunk[65536];
  pollfd entry{.fd = from.get(), .events = POLLIN, .revents = 0};
  while (::poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0) {
    const ssize_t n = ::read(from.get(), chunk, sizeof chunk);
    if (n <= 0) break;
    text.append(chunk, static_cast<std::size_t>(n));
  }
  return text;
}

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Log, LinesGoOutAtAFlushInOrderAndWithTheirPrefix) {
  const Ends ends = make_pipe();
  Log log(ends.writing.get());
  log.line("one");
  log.line("");
  log.line("two");
  EXPECT_TRUE(log.has_lines());
  EXPECT_EQ(read_available(ends.reading), "");
  log.flush();
  EXPECT_FALSE(log.has_lines());
  EXPECT_EQ(read_available(ends.reading), "haricotd: one\nharicotd: \nharicotd: two\n");
}

TEST(Log, WhatIsLeftGoesOutWithTheLog) {
  const Ends ends = make_pipe();
  { Log(ends.writing.get()).line("last words"); }
  EXPECT_EQ(read_available(ends.reading), "haricotd: last words\n");
}

TEST(Log, BytesThatAreNotPrintableAreShownAsHex) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const Ends ends = make_pipe();
  Log log(ends.writing.get());
  log.line(all);
  log.flush();
  const std::string text = read_available(ends.reading);
  ASSERT_EQ(count_lines(text), 1U) << "a line feed got through";
  for (const char c : text.substr(0, text.size() - 1)) EXPECT_TRUE(c >= ' ' && c <= '~');
  EXPECT_NE(text.find("\\x00\\x01"), std::string::npos);
  EXPECT_NE(text.find("\\x0a"), std::string::npos);
  EXPECT_NE(text.find("\\x1b"), std::string::npos);
  EXPECT_NE(text.find("\\x7f\\x80"), std::string::npos);
  EXPECT_NE(text.find(" !\"#$%&"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\\xff\n"));
}

// If a write blocked, these would not end.
void expect_lines_dropped_and_counted(const Ends& ends) {
  constexpr std::size_t kLines = 50000;
  Log log(ends.writing.get());
  for (std::size_t i = 0; i < kLines; ++i) {
    log.line("a line that nobody reads");
    if (i % 100 == 0) log.flush();
  }
  log.flush();

  std::string text;
  for (std::string more = read_available(ends.reading); !more.empty();
       more = read_available(ends.reading)) {
    text += more;
    log.flush();
  }
  const std::size_t arrived = count_lines(text);
  EXPECT_GT(arrived, 100U);
  EXPECT_LT(arrived, kLines);

  log.line("it is read again");
  log.flush();
  EXPECT_EQ(read_available(ends.reading), "haricotd: " + std::to_string(kLines - arrived) +
                                              " lines dropped: stderr was not read\n"
                                              "haricotd: it is read again\n");
}

TEST(Log, AFullPipeDropsLinesInsteadOfBlockingAndCountsThem) {
  expect_lines_dropped_and_counted(make_pipe());
}

TEST(Log, AFullSocketDropsLinesInsteadOfBlockingAndCountsThem) {
  expect_lines_dropped_and_counted(make_socket_pair());
}

TEST(Log, NothingIsLostWhileSomebodyReads) {
  const Ends ends = make_pipe();
  Log log(ends.writing.get());
  std::string expected;
  std::string text;
  for (int i = 0; i < 20000; ++i) {
    const std::string words = "line " + std::to_string(i);
    log.line(words);
    expected += "haricotd: " + words + "\n";
    if (i % 50 == 0) {
      log.flush();
      text += read_available(ends.reading);
    }
  }
  log.flush();
  text += read_available(ends.reading);
  EXPECT_TRUE(text == expected) << "of " << expected.size() << " bytes " << text.size()
                                << " arrived, or in another order";
}

TEST(Log, ALineThatIsTooLongForItIsCountedAsDropped) {
  const Ends ends = make_pipe();
  Log log(ends.writing.get());
  log.line(std::string(Log::kKeptBytesMax, 'x'));
  log.line("short");
  log.flush();
  EXPECT_EQ(read_available(ends.reading),
            "haricotd: 1 lines dropped: stderr was not read\nharicotd: short\n");
}

TEST(Log, AReaderThatIsGoneIsNoTrouble) {
  ::signal(SIGPIPE, SIG_IGN);  // As the daemon does.
  Ends ends = make_pipe();
  Log log(ends.writing.get());
  ends.reading.reset();
  for (int i = 0; i < 10000; ++i) {
    log.line("nobody is there to read this");
    log.flush();
  }
  SUCCEED();
}

TEST(Log, TheDescriptorStaysBlockingForTheOthersThatShareIt) {
  const Ends ends = make_pipe();
  const int before = ::fcntl(ends.writing.get(), F_GETFL);
  Log log(ends.writing.get());
  log.line("text");
  log.flush();
  EXPECT_EQ(::fcntl(ends.writing.get(), F_GETFL), before);
}

}  // namespace
}  // namespace haricot::os
