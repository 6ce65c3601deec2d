// What a reader found wrong in a folder of binlog files: values, for whoever tells them.

#pragma once

#include <cstdint>
#include <string>

namespace haricot::binlog {

struct Problem {
  enum class Kind : std::uint8_t {
    // Of the bytes of a file.
    damaged,   // `bytes` at `offset` are no record. `records` were lost with them, 0: not known.
    job_lost,  // The body of job `id` is damaged and known from nowhere else.
    unproven,  // `jobs` records of a file of beanstalkd were read after damage. They have no sums.
    torn,      // `bytes` at `offset`, the end of the last file, are half a record: a crash.
    // Of whole files.
    missing,       // The file is not there, though other files or the folder's note tell of it.
    emptied,       // The file is there, with nothing in it. A crash as it was begun leaves this.
    displaced,     // It was written as `other`. It was read in the place of that.
    duplicate,     // It was written as `other`, which is there. Left aside.
    foreign,       // It was written in another folder. Left aside.
    contradicted,  // `other` was not begun after this file, but after one of the same number in a
                   // copy of the folder. Left aside.
    other_run,     // The newest one is read, but the server that used the folder last did not begin
                   // it: it is from a copy of the folder, or a newer one is missing.
    unidentified,  // Nothing tells which file it is. Left aside.
    late,          // Its server began it when another one had taken the folder over. Left aside.
    misnamed,      // Its number is none that a server gives. Not read, and stays where it is.
    // Of what follows from that.
    in_doubt,  // Up to `jobs` of the jobs may have been deleted, or changed, by what is lost.
  };

  Kind kind = Kind::damaged;
  std::string file = {};  // Its name in the folder.
  std::string other = {};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t jobs = 0;
  std::uint64_t id = 0;
};

// Whether something is lost or in doubt by it. All kinds but `torn`, which a crash leaves.
bool is_damage(const Problem& problem);
// Whether the file of that problem was not read at all.
bool is_left_aside(Problem::Kind kind);
// A short name of the kind, with hyphens: for logs.
const char* name_of(Problem::Kind kind);
// The same as a sentence: "binlog.3 is damaged at offset 88: 91 bytes cannot be read, 1 record is
// lost".
std::string to_sentence(const Problem& problem);

}  // namespace haricot::binlog
