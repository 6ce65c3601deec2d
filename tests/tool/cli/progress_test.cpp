#include "tool/cli/progress.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

namespace haricot::tool {
namespace {

// What is written to stderr meanwhile, where stderr is a terminal or a pipe.
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
    // The end of what was written; both ends are open, so reading does not come to one.
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

TEST(Progress, SaysAtOnceWhatIsDone) {
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
