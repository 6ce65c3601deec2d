// A message of the binlog to the operator while it runs: a value that the log prints.

#pragma once

#include <cstdint>
#include <string>

namespace haricot::binlog {

struct Notice {
  enum class Kind : std::uint8_t {
    no_space,     // Puts are refused until there is space.
    space_again,  // There is space again, so puts are accepted.
    refusing,     // `doing` to the disk has failed: changes are refused until it recovers.
    gone,         // Files or the folder were removed (`error`): all jobs are written again.
    not_back,     // The folder cannot be used again yet; `error` says why.
    recovered,    // All records in doubt are in `file` now, or in files before it.
    file_failed,  // A file could not be created or removed; it is retried.
    copy_kept,    // The damaged `file`, or its end, was copied to `copy`.
    copy_failed,  // The copy failed.
    left_aside,   // `file` does not belong there; it was renamed `copy`, or `error` says why not.
    not_written,  // At the end of the server the last changes are not on the disk.
  };

  Kind kind = Kind::no_space;
  std::string file = {};
  std::string copy = {};
  std::string doing = {};  // "write", "sync", "make", "remove".
  std::string error = {};  // "cannot write binlog.3: No space left on device"
};

// Returns the notice as a sentence.
std::string to_sentence(const Notice& notice);

}  // namespace haricot::binlog
