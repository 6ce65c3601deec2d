// A problem that a reader found in a folder of binlog files: a value that callers print.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace haricot::binlog {

struct Problem {
  enum class Kind : std::uint8_t {
    damaged,   // `bytes` at `offset` are no record, and `records` were lost with them (0: unknown).
               // If both are 0, the file is empty and may have had records.
    job_lost,  // The body of job `id` is damaged and in no earlier record.
    unproven,  // `jobs` records cannot be trusted: they have no checksums and follow damage, or
               // their file differs from the statement of the next one.
    torn,      // `bytes` at `offset` were not durable when the power was lost.
    late,      // A server that had lost the folder began the file after `other`; it is set aside.
    unfit,     // The file does not fit the folder, as `why` states: a server does not start.
    in_doubt,  // Lost records may have deleted or changed up to `jobs` jobs.
  };

  Kind kind = Kind::damaged;
  std::string file = {};  // Name in the folder.
  std::string other = {};
  std::string why = {};  // Rest of a sentence that begins with the name: "is missing".
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t jobs = 0;
  std::uint64_t id = 0;
};

// Returns true for all kinds except `torn`, which a crash leaves, and `late`, which a failover
// leaves: nothing that was acknowledged is lost. With `--strict` a server does not start if a
// problem is damage.
bool is_damage(const Problem& problem);
// Returns the problem as a sentence: "binlog.3 is damaged at offset 88: 91 bytes cannot be read".
std::string to_sentence(const Problem& problem);
// Returns the reason not to start: the first problem of kind `unfit`, and the number of further
// ones. Empty: there is none.
std::string refusal_of(const std::vector<Problem>& problems);
// Returns the error of a start on that folder; with the command to type, if a problem is `unfit`.
std::string with_remedy(std::string error, const std::vector<Problem>& problems,
                        const std::string& folder);

}  // namespace haricot::binlog
