#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "os/descriptor.hpp"
#include "os/log.hpp"

namespace haricot::os {
namespace {

std::string line(LogFormat format, LogFields fields) {
  std::string text;
  append_log_line(text, format, {}, Level::info, "test", fields);
  return text;
}

std::string text_line(LogFields fields) {
  return line(LogFormat::text, fields);
}
std::string json_line(LogFields fields) {
  return line(LogFormat::json, fields);
}

void append_utf8(std::string& to, std::uint32_t code) {
  if (code < 0x80) {
    to += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned kLead[] = {0, 0xc0, 0xe0, 0xf0};
  to += static_cast<char>(kLead[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) to += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
}

// Decodes a JSON string at the beginning of a text by JSON's grammar. Adds a failure if it is
// invalid.
std::string read_json_string(std::string_view text) {
  std::string result;
  std::uint32_t high = 0;
  if (!text.starts_with('"')) {
    ADD_FAILURE() << "no string: " << text;
    return result;
  }
  const auto add = [&](std::uint32_t unit) {
    if (unit >= 0xd800 && unit <= 0xdbff) {
      EXPECT_EQ(high, 0U);
      high = unit;
      return;
    }
    const bool is_low = unit >= 0xdc00 && unit <= 0xdfff;
    EXPECT_EQ(is_low, high != 0) << "half a pair";
    append_utf8(result, is_low ? 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00) : unit);
    high = 0;
  };
  for (std::size_t i = 1; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"') {
      EXPECT_EQ(high, 0U);
      return result;
    }
    EXPECT_GE(c, 0x20) << "a control byte";
    EXPECT_LT(c, 0x7f) << "not ASCII";
    if (c != '\\') {
      add(c);
      continue;
    }
    const char kind = text[++i];
    const std::size_t simple = std::string_view("\"\\/bfnrt").find(kind);
    if (simple != std::string_view::npos) {
      add(static_cast<unsigned char>("\"\\/\b\f\n\r\t"[simple]));
    } else {
      EXPECT_EQ(kind, 'u') << "no escape of JSON";
      add(static_cast<std::uint32_t>(
          std::strtoul(std::string(text.substr(i + 1, 4)).c_str(), nullptr, 16)));
      i += 4;
    }
  }
  ADD_FAILURE() << "no end: " << text;
  return result;
}

TEST(LogLine, IsOneEventAndItsFieldsInOrder) {
  const LogFields fields = {{"bytes", 70000U}, {"tube", "mail"}, {"change", -5}};
  EXPECT_EQ(text_line(fields), "level=info event=test bytes=70000 tube=mail change=-5");
  EXPECT_EQ(json_line(fields),
            R"({"level":"info","event":"test","bytes":70000,"tube":"mail","change":-5})");
  EXPECT_EQ(text_line({}), "level=info event=test");
  EXPECT_EQ(json_line({}), R"({"level":"info","event":"test"})");
}

TEST(LogLine, TheTimeIsUtcWithMilliseconds) {
  const auto at = [](std::int64_t time) {
    std::string text;
    append_log_line(text, LogFormat::text, time, Level::error, "x", {});
    return text;
  };
  EXPECT_EQ(at(0), "time=1970-01-01T00:00:00.000Z level=error event=x");
  EXPECT_EQ(at(1'709'251'199'999'999'999), "time=2024-02-29T23:59:59.999Z level=error event=x");
  EXPECT_EQ(at(-1), "time=1969-12-31T23:59:59.999Z level=error event=x");
  std::string json;
  append_log_line(json, LogFormat::json, 1'700'000'000'001'000'000, Level::debug, "x", {});
  EXPECT_EQ(json, R"({"time":"2023-11-14T22:13:20.001Z","level":"debug","event":"x"})");
  // Extreme years are formatted, too.
  EXPECT_NE(at(std::numeric_limits<std::int64_t>::max()).find("time=2262-"), std::string::npos);
  EXPECT_NE(at(std::numeric_limits<std::int64_t>::min()).find("time=1677-"), std::string::npos);
}

TEST(LogLine, NumbersOfEverySizeAreWritten) {
  EXPECT_EQ(text_line({{"a", std::numeric_limits<std::uint64_t>::max()},
                       {"b", std::numeric_limits<std::int64_t>::min()},
                       {"c", std::uint8_t{0}}}),
            "level=info event=test a=18446744073709551615 b=-9223372036854775808 c=0");
}

TEST(LogLine, ATextStandsInQuotesOnlyWhereItHasTo) {
  const std::string start = "level=info event=test k=";
  for (const char* plain : {"word", "127.0.0.1:11300", "/var/lib/x", "a,b", "{}", "x>", "'", "-"}) {
    EXPECT_EQ(text_line({{"k", plain}}), start + plain);
  }
  EXPECT_EQ(text_line({{"k", ""}}), start + R"("")");
  EXPECT_EQ(text_line({{"k", "two words"}}), start + R"("two words")");
  EXPECT_EQ(text_line({{"k", "a=b"}}), start + R"("a=b")");
  EXPECT_EQ(text_line({{"k", "\"\\"}}), start + R"("\"\\")");
  EXPECT_EQ(text_line({{"k", "\t\r\n\x1b"}}), start + R"("\t\r\n\u001b")");
  EXPECT_EQ(text_line({{"k", "x>"}, {"l", "y"}}), start + "x> l=y");
}

TEST(LogLine, CharactersBeyondAsciiAreEscapedAsJsonDoes) {
  EXPECT_EQ(json_line({{"k", "é€😀"}}),
            R"({"level":"info","event":"test","k":"\u00e9\u20ac\ud83d\ude00"})");
}

TEST(LogLine, BytesThatAreNoCharacterBecomeHex) {
  const std::string_view none[] = {
      "\xff",
      "\x80",
      "\xc3",
      "\xe2\x82",
      "\xc0\xaf",
      "\xe0\x80\x80",
      "\xed\xa0\x80",
      "\xf4\x90\x80\x80",
      "\xf8\x88\x80\x80\x80",
      "\xf0\x82\x82\xac",
  };
  for (const std::string_view bytes : none) {
    std::string expected;
    for (const char c : bytes) {
      constexpr char kHex[] = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      expected += std::string("\\\\x") + kHex[byte >> 4] + kHex[byte & 15];
    }
    EXPECT_EQ(text_line({{"k", bytes}}), "level=info event=test k=\"" + expected + "\"");
  }
}

// Both forms decode to the same text, whatever bytes it has.
TEST(LogLine, AnyTextComesBackFromEitherForm) {
  constexpr std::string_view kJsonStart = R"({"level":"info","event":"test","k":)";
  constexpr std::string_view kTextStart = "level=info event=test k=";
  std::uint64_t state = 88172645463325252U;
  const auto random = [&](std::uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
  };
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    std::string expected;
    const std::size_t pieces = random(12);
    for (std::size_t i = 0; i < pieces; ++i) {
      std::uint32_t code = static_cast<std::uint32_t>(random(random(2) == 0 ? 0x80 : 0x110000));
      if (code >= 0xd800 && code <= 0xdfff) code = 'x';
      append_utf8(bytes, code);
      append_utf8(expected, code);
      if (random(4) == 0) {  // A lead byte before ASCII begins no character.
        bytes += "\xe2.";
        expected += "\\xe2.";
      }
    }
    const std::string json = json_line({{"k", bytes}});
    EXPECT_EQ(read_json_string(std::string_view(json).substr(kJsonStart.size())), expected);
    EXPECT_TRUE(json.ends_with("\"}"));
    const std::string text = text_line({{"k", bytes}});
    const std::string_view value = std::string_view(text).substr(kTextStart.size());
    if (value.starts_with('"')) {
      EXPECT_EQ(read_json_string(value), expected);
    } else {
      EXPECT_EQ(value, expected);
    }
    ASSERT_FALSE(HasFailure()) << json << '\n' << text;
  }
}

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
