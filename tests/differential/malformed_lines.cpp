#include "malformed_lines.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "number_in.hpp"

namespace haricot::test {
namespace {

constexpr std::size_t kLineBytesMax = 224;  // With CR LF.
constexpr std::uint64_t kShortestPauseSeconds = 1000;

constexpr std::array kBadNumbers = {
    "4294967295",
    "4294967296",
    "4294967297",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551617",
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999999999",
    "-1",
    "-0",
    "+1",
    "1x",
    "x1",
    "0x10",
    "1.5",
    "1e3",
    "00000000000000000000000000000007",
    "",
    "\t7",
    "\xd9\xa3",
};

constexpr std::array kBadNames = {
    "-a",    "-",     "a b",   "a\tb", "a*b", "a:b",   "a,b",        "a\"b", "a\\b",
    "\xff",  "a\xc3", "a@b",   "a#b",  "a=b", "a%b",   "[a]",        "{a}",  "a|b",
    "a~b",   "a'b",   "a\x7f", "",     " a",  "a\x01", "a!b",        "a?b",  "a<b",
    "a>b^c", "a`b",   "a&b",   "+a",   "/a",  "()",    "$_a.b;c-d+", "_",    "0",
};

constexpr std::array kUnknownLines = {
    "",
    " ",
    "help",
    "version",
    "put",
    "delete",
    "release",
    "bury",
    "touch",
    "watch",
    "ignore",
    "use",
    "peek",
    "kick",
    "kick-job",
    "list",
    "list-tube",
    "stat",
    "pause",
    "pause-tube",
    "pause-tube ",
    "stats-job",
    "stats-tube",
    "stats-job ",
    "reservex",
    "reserve ",
    "reserve 0",
    "reserve-with",
    "reserve-job",
    "reserve-job ",
    "reserve-",
    "reserved",
    "statsx",
    "stats x",
    "stats-",
    "list-tubesx",
    "list-tubes-",
    "list-tube-",
    "peek-",
    "peek-read",
    "peek-readyx",
    "peek-buried ",
    "peek-delayed x",
    "peek-ready 1",
    "GET / HTTP/1.1",
    "set a 0 0 1",
    "kick ",
    "qui",
    "reserve-with-timeout",
    "reserve-with-timeout 18446744073709551616",
    "list-tube-used ",
    "list-tubes-watched x",
    "kick-job ",
    "\t",
    "\n",
    "stats-tube ",
    "use ",
    "watch ",
    "ignore ",
};

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string line = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) line += " " + words[i];
  return line;
}

std::string with_a_wrong_word(std::string_view line, Random& random) {
  auto words = words_of(line);
  if (words.size() == 1) words.emplace_back();
  std::string& word = words[random.between(1, words.size() - 1)];
  if (number_in(word)) {
    word = random.pick(kBadNumbers);
  } else {
    word = random.chance(30) ? std::string(random.between(199, 202), 'n') : random.pick(kBadNames);
  }
  return joined(words);
}

std::string with_words_too_many_or_missing(std::string_view line, Random& random) {
  auto words = words_of(line);
  switch (random.below(3)) {
    case 0:
      if (words.size() > 1) words.pop_back();
      break;
    case 1:
      words.emplace_back(random.chance(50) ? "0" : "x");
      break;
    default:
      words.insert(words.begin() + 1, words.back());
  }
  return joined(words);
}

std::string with_more_blanks(std::string_view line, Random& random) {
  std::string text(line);
  const std::string blanks(random.between(1, 3), random.chance(80) ? ' ' : '\t');
  const std::size_t blank = text.find(' ');
  switch (random.below(3)) {
    case 0:
      return blanks + text;
    case 1:
      return text + blanks;
    default:
      return text.insert(blank == std::string::npos ? text.size() : blank, blanks);
  }
}

std::string with_a_wrong_byte(std::string_view line, Random& random) {
  std::string text(line);
  constexpr std::array kBytes = {'\0', '\0', '\n', ' ', '\t', '\x80', 'x', '7', '-'};
  const char byte = random.pick(kBytes);
  const std::size_t at = random.below(text.size() + 1);
  if (at < text.size() && random.chance(50)) {
    text[at] = byte;
  } else {
    text.insert(at, 1, byte);
  }
  return text;
}

// Around the limit, and around twice the limit, where readers by chunks tend to fail.
std::string of_excess_length(std::string_view line, Random& random) {
  std::string text(line);
  const std::size_t length = random.chance(50)
                                 ? random.between(kLineBytesMax - 6, kLineBytesMax + 6)
                                 : random.between(200, 460);
  if (text.size() + 2 < length) {
    text.append(length - 2 - text.size(), random.pick(std::string_view(" x0")));
  }
  return text;
}

// Returns true if the text begins with the number 0, whatever follows its digits.
bool begins_with_zero(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  return number_in(digits) == 0U;
}

}  // namespace

std::string damaged(std::string_view line, Random& random) {
  switch (random.below(9)) {
    case 0:
    case 1:
      return with_a_wrong_word(line, random);
    case 2:
      return with_words_too_many_or_missing(line, random);
    case 3:
      return with_more_blanks(line, random);
    case 4:
      return with_a_wrong_byte(line, random);
    case 5:
      return of_excess_length(line, random);
    case 6: {
      std::string text(line);
      char& c = text[random.below(std::min<std::size_t>(text.size(), 4))];
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      return text;
    }
    case 7:
      return std::string(line.substr(0, random.below(line.size() + 1)));
    default:
      return random.pick(kUnknownLines);
  }
}

bool is_comparable(std::string_view line) {
  // beanstalkd never answers a line with a CR without an LF, nor one whose CR is the last byte of a
  // read; docs/compatibility.md.
  const bool hangs_beanstalkd =
      line.find('\r') != std::string_view::npos || (line.size() + 2) % kLineBytesMax == 1;
  if (hangs_beanstalkd || line.starts_with("quit")) return false;

  // 1.12 accepts almost anything as a timeout where 1.13 answers BAD_FORMAT; docs/compatibility.md.
  // Valid lines that are omitted here are sent by the stream itself. A line that waits is omitted,
  // too.
  constexpr std::string_view kReserveWithTimeout = "reserve-with-timeout ";
  if (line.starts_with(kReserveWithTimeout)) {
    return line.ends_with("18446744073709551616") ||
           begins_with_zero(line.substr(kReserveWithTimeout.size()));
  }
  if (line == "reserve") return false;  // Waits.

  const auto words = words_of(line);
  const auto last = number_in(words.back());
  const bool starts_a_timer = line.starts_with("release ") || line.starts_with("pause-tube ");
  if (starts_a_timer && last && *last > 0 && *last < kShortestPauseSeconds) return false;

  // A put line that may be valid announces a body.
  return !line.starts_with("put ");
}

}  // namespace haricot::test
