// Messages of the binlog to the operator while it runs, and their queue for the log.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "haricot/base/time.hpp"

namespace haricot::binlog {

// A message: a value that the log prints.
struct Notice {
  enum class Kind : std::uint8_t {
    no_space,     // Puts are refused until there is space.
    space_again,  // There is space again, so puts are accepted.
    refusing,     // A step (`doing`) failed on the disk: changes are refused until it recovers.
    gone,         // Files or the folder were removed (`error`): their jobs are written again.
    not_back,     // The folder cannot be used again yet; `error` has the reason.
    recovered,    // All records that may have been lost are in `file` now, or in files before it.
    file_failed,  // A file could not be created, written or removed (see Subject::file).
    copy_kept,    // The damaged `file`, or its torn part, was copied to `copy`.
    copy_failed,  // The copy failed.
    left_aside,   // `file` does not belong to the folder; it was renamed to `copy`, or `error` has
                  // the reason why not.
    not_written,  // The server ends, and could not write the last changes.
  };

  Kind kind = Kind::no_space;
  std::string file = {};
  std::string copy = {};
  // The step that failed: "write", "sync", "begin a file", "make", "remove" or "find".
  std::string doing = {};
  std::string error = {};  // "cannot write binlog.3: No space left on device"
};

// Returns the notice as a sentence.
std::string to_sentence(const Notice& notice);

// Queue of notices for the log. A shortage or a failure that comes and goes must not fill the log,
// so each subject is reported at most every 30 seconds. Failures that stop changes are subjects of
// their own, so a lesser one never suppresses them.
class Notices {
 public:
  enum class Subject : std::uint8_t {
    failure,     // Changes are refused: a write or sync failed, or the folder cannot be used.
    gone,        // Changes are refused: the newest file, the lock or the folder is gone.
    older_gone,  // An older file is gone. Changes are accepted.
    file,        // A file could not be created, written or removed. Changes are accepted. The
                 // server retries, but not a large body.
    space,       // Puts are refused for lack of space.
  };
  static constexpr std::size_t kSubjects = 5;

  // Adds a notice. May throw std::bad_alloc; then nothing has changed.
  void add(Notice notice) { waiting_.push_back(std::move(notice)); }
  // Adds a notice and returns true, unless one of its subject was added less than 30 seconds
  // before.
  bool report_at_times(Subject subject, Notice notice, Instant now);
  // Permits the next notice of that subject at once.
  void report_next(Subject subject, Instant now) { at(not_before_, subject) = now; }

  // Remembers that the beginning of a failure or shortage was logged, so that its end is logged,
  // too.
  void begin(Subject subject) { at(has_begun_, subject) = true; }
  // Returns true once after begin().
  bool take_begin(Subject subject);

  // Removes and returns the oldest notice.
  std::optional<Notice> take();

  // Counts a failure, logged or not.
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
