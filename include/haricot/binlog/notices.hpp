// What the binlog has to tell the log, until somebody takes it out. A shortage or a failure that
// comes and goes must not fill the log, so each subject is told at most every 30 seconds. What
// makes the server refuse changes is a subject of its own: something that harms less never keeps it
// out.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/binlog/notice.hpp"

namespace haricot::binlog {

class Notices {
 public:
  enum class Subject : std::uint8_t {
    failure,     // Changes are refused: a write or a sync has failed, the folder cannot be used,
    gone,        // or the newest file, the lock or the folder is gone.
    older_gone,  // An older file is gone. Changes are taken.
    file,        // A file could not be made, written or removed. It is tried again.
    space,       // Puts are refused for want of space.
  };
  static constexpr std::size_t kSubjects = 5;

  // Adds a notice. May throw std::bad_alloc; then nothing has changed.
  void tell(Notice notice) { waiting_.push_back(std::move(notice)); }
  // The same, unless one of its subject came less than 30 seconds before. Whether it was added.
  bool report_at_times(Subject subject, Notice notice, Instant now);
  // The next one of that subject is told however soon it comes.
  void report_next(Subject subject, Instant now) { at(not_before_, subject) = now; }

  // The log was told that something has begun, so it is to be told when that has ended.
  void begin(Subject subject) { at(has_begun_, subject) = true; }
  // Whether that is so. False the next time.
  bool take_begin(Subject subject);

  // Takes out the oldest notice.
  std::optional<Notice> take();

  // Failures are counted, whether they are told or not.
  void count_error() { ++errors_; }
  std::uint64_t errors() const { return errors_; }

 private:
  template <typename Value>
  static Value& at(std::array<Value, kSubjects>& values, Subject subject) {
    return values[static_cast<std::size_t>(subject)];
  }

  std::vector<Notice> waiting_;
  std::array<Instant, kSubjects> not_before_{};
  std::array<bool, kSubjects> has_begun_{};
  std::uint64_t errors_ = 0;
};

}  // namespace haricot::binlog
