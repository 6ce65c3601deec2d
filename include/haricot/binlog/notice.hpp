// What the binlog has to tell the operator while it runs: a value, for whoever writes the log.

#pragma once

#include <cstdint>
#include <string>

namespace haricot::binlog {

struct Notice {
  enum class Kind : std::uint8_t {
    no_space,     // Puts are refused until there is space.
    space_again,  // There is space again, so puts are taken.
    refusing,     // `doing` to the disk has failed: changes are refused until it has recovered.
    gone,         // Files or the folder were taken away (`error`): all jobs are written anew.
    not_back,     // The folder cannot be used again yet; `error` says why.
    recovered,    // Everything in doubt is in `file` now, or in the files before it.
    file_failed,  // A file could not be made or removed; it is tried again.
    copy_kept,    // Of the damaged `file`, or of its end, as `copy`.
    copy_failed,  // There could be none.
    left_aside,   // `file` is not of this place; it is now called `copy`, or `error` says why not.
    not_written,  // At the end: the last changes are not on the disk.
  };

  Kind kind = Kind::no_space;
  std::string file = {};
  std::string copy = {};
  std::string doing = {};  // "write", "sync", "make", "remove".
  std::string error = {};  // "cannot write binlog.3: No space left on device"
};

// The same as a sentence.
std::string to_sentence(const Notice& notice);

}  // namespace haricot::binlog
