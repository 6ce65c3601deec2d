#include "haricot/binlog/notices.hpp"

namespace haricot::binlog {
namespace {

constexpr Duration kPauseBetweenNotices = Duration::seconds(30);

}  // namespace

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
