// Judges a folder after its files were read: a pure function of the plan and of the reports on the
// files.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "haricot/binlog/read/file_scan.hpp"
#include "haricot/binlog/read/folder_plan.hpp"
#include "haricot/binlog/read/problem.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::binlog {

// The result of reading one file.
struct FileReport : PlannedFile {
  std::uint64_t bytes = 0;            // Length of the file.
  std::uint64_t accepted_bytes = 0;   // Length of the part that was read.
  std::uint64_t records = 0;          // Number of records that it had, as far as is known.
  std::uint32_t records_counted = 0;  // The part of `records` that the file itself proves.
  std::uint64_t records_read = 0;
  std::uint64_t unproven = 0;  // Number of records without checksums after damage.
  std::uint32_t digest = 0;
  bool has_known_end = false;  // The next file or its own seal states its end.
  bool is_sealed = false;
  bool is_last_of_a_run = false;  // Its seal states that the server was stopped after it.
  bool is_cut = false;            // It is shorter than the note states.
  bool was_stopped = false;       // The note states that the server was stopped after it.
  bool tells_end_before = false;  // It states how the file before it ended.
  MarksRead marks = {};
  bool is_as_told = false;        // It ended as the next file states.
  bool contradicts_next = false;  // The next file was begun after another one of this number.
  bool is_head_torn = false;      // A crash took its head, with the end of the file before it.
  Damage torn = {};               // The stretch from the first to the last byte lost with power.
  std::vector<Damage> damages = {};
  // A job whose body is damaged and exists nowhere else.
  struct LostJob {
    JobId id;
    std::uint64_t offset;
  };
  std::vector<LostJob> lost_jobs = {};
  std::uint64_t live_jobs = 0;  // Number of jobs that live in it when all files are read.

  // Returns true if it has bytes that are neither a record nor zero.
  bool has_rubbish() const { return !damages.empty() || torn.bytes > 0; }
  // Returns true if haricotd ended the file because it had begun the next one.
  bool was_followed() const {
    return kind() == FileKind::checked && is_sealed && !is_last_of_a_run;
  }
  // Returns true if no record shows which server wrote it.
  bool tells_nothing() const { return kind() != FileKind::checked && records == 0; }
};

// The result of reading the files of a plan, except their jobs.
struct FolderRead {
  std::vector<FileReport> files;    // In the order of the plan.
  JobId next_id = 1;                // Higher than all ids in the files.
  std::int64_t last_stamp = 0;      // Highest stamp of a buried job.
  std::uint64_t oldest_needed = 0;  // As the newest file that states it has it; 0: none does.
  std::uint64_t lost_before = 0;    // Number of lost records that signatures state.
  // Files that count only if needed were skipped below this number; 0: none was.
  std::uint64_t passed_over_below = 0;
};

struct ReplayReport : FolderRead {
  std::vector<Problem> problems = {};
  std::vector<std::string> spares = {};     // See FolderFacts.
  std::vector<std::uint64_t> missing = {};  // Numbers of files that must be there and are not.
  bool may_lack_newest = false;             // A newer file may have had records.
  std::uint64_t highest_number = 0;         // Highest of files read, set aside or missing.
  std::uint64_t records_lost = 0;           // As far as they can be counted.
  std::uint64_t store_id = 0;               // 0: the folder has no file of haricotd.
  std::uint32_t run = 0;                    // Run of the newest file with records; 0: unknown.

  // Returns true if nothing is lost or in doubt. The torn end that a crash leaves does not count.
  bool is_sound() const;
  // Returns the sentences of the problems that are damage.
  std::vector<std::string> warnings() const;
};

// Returns the number of bytes of a file that were durable when its server ended, or are known not
// to have changed since; kDurableBytesEnd: all. A hole after them is torn if it looks torn. `files`
// are those of the folder, in order. Each start must reach the same result, so only marks of the
// run itself count, and of later runs only whether the file is as the next one found it.
std::uint64_t durable_bytes_of(const std::vector<FileReport>& files, std::size_t index);
// Separates stretches that a loss of power took from damage.
void settle_holes(std::vector<FileReport>& files);
// Adds to a report the jobs that may be deleted or changed by the lost part of a file: jobs of it
// and of older files. `changes`: maximum number of lost records; 0: unknown.
void add_doubt(ReplayReport& report, const std::string& file, std::uint64_t number,
               std::uint64_t changes);
// Requires: settle_holes() was called for the files.
ReplayReport judge_folder(const FolderPlan& plan, FolderRead read);

}  // namespace haricot::binlog
