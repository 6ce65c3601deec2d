#include "answer_grammar.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>

#include "haricot/base/check.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/protocol/limits.hpp"
#include "haricot/protocol/tube_name.hpp"

namespace haricot::fuzz {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// Memory and disk are good here, so OUT_OF_MEMORY and INTERNAL_ERROR are not among them.
constexpr std::string_view kWords[] = {"BAD_FORMAT", "BURIED",        "DEADLINE_SOON",  "DELETED",
                                       "DRAINING",   "EXPECTED_CRLF", "JOB_TOO_BIG",    "KICKED",
                                       "NOT_FOUND",  "NOT_IGNORED",   "PAUSED",         "RELEASED",
                                       "TIMED_OUT",  "TOUCHED",       "UNKNOWN_COMMAND"};
constexpr std::string_view kWordsWithNumber[] = {"BURIED", "INSERTED", "KICKED", "WATCHING"};

// A number as we write it: no sign, no zero in front.
std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return value;
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  for (const std::string_view other : words) {
    if (word == other) return true;
  }
  return false;
}

// The size of the body behind the line; nothing if there is none.
std::optional<std::uint64_t> body_behind(std::string_view line) {
  const std::size_t blank = line.find(' ');
  const std::string_view word = line.substr(0, blank);
  if (blank == std::string_view::npos) {
    CHECK(is_one_of(word, kWords));
    return std::nullopt;
  }
  const std::string_view rest = line.substr(blank + 1);
  if (word == "USING") {
    CHECK(is_tube_name(rest));
    return std::nullopt;
  }
  if (word == "OK") {
    CHECK(number_of(rest));
    return number_of(rest);
  }
  if (word == "RESERVED" || word == "FOUND") {
    const std::size_t second = rest.find(' ');
    CHECK(second != std::string_view::npos);
    CHECK(number_of(rest.substr(0, second)).value_or(0) > 0);
    CHECK(number_of(rest.substr(second + 1)));
    return number_of(rest.substr(second + 1));
  }
  CHECK(is_one_of(word, kWordsWithNumber) && number_of(rest));
  return std::nullopt;
}

// A report without the lines that depend on how turns were cut.
std::string steady_part(std::string_view report) {
  std::string text;
  while (!report.empty()) {
    const std::size_t end = report.find('\n');
    CHECK(end != std::string_view::npos);
    const std::string_view line = report.substr(0, end);
    report.remove_prefix(end + 1);
    if (!line.starts_with("binlog-") && !line.starts_with("file: ")) text.append(line) += '\n';
  }
  return text;
}

}  // namespace

void AnswerReader::hear(std::string_view bytes) {
  rest_ += bytes;
  while (take_answer()) ++answers_;
}

bool AnswerReader::take_answer() {
  const std::size_t end = rest_.find(kLineEnd);
  if (end == std::string::npos) {
    CHECK(rest_.size() < kLineBytesMax);
    return false;
  }
  const std::string_view line = std::string_view(rest_).substr(0, end);
  const std::optional<std::uint64_t> body = body_behind(line);
  std::size_t size = end + kLineEnd.size();
  if (body) {
    if (rest_.size() < size + *body + kLineEnd.size()) return false;
    const std::string_view content = std::string_view(rest_).substr(size, *body);
    CHECK(rest_.compare(size + *body, kLineEnd.size(), kLineEnd) == 0);
    if (line.starts_with("OK ")) {
      CHECK(content.starts_with("---\n"));
      text_.append("OK\n").append(steady_part(content));
    } else {
      text_.append(line).append("\n").append(content) += '\n';
    }
    size += *body + kLineEnd.size();
  } else {
    text_.append(line) += '\n';
  }
  rest_.erase(0, size);
  return true;
}

Wanted answers_to(std::string_view sent, std::size_t job_bytes_max) {
  Wanted wanted;
  while (true) {
    const std::size_t end = sent.find(kLineEnd);
    if (end == std::string_view::npos) return wanted;
    const std::string_view line = sent.substr(0, end);
    sent.remove_prefix(end + kLineEnd.size());
    Command command;
    const bool is_too_long = line.size() + kLineEnd.size() > kLineBytesMax;
    const ParseResult result = is_too_long ? ParseResult::bad_format : parse_command(line, command);
    const bool is_good = result == ParseResult::ok;
    if (is_good && command.verb == Verb::quit) {
      wanted.quits = true;
      return wanted;
    }
    // Whatever stands behind its numbers, a put that is too big has a body.
    const bool has_body =
        is_good || (result == ParseResult::late_bad_format && command.body_bytes > job_bytes_max);
    if (has_body && command.verb == Verb::put) {
      const std::size_t body = std::size_t{command.body_bytes} + kTrailerBytes;
      if (sent.size() < body) return wanted;
      sent.remove_prefix(body);
    }
    ++wanted.answers;
  }
}

}  // namespace haricot::fuzz
