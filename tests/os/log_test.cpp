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

// Both ends of the log's output.
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

// Returns all bytes that have arrived.
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

// A log whose clock stands still.
struct TestedLog : Log {
  explicit TestedLog(const Ends& ends, LogStyle style = {})
      : Log(ends.writing.get(), style, [] { return std::int64_t{0}; }) {}
};

constexpr char kTime[] = "time=1970-01-01T00:00:00.000Z ";

TEST(Log, LinesGoOutAtAFlushInOrder) {
  const Ends ends = make_pipe();
  TestedLog log(ends);
  log.event(Level::info, "one");
  log.event(Level::error, "two", {{"number", 2}});
  EXPECT_TRUE(log.has_lines());
  EXPECT_EQ(read_available(ends.reading), "");
  log.flush();
  EXPECT_FALSE(log.has_lines());
  EXPECT_EQ(read_available(ends.reading), std::string(kTime) + "level=info event=one\n" + kTime +
                                              "level=error event=two number=2\n");
}

TEST(Log, TheRestIsWrittenWhenTheLogIsDestroyed) {
  const Ends ends = make_pipe();
  { TestedLog(ends).event(Level::info, "last-words"); }
  EXPECT_EQ(read_available(ends.reading), std::string(kTime) + "level=info event=last-words\n");
}

TEST(Log, LinesBelowItsLevelAreLeftOut) {
  const Ends ends = make_pipe();
  TestedLog log(ends, {.level = Level::warning});
  EXPECT_FALSE(log.wants(Level::debug));
  EXPECT_FALSE(log.wants(Level::info));
  EXPECT_TRUE(log.wants(Level::warning));
  EXPECT_TRUE(log.wants(Level::error));
  log.event(Level::info, "not-this");
  EXPECT_FALSE(log.has_lines());
  log.event(Level::warning, "but-this");
  log.flush();
  EXPECT_EQ(read_available(ends.reading), std::string(kTime) + "level=warning event=but-this\n");
}

TEST(Log, JournaldGetsThePriorityAndNoTime) {
  for (const LogFormat format : {LogFormat::text, LogFormat::json}) {
    const Ends ends = make_pipe();
    TestedLog log(ends, {.format = format, .level = Level::debug, .for_journal = true});
    for (const Level level : {Level::error, Level::warning, Level::info, Level::debug}) {
      log.event(level, "x");
    }
    log.flush();
    EXPECT_EQ(read_available(ends.reading),
              format == LogFormat::text ? "<3>level=error event=x\n<4>level=warning event=x\n"
                                          "<6>level=info event=x\n<7>level=debug event=x\n"
                                        : "<3>{\"level\":\"error\",\"event\":\"x\"}\n"
                                          "<4>{\"level\":\"warning\",\"event\":\"x\"}\n"
                                          "<6>{\"level\":\"info\",\"event\":\"x\"}\n"
                                          "<7>{\"level\":\"debug\",\"event\":\"x\"}\n");
  }
}

TEST(Log, JournaldIsFoundByItsVariable) {
  EXPECT_TRUE(names_file("9:12345", 9, 12345));
  EXPECT_TRUE(names_file("0:18446744073709551615", 0, 18446744073709551615U));
  for (const char* other :
       {"9:12346", "8:12345", "", ":", "9", "9:", ":12345", "9:12345x", "9 :12345", "x", "-9:12345",
        "9:123456789012345678901234567890", "9:12345:"}) {
    EXPECT_FALSE(names_file(other, 9, 12345)) << other;
  }
  EXPECT_FALSE(names_file(nullptr, 9, 12345));
}

// If a write blocked, this would not end.
void expect_lines_dropped_and_counted(const Ends& ends) {
  constexpr std::size_t kLines = 50000;
  TestedLog log(ends);
  for (std::size_t i = 0; i < kLines; ++i) {
    log.event(Level::info, "nobody-reads-this");
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

  log.event(Level::info, "read-again");
  log.flush();
  const std::string lost = std::to_string(kLines - arrived);
  EXPECT_EQ(read_available(ends.reading),
            kTime + ("level=warning event=log-lines-dropped lines=" + lost + "\n") + kTime +
                "level=info event=read-again\n");
}

TEST(Log, AFullPipeDropsLinesInsteadOfBlockingAndCountsThem) {
  expect_lines_dropped_and_counted(make_pipe());
}

TEST(Log, AFullSocketDropsLinesInsteadOfBlockingAndCountsThem) {
  expect_lines_dropped_and_counted(make_socket_pair());
}

TEST(Log, NoLineIsLostWhileThePipeIsRead) {
  const Ends ends = make_pipe();
  TestedLog log(ends);
  std::string expected;
  std::string text;
  for (int i = 0; i < 20000; ++i) {
    log.event(Level::info, "line", {{"number", i}});
    expected += kTime + ("level=info event=line number=" + std::to_string(i)) + "\n";
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
  TestedLog log(ends);
  log.event(Level::info, "long", {{"text", std::string(Log::kKeptBytesMax, 'x')}});
  log.event(Level::info, "short");
  log.flush();
  EXPECT_EQ(read_available(ends.reading), std::string(kTime) +
                                              "level=warning event=log-lines-dropped lines=1\n" +
                                              kTime + "level=info event=short\n");
}

TEST(Log, AReaderThatIsGoneIsNoTrouble) {
  ::signal(SIGPIPE, SIG_IGN);  // As the daemon does.
  Ends ends = make_pipe();
  TestedLog log(ends);
  ends.reading.reset();
  for (int i = 0; i < 10000; ++i) {
    log.event(Level::info, "nobody-is-there");
    log.flush();
  }
  SUCCEED();
}

TEST(Log, TheDescriptorStaysBlockingForTheOthersThatShareIt) {
  const Ends ends = make_pipe();
  const int before = ::fcntl(ends.writing.get(), F_GETFL);
  TestedLog log(ends);
  log.event(Level::info, "x");
  log.flush();
  EXPECT_EQ(::fcntl(ends.writing.get(), F_GETFL), before);
}

}  // namespace
}  // namespace haricot::os
