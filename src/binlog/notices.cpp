#include "haricot/binlog/notices.hpp"

namespace haricot::binlog {
namespace {

constexpr Duration kPauseBetweenNotices = Duration::seconds(30);

}  // namespace

std::string to_sentence(const Notice& notice) {
  switch (notice.kind) {
    case Notice::Kind::no_space:
      return "no space: jobs are refused until there is some";
    case Notice::Kind::space_again:
      return "there is space again: jobs are taken";
    case Notice::Kind::refusing:
      return "cannot " + notice.doing + ": " + notice.error +
             "; changes are refused until they can be recorded again";
    case Notice::Kind::gone:
      return "the files of the binlog were taken away: " + notice.error;
    case Notice::Kind::not_back:
      return "the folder cannot be used again yet: " + notice.error;
    case Notice::Kind::recovered:
      return "everything is recorded again, in " + notice.file;
    case Notice::Kind::file_failed:
      return notice.error;
    case Notice::Kind::copy_kept:
      return "what cannot be read of " + notice.file + " is kept in " + notice.copy;
    case Notice::Kind::copy_failed:
      return "cannot keep a copy of " + notice.file + ": " + notice.error;
    case Notice::Kind::left_aside:
      if (!notice.error.empty()) return notice.error;
      return notice.file + " is left aside as " + notice.copy;
    case Notice::Kind::not_written:
      return "the last changes could not be written";
  }
  return "";
}

bool Notices::report_at_times(Subject subject, Notice notice, Instant now) {
  if (now < at(not_before_, subject)) return false;
  add(std::move(notice));
  at(not_before_, subject) = now + kPauseBetweenNotices;
  return true;
}

bool Notices::take_begin(Subject subject) {
  return std::exchange(at(has_begun_, subject), false);
}

std::optional<Notice> Notices::take() {
  if (waiting_.empty()) return std::nullopt;
  Notice first = std::move(waiting_.front());
  waiting_.erase(waiting_.begin());
  return first;
}

}  // namespace haricot::binlog
