#include "answer_grammar.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "haricot/base/check.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/protocol/command.hpp"
#include "haricot/protocol/reply.hpp"

namespace haricot::fuzz {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// The priority of a deleted job cannot be raised.
bool is_state(std::string_view word, bool is_raised) {
  return word == "READY" || word == "RESERVED" || word == "DELAYED" || word == "BURIED" ||
         (word == "DELETED" && !is_raised);
}

// Ends the program if the line is not in our notation, for example if a number has a sign or a
// leading zero.
ReplyLine read_line(std::string_view line) {
  ReplyLine reply;
  CHECK(read_reply_line(line, reply));
  // Memory and disk work here.
  CHECK(reply.code != ReplyCode::out_of_memory && reply.code != ReplyCode::internal_error);
  std::string again(row_of(reply.code).word);
  const ReplyForm form = row_of(reply.code).form;
  const bool is_raised = form == ReplyForm::number_state_and_number;
  const bool has_state = is_raised || form == ReplyForm::number_and_state;
  const bool has_id = has_state || form == ReplyForm::job;
  if (has_id) CHECK(reply.number > 0);
  if (has_id || form == ReplyForm::number || form == ReplyForm::two_numbers) {
    again += " " + std::to_string(reply.number);
  }
  if (has_state) {
    CHECK(is_state(reply.name, is_raised));
    again.append(" ").append(reply.name);
  }
  if (is_raised || form == ReplyForm::two_numbers) {
    again += " " + std::to_string(reply.other_number);
  }
  if (is_raised) CHECK(reply.other_number < std::numeric_limits<std::uint32_t>::max());
  if (has_body(reply.code)) again += " " + std::to_string(reply.body_bytes);
  if (reply.code == ReplyCode::now_using) {
    CHECK(is_tube_name(reply.name));
    again.append(" ").append(reply.name);
  }
  CHECK(again == line);
  if (reply.code == ReplyCode::reserved_batch) CHECK(reply.number <= kBatchMax);
  if (reply.code == ReplyCode::deleted_batch) {
    CHECK(reply.number + reply.other_number > 0);
    CHECK(reply.number + reply.other_number <= kBatchMax);
  }
  return reply;
}

// Returns a report without the lines that depend on the division into turns.
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
  while (take_part()) {
    if (batch_left_ == 0) ++answers_;
  }
}

// Consumes an answer, the head of a batch, or one of its jobs.
bool AnswerReader::take_part() {
  const std::size_t end = rest_.find(kLineEnd);
  if (end == std::string::npos) {
    CHECK(rest_.size() < kLineBytesMax);
    return false;
  }
  const std::string_view line = std::string_view(rest_).substr(0, end);
  const ReplyLine reply = read_line(line);
  const std::uint64_t body = reply.body_bytes;
  std::size_t size = end + kLineEnd.size();
  if (has_body(reply.code)) {
    if (rest_.size() < size + body + kLineEnd.size()) return false;
    const std::string_view content = std::string_view(rest_).substr(size, body);
    CHECK(rest_.compare(size + body, kLineEnd.size(), kLineEnd) == 0);
    if (line.starts_with("OK ")) {
      CHECK(content.starts_with("---\n"));
      text_.append("OK\n").append(steady_part(content));
    } else {
      text_.append(line).append("\n").append(content) += '\n';
    }
    size += body + kLineEnd.size();
  } else {
    text_.append(line) += '\n';
  }
  if (batch_left_ > 0) {
    CHECK(reply.code == ReplyCode::reserved);
    --batch_left_;
  } else if (reply.code == ReplyCode::reserved_batch) {
    batch_left_ = reply.number;
  }
  rest_.erase(0, size);
  return true;
}

Wanted answers_to(std::string_view sent, std::size_t job_bytes_max, CommandSet commands) {
  Wanted wanted;
  while (true) {
    const std::size_t end = sent.find(kLineEnd);
    if (end == std::string_view::npos) return wanted;
    const std::string_view line = sent.substr(0, end);
    sent.remove_prefix(end + kLineEnd.size());
    Command command;
    const bool is_batch =
        commands != CommandSet::standard && line.starts_with(row_of(Verb::delete_batch).word);
    const std::size_t bytes_max = is_batch ? kBatchLineBytesMax : kLineBytesMax;
    const bool is_too_long = line.size() + kLineEnd.size() > bytes_max;
    const ParseResult result =
        is_too_long ? ParseResult::bad_format : parse_command(line, command, commands);
    const bool is_good = result == ParseResult::ok;
    if (is_good && command.verb == Verb::quit) {
      wanted.quits = true;
      return wanted;
    }
    // A put that is too big has a body, whatever follows its numbers.
    const bool has_body =
        is_good || (result == ParseResult::late_bad_format && command.body_bytes > job_bytes_max);
    if (has_body && (command.verb == Verb::put || command.verb == Verb::note)) {
      const std::size_t body = std::size_t{command.body_bytes} + kTrailerBytes;
      if (sent.size() < body) return wanted;
      sent.remove_prefix(body);
    }
    ++wanted.answers;
  }
}

}  // namespace haricot::fuzz
