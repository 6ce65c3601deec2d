// An answer as a value, the table of all answers, and the writer and the reader of their first
// lines.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "haricot/base/blob.hpp"

namespace haricot {

// In the order of kReplyTable.
enum class ReplyCode : std::uint8_t {
  none,     // Nothing is sent: the answer comes later, or never.
  not_yet,  // Nothing is sent and nothing has happened: run the command again.
  bad_format,
  buried,
  deadline_soon,
  deleted,
  draining,
  expected_crlf,
  internal_error,
  job_too_big,
  kicked_job,
  not_found,
  not_ignored,
  out_of_memory,
  paused,
  released,
  timed_out,
  touched,
  unknown_command,
  buried_new,
  inserted,
  kicked,
  watching,
  ok_in_pieces,
  now_using,
  found,
  reserved,
  ok,
  not_draining,
  flushed,
  reserved_batch,
  deleted_batch,
  inserted_again,
  inserted_raised,
  touched_all,
  aborted,
  noted,
};
constexpr ReplyCode last_of(ReplyCode) {
  return ReplyCode::noted;
}
inline constexpr std::size_t kReplyCodes = static_cast<std::size_t>(last_of(ReplyCode{})) + 1;

// Form of the first line of an answer.
enum class ReplyForm : std::uint8_t {
  nothing,                  // No line.
  word,                     // A word.
  number,                   // A word and `number`.
  two_numbers,              // A word, `number` and `other_number`.
  number_and_state,         // A word, `number` and `text`, the state of a job in capital letters.
  number_state_and_number,  // As number_and_state, then `other_number`.
  name,                     // A word and `text`, a tube's name.
  job,               // A word, `number` (the job's id) and the size of a body; then the body.
  report,            // A word and the size of a text; then the text.
  report_in_pieces,  // As `report`, with `number` as the size; the caller sends the text and CR LF.
};

struct ReplyRow {
  ReplyCode code;
  std::string_view word;
  ReplyForm form;
};

// One row per answer, for the writer and the reader. A word may have several forms.
inline constexpr std::array<ReplyRow, kReplyCodes> kReplyTable = {{
    {ReplyCode::none, "", ReplyForm::nothing},
    {ReplyCode::not_yet, "", ReplyForm::nothing},
    {ReplyCode::bad_format, "BAD_FORMAT", ReplyForm::word},
    {ReplyCode::buried, "BURIED", ReplyForm::word},
    {ReplyCode::deadline_soon, "DEADLINE_SOON", ReplyForm::word},
    {ReplyCode::deleted, "DELETED", ReplyForm::word},
    {ReplyCode::draining, "DRAINING", ReplyForm::word},
    {ReplyCode::expected_crlf, "EXPECTED_CRLF", ReplyForm::word},
    {ReplyCode::internal_error, "INTERNAL_ERROR", ReplyForm::word},
    {ReplyCode::job_too_big, "JOB_TOO_BIG", ReplyForm::word},
    {ReplyCode::kicked_job, "KICKED", ReplyForm::word},
    {ReplyCode::not_found, "NOT_FOUND", ReplyForm::word},
    {ReplyCode::not_ignored, "NOT_IGNORED", ReplyForm::word},
    {ReplyCode::out_of_memory, "OUT_OF_MEMORY", ReplyForm::word},
    {ReplyCode::paused, "PAUSED", ReplyForm::word},
    {ReplyCode::released, "RELEASED", ReplyForm::word},
    {ReplyCode::timed_out, "TIMED_OUT", ReplyForm::word},
    {ReplyCode::touched, "TOUCHED", ReplyForm::word},
    {ReplyCode::unknown_command, "UNKNOWN_COMMAND", ReplyForm::word},
    {ReplyCode::buried_new, "BURIED", ReplyForm::number},
    {ReplyCode::inserted, "INSERTED", ReplyForm::number},
    {ReplyCode::kicked, "KICKED", ReplyForm::number},
    {ReplyCode::watching, "WATCHING", ReplyForm::number},
    {ReplyCode::ok_in_pieces, "OK", ReplyForm::report_in_pieces},
    {ReplyCode::now_using, "USING", ReplyForm::name},
    {ReplyCode::found, "FOUND", ReplyForm::job},
    {ReplyCode::reserved, "RESERVED", ReplyForm::job},
    {ReplyCode::ok, "OK", ReplyForm::report},
    {ReplyCode::not_draining, "NOT_DRAINING", ReplyForm::word},
    {ReplyCode::flushed, "FLUSHED", ReplyForm::number},
    // `number` answers with the code `reserved` follow.
    {ReplyCode::reserved_batch, "RESERVED_BATCH", ReplyForm::number},
    {ReplyCode::deleted_batch, "DELETED_BATCH", ReplyForm::two_numbers},
    // Answers to a put whose key an existing job has: the id and state of that job, and its new
    // priority if the put has raised it.
    {ReplyCode::inserted_again, "INSERTED", ReplyForm::number_and_state},
    {ReplyCode::inserted_raised, "INSERTED", ReplyForm::number_state_and_number},
    {ReplyCode::touched_all, "TOUCHED_ALL", ReplyForm::number},
    {ReplyCode::aborted, "ABORTED", ReplyForm::word},
    {ReplyCode::noted, "NOTED", ReplyForm::word},
}};

constexpr const ReplyRow& row_of(ReplyCode code) {
  return kReplyTable[static_cast<std::size_t>(code)];
}

struct Reply {
  ReplyCode code = ReplyCode::none;
  std::uint64_t number = 0;
  std::uint64_t other_number = 0;
  // Tube name, state, report, or the body if it is not in `blob`. Borrowed: valid until the next
  // command.
  std::string_view text = {};
  // Body of a job, if it is too large to be copied.
  BlobRef blob = {};
};

// Maximum length of the first line of an answer. The longest are RESERVED with numbers of 20 and 10
// digits, and USING with a name.
inline constexpr std::size_t kReplyLineBytesMax = 256;

// Writes the first line of an answer, CR LF included, and returns its length. Requires: room for
// kReplyLineBytesMax bytes; code is neither none nor not_yet.
std::size_t write_reply_line(const Reply& reply, char* to);

// The first line of an answer, parsed.
struct ReplyLine {
  ReplyCode code = ReplyCode::none;
  std::uint64_t number = 0;  // A job's id, or a number of jobs or tubes.
  std::uint64_t other_number = 0;
  std::uint64_t body_bytes = 0;  // Size of a body or a report.
  std::string_view name = {};    // Tube name, or state as received; points into the line.
};

// Reads the first line of an answer, without its CR LF. Returns false if the line is not an answer.
// The line of a report is always read as `ok`, because it does not show whether the report comes in
// pieces.
[[nodiscard]] bool read_reply_line(std::string_view line, ReplyLine& reply);

// Returns true if a body and its CR LF follow the line.
constexpr bool has_body(ReplyCode code) {
  const ReplyForm form = row_of(code).form;
  return form == ReplyForm::job || form == ReplyForm::report;
}
inline std::size_t body_size(const Reply& reply) {
  return reply.blob ? reply.blob.size() : reply.text.size();
}

}  // namespace haricot
