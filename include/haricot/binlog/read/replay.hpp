// Reads a folder of binlog files and restores the jobs.
//
// A replay only reads. It restores jobs in an engine and a list of segments, and reports problems.
// The server and `haricot binlog` share it, so they see the same. Replay::run has these steps:
//
//   gather_facts()   gathers what each file states about itself     (folder_plan.hpp)
//   plan_folder()    chooses the files to read, and their order     (folder_plan.hpp)
//   read()           reads each of them once, and judges the result by judge_folder()
//                                                                   (folder_judgement.hpp)
//   end()            hands the next id to the engine
//
// It fails after the second or third step if a file is unfit. `haricot binlog repair` makes a plan
// of its own and calls read() and end().
//
// A full record replaces a known job, a change of an unknown job is skipped, and a deletion ends
// the job. So reading the same records twice changes nothing.
//
// A key that outlives its job (a tombstone) counts only if the deletion directly follows it, or if
// its records state that they stand alone. Otherwise a crash may have taken the deletion.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/time.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/job_record.hpp"
#include "haricot/binlog/read/file_scan.hpp"
#include "haricot/binlog/read/folder_judgement.hpp"
#include "haricot/binlog/read/folder_plan.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot::binlog {

struct ReplayProgress {
  std::uint64_t files = 0;
  std::uint64_t files_read = 0;
  double share_of_file = 0;  // Part of the current file that was read.
  std::uint64_t jobs = 0;
};
// Called before each file and every few thousand records. Returns false to stop the replay.
struct ReplayWatcher {
  bool (*function)(void* context, const ReplayProgress& progress) = nullptr;
  void* context = nullptr;
};

class Replay {
 public:
  // All of these outlive the replay. Requires: the engine's store has journal fields.
  Replay(Disk& disk, Engine& engine, Segments& segments)
      : disk_(disk), engine_(engine), segments_(segments) {}

  void set_watcher(ReplayWatcher watcher) { watcher_ = watcher; }
  // Sets the note of the folder. Its id identifies a file whose signature is damaged.
  void set_note(const FolderNote& note, std::uint32_t epoch = 0) {
    note_ = note;
    epoch_ = epoch;
  }

  // Accepts missing files, and reports jobs in doubt instead: without syncs a loss of power may
  // take any file.
  void accept_gaps() { accepts_gaps_ = true; }

  // Reads the folder and puts each job into its place. Returns false if the folder must not be used
  // as it is; error() has the reason, and nothing was changed on disk. Call once. May throw
  // std::bad_alloc.
  [[nodiscard]] bool run(Duration wall_offset, Instant now);

  // read() reads the files of any plan, unfit or not. end() sets the next id and ends the
  // restoring. Both return false like run().
  [[nodiscard]] bool read(FolderPlan plan, Duration wall_offset, Instant now);
  [[nodiscard]] bool end(JobId next_id);

  const std::string& error() const { return error_; }
  const ReplayReport& report() const { return report_; }

 private:
  static constexpr std::string_view kNoMemory = "there is not enough memory for all jobs";

  bool fail(std::string error);
  bool fail_if_unfit();
  bool read_all();
  FileReport report_on(std::size_t index, std::uint64_t bytes) const;
  bool read_file(std::size_t index, const FileBytes& file);
  bool apply_all(FileScan& scan, std::uint64_t end, FileReport& report);
  void pass_over_unneeded();
  bool apply(const FileScan::Found& found, const FileScan& scan, FileReport& report);
  bool apply_pseudo(const Record& record, const FileScan& scan);
  bool apply_full(const FileScan::Found& found, FileReport& report);
  bool apply_change(const FileScan::Found& found, FileReport& report);
  bool is_of_that_job(const Record& record, JobRef known) const;
  void remember_oldest_needed(std::uint64_t number, bool is_certain);
  bool take_tombstone(JobId id);
  bool take_note(JobId id, std::string_view text);
  void drop_tombstone(JobId id);
  JobRef take_in(const Record& record, std::string_view tags, const TagFacts& facts);
  void change(JobRef ref, const Record& record);
  void drop(JobRef ref);
  void set_time(JobRef ref, const Record& record, bool was_buried);
  void judge_known_end(const FileScan& scan, std::string_view all, const Signature& witness,
                       FileReport& report);
  void judge_end(const FileScan& scan, std::string_view all, FileReport& report);
  bool report_progress(std::uint64_t offset, std::uint64_t bytes);
  bool is_half(const Record& record);
  bool is_remembered_half(JobId id) const;
  void remember_half(const Record& record);
  void settle_half_written();
  bool place_all(Instant now);
  bool place_tombstones();

  Disk& disk_;
  Engine& engine_;
  Segments& segments_;
  ReplayWatcher watcher_;
  FolderNote note_;
  std::uint32_t epoch_ = 0;
  bool accepts_gaps_ = false;
  Duration wall_offset_;
  Instant now_;
  FolderPlan plan_;
  FolderRead read_;
  std::uint32_t epoch_read_ = 0;  // Highest epoch of the files read so far.
  // Number below which files are certainly not needed, as the files since the first one of
  // `epoch_read_` state; 0: unknown.
  std::uint64_t unneeded_below_ = 0;
  std::uint64_t newest_damaged_ = 0;  // Number of the newest damaged or torn file; 0: none yet.
  FileKind kind_ = FileKind::empty;   // Kind of the current file.
  TextParts text_;                    // Text read so far that belongs to the next record.
  struct ReadFacts {
    JobId id;
    TagFacts facts;
  };
  std::optional<ReadFacts> facts_;  // Facts that belong to the next record.
  // Offset of a hole that may have taken a part of that text.
  std::optional<std::uint64_t> hole_in_front_;
  // A record that follows a hole and lacks text (tags or a tombstone) that may have been in the
  // hole. If a loss of power left the hole, the record counts as not written, too.
  struct HalfWritten {
    std::size_t file;  // Index of its file.
    std::uint64_t hole;
    JobId id;
    bool is_deletion;
  };
  std::vector<HalfWritten> half_written_;
  ReplayReport report_;
  std::string error_;
};

}  // namespace haricot::binlog
