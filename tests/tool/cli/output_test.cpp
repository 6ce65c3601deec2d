#include "tool/cli/output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <termios.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

namespace haricot::tool {
namespace {

TEST(SafeText, AWordIsPrintableAscii) {
  EXPECT_EQ(safe_word("mail-in_2"), "mail-in_2");
  EXPECT_EQ(safe_word("a\x1b[2J\nb\x7f\xc3\xa9"), "a\\x1b[2J\\x0ab\\x7f\\xc3\\xa9");
}

TEST(SafeText, LinesKeepHarmlessCharacters) {
  EXPECT_EQ(safe_lines("a\tb\nh\xc3\xa9"), "a\tb\nh\xc3\xa9");
  EXPECT_EQ(safe_lines("a\r\x1b[2J\x07"), "a\\x0d\\x1b[2J\\x07");
}

TEST(SafeText, TheSecondSetOfControlCharactersGoesToo) {
  EXPECT_EQ(safe_lines("\xc2\x9b"
                       "2J"),
            "\\xc2\\x9b2J");
  EXPECT_EQ(safe_lines("\x9b"
                       "2J"),
            "\\x9b2J");
}

TEST(SafeText, InvisibleAndDirectionalCharactersAreShown) {
  EXPECT_EQ(safe_lines("cod\xe2\x80\xaegpj.exe"), "cod\\xe2\\x80\\xaegpj.exe");  // U+202E
  EXPECT_EQ(safe_lines("a\xe2\x81\xa6z"), "a\\xe2\\x81\\xa6z");                  // U+2066
  EXPECT_EQ(safe_lines("a\xe2\x80\x8bz"), "a\\xe2\\x80\\x8bz");                  // U+200B
  EXPECT_EQ(safe_lines("\xf3\xa0\x81\x81"), "\\xf3\\xa0\\x81\\x81");             // U+E0041
  EXPECT_EQ(safe_lines("\xd7\xa9\xd9\x84"), "\xd7\xa9\xd9\x84");                 // Letters.
}

TEST(SafeText, BytesThatAreNoUtf8AreShown) {
  EXPECT_EQ(safe_lines("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(safe_lines("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(safe_lines("\xe2\x82\xac"), "\xe2\x82\xac");
}

// Captures stderr, which is a terminal or a pipe.
class Stderr {
 public:
  explicit Stderr(bool is_terminal) {
    if (is_terminal) {
      reader_ = ::posix_openpt(O_RDWR | O_NOCTTY);
      EXPECT_EQ(::grantpt(reader_), 0);
      EXPECT_EQ(::unlockpt(reader_), 0);
      writer_ = ::open(::ptsname(reader_), O_RDWR | O_NOCTTY);
    } else {
      int ends[2] = {-1, -1};
      EXPECT_EQ(::pipe(ends), 0);
      reader_ = ends[0];
      writer_ = ends[1];
    }
    EXPECT_GE(writer_, 0);
  }
  ~Stderr() {
    ::close(reader_);
    ::close(writer_);
  }
  Stderr(const Stderr&) = delete;
  Stderr& operator=(const Stderr&) = delete;

  std::string written_by(const std::function<void()>& work) const {
    const int before = ::dup(STDERR_FILENO);
    ::dup2(writer_, STDERR_FILENO);
    work();
    ::dup2(before, STDERR_FILENO);
    ::close(before);
    // Marks the end of the output: both ends are open, so there is no end of file.
    EXPECT_EQ(::write(writer_, "|", 1), 1);
    std::string text;
    while (!text.ends_with('|')) {
      char bytes[256];
      const ssize_t count = ::read(reader_, bytes, sizeof bytes);
      if (count <= 0) break;
      text.append(bytes, static_cast<std::size_t>(count));
    }
    text.pop_back();
    return text;
  }

 private:
  int reader_ = -1;
  int writer_ = -1;
};

Instant after_ms(std::int64_t milliseconds) {
  return Instant::at(milliseconds * 1'000'000);
}

TEST(Progress, IsALineThatOverwritesItselfAndGoesAway) {
  const std::string text = Stderr(true).written_by([] {
    Progress progress("moved", false);
    progress.show(after_ms(0), 1, 50);
    progress.show(after_ms(249), 2, 50);
    progress.show(after_ms(250), 3, 50);
    progress.show(after_ms(499), 4, 50);
    progress.show(after_ms(500), 5);
  });
  EXPECT_EQ(text, "\r\033[Kmoved 3 of 50\r\033[Kmoved 5\r\033[K");
}

TEST(Progress, ShowsNothingOfShortWork) {
  EXPECT_EQ(Stderr(true).written_by([] {
    Progress progress("moved", false);
    for (int i = 0; i < 249; ++i) progress.show(after_ms(i), 1, 50);
  }),
            "");
}

TEST(Progress, EstimatesTheTimeThatIsLeftFromThePaceSoFar) {
  const std::string text = Stderr(true).written_by([] {
    Progress progress("moved", false);
    progress.show(after_ms(0), 10, 110);
    progress.show(after_ms(999), 20, 110);
    progress.show(after_ms(10'000), 60, 110);
    progress.show(after_ms(20'000), 110, 110);
    progress.show(after_ms(30'000), 50, 110);
  });
  EXPECT_EQ(text,
            "\r\033[Kmoved 20 of 110\r\033[Kmoved 60 of 110, about 10 s left"
            "\r\033[Kmoved 110 of 110\r\033[Kmoved 50 of 110, about 45 s left\r\033[K");
}

TEST(Progress, EstimatesByAShareInAnotherUnit) {
  const std::string text = Stderr(true).written_by([] {
    Progress progress("imported", false);
    progress.show_share(after_ms(0), 0, 0, 1000);
    progress.show_share(after_ms(5'000), 7, 500, 1'000'000);
    progress.show_share(after_ms(6'000), 8, 0, 0);
  });
  EXPECT_EQ(text, "\r\033[Kimported 7, 0 %, about 3 h left\r\033[Kimported 8\r\033[K");
}

TEST(Progress, DoesNotWaitForAStoppedTerminal) {
  const int reader = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_EQ(::grantpt(reader), 0);
  ASSERT_EQ(::unlockpt(reader), 0);
  const int writer = ::open(::ptsname(reader), O_RDWR | O_NOCTTY);
  ASSERT_EQ(::tcflow(writer, TCOOFF), 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(writer, STDERR_FILENO);
  {
    Progress progress("moved", false);
    for (int i = 0; i < 100'000; ++i) progress.show(after_ms(i * 250), 1);
  }
  ::dup2(before, STDERR_FILENO);
  for (const int descriptor : {before, reader, writer}) ::close(descriptor);
}

TEST(Progress, ReportsEachActionAtOnce) {
  EXPECT_EQ(Stderr(true).written_by([] {
    Progress progress("read", false);
    progress.say("reading");
  }),
            "\r\033[Kreading ...\r\033[K");
}

TEST(Progress, IsSilentInAPipeAndIfItIsToBeQuiet) {
  const auto work = [](bool is_quiet) {
    return [is_quiet] {
      Progress progress("moved", is_quiet);
      progress.say("moving");
      progress.show(after_ms(0), 1);
      progress.show(after_ms(1000), 2);
    };
  };
  EXPECT_EQ(Stderr(false).written_by(work(false)), "");
  EXPECT_EQ(Stderr(true).written_by(work(true)), "");
}

}  // namespace
}  // namespace haricot::tool
