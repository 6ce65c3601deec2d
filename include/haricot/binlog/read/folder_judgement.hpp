// What it means for a folder what was found in it: a pure function of the plan and of what reading
// the files has brought.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "haricot/binlog/read/file_scan.hpp"
#include "haricot/binlog/read/folder_plan.hpp"
#include "haricot/binlog/read/problem.hpp"
#include "haricot/queue/job.hpp"

namespace haricot::binlog {

// What was found in one file that was read.
struct FileReport : PlannedFile {
  std::uint64_t bytes = 0;            // Its length.
  std::uint64_t accepted_bytes = 0;   // What of it was read.
  std::uint64_t records = 0;          // Those that were there at one time, as far as is known.
  std::uint32_t records_counted = 0;  // The same without those that only the next file knows of.
  std::uint64_t records_read = 0;
  std::uint64_t unproven = 0;  // Of these: what nothing can check, and stands after damage.
  std::uint32_t digest = 0;
  bool has_known_end = false;  // By the next file, or by its own seal.
  bool is_sealed = false;
  bool is_last_of_a_run = false;  // A server was stopped after it, and has synced what it syncs.
  bool is_cut = false;            // The note of the folder knows more of it than is there.
  bool was_stopped = false;       // The folder's note tells that a server was stopped after it.
  bool tells_end_before = false;  // How the file before it ended.
  MarksRead marks = {};
  bool is_as_told = false;    // As the next file, which tells of it, has it.
  bool is_head_torn = false;  // By a crash: nothing tells how the file before ended.
  // What a loss of power took away: from the first byte of that to the last.
  Damage torn = {};
  std::vector<Damage> damages = {};
  // Jobs whose body is damaged and known from nowhere else.
  struct LostJob {
    JobId id;
    std::uint64_t offset;
  };
  std::vector<LostJob> lost_jobs = {};
  std::uint64_t live_jobs = 0;  // That live in it when all is read.

  // Whether it has bytes that are neither a record nor zero.
  bool has_rubbish() const { return !damages.empty() || torn.bytes > 0; }
  // Whether it is ours, and ended because the next file was begun.
  bool was_followed() const {
    return kind() == FileKind::checked && is_sealed && !is_last_of_a_run;
  }
  // Whether no record is in it that says whose it is.
  bool tells_nothing() const { return kind() != FileKind::checked && records == 0; }
};

// What reading the files of a plan has brought, besides their jobs.
struct FolderRead {
  std::vector<FileReport> files;    // Those of the plan, in its order.
  JobId next_id = 1;                // After all ids that stand in the files.
  std::int64_t last_stamp = 0;      // The highest of a buried job.
  std::uint64_t oldest_needed = 0;  // As the newest file that tells has it. 0: none does.
  std::uint64_t lost_before = 0;    // Records, as signatures tell.
  // Files below that number were passed over if they count only if needed. 0: none was.
  std::uint64_t passed_over_below = 0;
};

struct ReplayReport : FolderRead {
  std::vector<Problem> problems = {};    // All that was found wrong.
  std::vector<std::string> spares = {};  // Files that were being made when the server stopped.
  std::uint64_t highest_number = 0;      // Of all names, those of files left aside or missing, too.
  std::uint64_t records_lost = 0;        // As far as can be counted.
  std::uint64_t store_id = 0;            // 0: no file of ours is there.
  std::uint32_t run = 0;  // In which the newest file with records was begun. 0: no file tells.

  // Nothing is lost or in doubt. The torn end that a crash leaves does not count.
  bool is_sound() const;
  // The sentences of those problems that are damage.
  std::vector<std::string> warnings() const;
};

// So many bytes of that file were durable when the server that wrote it ended, or are known not to
// have changed since: a hole from there on is torn if it looks so. kDurableBytesEnd: all of it.
// `files` are those of the folder, in order. Each start has to come to the same end. So only what
// the run itself has written counts, and of what came after it, whether the file is as the next run
// found it.
std::uint64_t durable_bytes_of(const std::vector<FileReport>& files, std::size_t index);
// Of what is lost in the files, what a loss of power took: later records, and files, tell how far a
// file was durable.
void settle_holes(std::vector<FileReport>& files);
// Requires: settle_holes() has seen the files.
ReplayReport judge_folder(const FolderPlan& plan, FolderRead read);

}  // namespace haricot::binlog
