// Judges a folder after its files were read: a pure function of the plan and of the reports on the
// files.

#pragma once

#include <algorithm>
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
  std::uint64_t accepted_bytes = 0;   // Length of the accepted part.
  std::uint64_t records = 0;          // Number of records that it had, as far as is known.
  std::uint32_t records_counted = 0;  // Part of `records` that follows from the file itself.
  std::uint64_t records_read = 0;
  // Number of records that cannot be trusted: those without checksums after damage; or all, if the
  // file differs from the statement of the next one for no known reason.
  std::uint64_t unproven = 0;
  std::uint32_t digest = 0;
  bool has_known_end = false;  // The next file or its own seal states its end.
  bool is_sealed = false;
  bool has_stop_in_seal = false;        // Its seal states that the server was stopped after it.
  bool is_cut = false;                  // It is shorter than the note states.
  bool has_stop_in_note = false;        // The note states that the server was stopped after it.
  bool states_end_of_previous = false;  // It states how the file before it ended.
  MarksRead marks = {};
  bool ends_as_next_states = false;  // It ends as the next file states.
  bool contradicts_next = false;     // The next file was begun after another one of this number.
  // A crash took its head, and with it the statement of how the file before it ended.
  bool is_head_torn = false;
  Damage torn = {};  // Stretch from the first to the last torn byte.
  std::vector<Damage> damages = {};
  // A job whose body is damaged and in no earlier record.
  struct LostJob {
    JobId id;
    std::uint64_t offset;
  };
  std::vector<LostJob> lost_jobs = {};
  // Number of jobs and tombstones whose record is in it when all files are read.
  std::uint64_t live_jobs = 0;

  // Returns true if a part of it is damaged or torn; the part may be zeros, or missing.
  bool has_unreadable_part() const { return !damages.empty() || torn.bytes > 0; }
  // Returns true if haricotd ended the file because it had begun the next one.
  bool was_followed() const {
    return kind() == FileKind::checked && is_sealed && !has_stop_in_seal;
  }
  // Returns true if no record shows which server wrote it.
  bool has_unknown_writer() const { return kind() != FileKind::checked && records == 0; }
};

// The result of reading the files of a plan, except the jobs.
struct FolderRead {
  std::vector<FileReport> files;  // In the order of the plan.
  JobId next_id = 1;              // Higher than all ids in the files.
  std::int64_t last_stamp = 0;    // Highest burial number (stamp) of a buried job.
  // Number of the oldest needed file: the highest that any file states; 0: none states one.
  std::uint64_t oldest_needed = 0;
  std::uint64_t lost_before = 0;  // Highest number of lost records that a signature states.
  // Number below which files with `counts_if_needed` were skipped, because they are not needed;
  // 0: none was.
  std::uint64_t passed_over_below = 0;

  // Skips ids that lost jobs may have had. The highest id is the limit.
  void skip_ids(std::uint64_t ids) { next_id += std::min(ids, ~JobId{0} - next_id); }
};

struct ReplayReport : FolderRead {
  std::vector<Problem> problems = {};
  std::vector<std::string> spares = {};     // See FolderFacts.
  std::vector<std::uint64_t> missing = {};  // Numbers of files that must be there and are not.
  std::vector<std::uint64_t> missing_but_listed = {};  // Those of `missing` that the folder lists.
  bool may_lack_newest = false;      // A file newer than these may have had records.
  std::uint64_t highest_number = 0;  // Highest number of a file read, set aside or missing.
  std::uint64_t records_lost = 0;    // Number of lost records, as far as is known.
  std::uint64_t store_id = 0;        // Id of the folder; 0: unknown.
  std::uint32_t run = 0;             // Run of the newest file with records; 0: unknown.

  // Returns true if nothing is lost or in doubt. The torn end that a crash leaves does not count.
  bool is_sound() const;
  // Returns the sentences of the problems that are damage.
  std::vector<std::string> warnings() const;
};

// Returns the length of the first part of a file in which each hole is damage; kDurableBytesEnd:
// the whole file. These bytes were durable when the server of the file ended, or the next server
// still found them. In the rest a hole is torn if it looks torn. `files`: those of the folder, in
// order.
//
// Each start must get the same result. So only marks of the file's own run count, and from later
// runs a single fact: if the file is as the next file states.
std::uint64_t durable_bytes_of(const std::vector<FileReport>& files, std::size_t index);
// Moves the damages that a loss of power explains from `damages` to `torn` of each file, and drops
// the lost jobs in them.
void settle_holes(std::vector<FileReport>& files);
// Adds a problem `in_doubt` with the number of jobs that the lost part of a file may have deleted
// or changed. These are the jobs of this file and of older ones, at most `changes`, the maximum
// number of lost changes and deletions (0: unknown). Adds nothing if there is no such job.
void add_doubt(ReplayReport& report, const std::string& file, std::uint64_t number,
               std::uint64_t changes);
// Returns the report on a folder. Requires: settle_holes() was called for the files.
ReplayReport judge_folder(const FolderPlan& plan, FolderRead read);

}  // namespace haricot::binlog
