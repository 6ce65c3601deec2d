#include "haricot/protocol/reply.hpp"

#include <charconv>
#include <cstring>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

enum class Form : std::uint8_t { word, number, name, job, report };

struct Row {
  std::string_view word;
  Form form;
};

// clang-format off
Row row_of(ReplyCode code) {
  switch (code) {
    case ReplyCode::none:            return {"", Form::word};
    case ReplyCode::bad_format:      return {"BAD_FORMAT", Form::word};
    case ReplyCode::buried:          return {"BURIED", Form::word};
    case ReplyCode::deadline_soon:   return {"DEADLINE_SOON", Form::word};
    case ReplyCode::deleted:         return {"DELETED", Form::word};
    case ReplyCode::draining:        return {"DRAINING", Form::word};
    case ReplyCode::expected_crlf:   return {"EXPECTED_CRLF", Form::word};
    case ReplyCode::internal_error:  return {"INTERNAL_ERROR", Form::word};
    case ReplyCode::job_too_big:     return {"JOB_TOO_BIG", Form::word};
    case ReplyCode::kicked_job:      return {"KICKED", Form::word};
    case ReplyCode::not_found:       return {"NOT_FOUND", Form::word};
    case ReplyCode::not_ignored:     return {"NOT_IGNORED", Form::word};
    case ReplyCode::out_of_memory:   return {"OUT_OF_MEMORY", Form::word};
    case ReplyCode::paused:          return {"PAUSED", Form::word};
    case ReplyCode::released:        return {"RELEASED", Form::word};
    case ReplyCode::timed_out:       return {"TIMED_OUT", Form::word};
    case ReplyCode::touched:         return {"TOUCHED", Form::word};
    case ReplyCode::unknown_command: return {"UNKNOWN_COMMAND", Form::word};
    case ReplyCode::buried_new:      return {"BURIED", Form::number};
    case ReplyCode::inserted:        return {"INSERTED", Form::number};
    case ReplyCode::kicked:          return {"KICKED", Form::number};
    case ReplyCode::watching:        return {"WATCHING", Form::number};
    case ReplyCode::ok_in_pieces:    return {"OK", Form::number};
    case ReplyCode::using_tube:      return {"USING", Form::name};
    case ReplyCode::found:           return {"FOUND", Form::job};
    case ReplyCode::reserved:        return {"RESERVED", Form::job};
    case ReplyCode::ok:              return {"OK", Form::report};
  }
  return {"", Form::word};
}
// clang-format on

char* write(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

char* write(char* to, std::uint64_t number) {
  return std::to_chars(to, to + 20, number).ptr;
}

}  // namespace

std::size_t write_reply_line(const Reply& reply, char* to) {
  CHECK(reply.code != ReplyCode::none);
  const Row row = row_of(reply.code);
  char* at = write(to, row.word);
  switch (row.form) {
    case Form::word:
      break;
    case Form::number:
      at = write(write(at, " "), reply.number);
      break;
    case Form::name:
      at = write(write(at, " "), reply.text);
      break;
    case Form::job:
      at = write(write(at, " "), reply.number);
      at = write(write(at, " "), std::uint64_t{body_size(reply)});
      break;
    case Form::report:
      at = write(write(at, " "), std::uint64_t{body_size(reply)});
      break;
  }
  at = write(at, "\r\n");
  return static_cast<std::size_t>(at - to);
}

bool has_body(ReplyCode code) {
  return code == ReplyCode::found || code == ReplyCode::reserved || code == ReplyCode::ok;
}

}  // namespace haricot
