// Reads a folder of binlog files and brings the jobs back.
//
// A replay only reads. It puts the jobs that it finds into an engine and a list of segments, and
// what is wrong into a report. So the server and the tool that checks a folder see the same.
//
//   gather_facts()    what each file says of itself      (folder_facts.hpp)
//   plan_folder()     which are read, in which order     (folder_plan.hpp)
//   Replay            reads each of these once
//   judge_folder()    what is wrong, and which id is next  (folder_judgement.hpp)
//
// A full record replaces a job that is known already. A change of a job that is not known is passed
// over. A deletion ends a job. So reading the same records twice changes nothing.
//
// A key that outlives its job counts only together with the deletion that it stands in front of, or
// where it says that it stands alone: a crash may have cut the deletion off.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/time.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/text_record.hpp"
#include "haricot/binlog/read/file_scan.hpp"
#include "haricot/binlog/read/folder_facts.hpp"
#include "haricot/binlog/read/folder_judgement.hpp"
#include "haricot/binlog/read/folder_plan.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot::binlog {

struct ReplayProgress {
  std::uint64_t files = 0;
  std::uint64_t files_read = 0;
  double share_of_file = 0;  // Of the file that is being read.
  std::uint64_t jobs = 0;
};
// Told before each file and every few thousand records. Returns whether to go on.
struct ReplayWatcher {
  bool (*function)(void* context, const ReplayProgress& progress) = nullptr;
  void* context = nullptr;
};

class Replay {
 public:
  // All of these outlive it. The engine's store has notes.
  Replay(Disk& disk, Engine& engine, Segments& segments)
      : disk_(disk), engine_(engine), segments_(segments) {}

  void set_watcher(ReplayWatcher watcher) { watcher_ = watcher; }
  // What was noted of the folder outside of its files. By its id a file is known whose signature is
  // damaged and that has no other beside it.
  void set_note(const FolderNote& note, std::uint32_t epoch = 0) {
    note_ = note;
    epoch_ = epoch;
  }

  // Reads everything and puts each job into its place. False: the folder must not be used, error()
  // says why, and nothing was changed on disk. Once only. May throw std::bad_alloc. Each file of a
  // sound folder is read once, the last one of a run twice.
  [[nodiscard]] bool run(Duration wall_offset, Instant now);
  // The same with facts that somebody has looked into first.
  [[nodiscard]] bool run(const FolderFacts& facts, Duration wall_offset, Instant now);

  const std::string& error() const { return error_; }
  const ReplayReport& report() const { return report_; }

 private:
  static constexpr std::string_view kNoMemory = "there is not enough memory for all jobs";

  bool fail(std::string error);
  bool read_all();
  bool leave_contradicted_aside();
  FileReport report_on(std::size_t index, std::uint64_t bytes) const;
  bool read_file(std::size_t index, const FileBytes& file);
  void pass_over_unneeded();
  bool collect_ids_aside();
  bool apply(const FileScan::Found& found, const FileScan& scan, FileReport& report);
  bool apply_pseudo(const Record& record, const FileScan& scan);
  bool apply_full(const FileScan::Found& found, FileReport& report);
  bool apply_change(const FileScan::Found& found, FileReport& report);
  bool is_of_that_job(const Record& record, JobRef known) const;
  void remember_oldest_needed(std::uint64_t number, bool is_for_sure);
  bool take_tombstone(JobId id);
  void drop_tombstone(JobId id);
  JobRef take_in(const Record& record, std::string_view tags);
  void change(JobRef ref, const Record& record);
  void drop(JobRef ref);
  void set_time(JobRef ref, const Record& record, bool was_buried);
  void judge_known_end(const FileScan& scan, std::string_view all, const Signature& witness,
                       FileReport& report);
  void judge_end(const FileScan& scan, std::string_view all, const Signature* witness,
                 FileReport& report);
  bool report_progress(std::uint64_t offset, std::uint64_t bytes);
  bool is_half(const Record& record);
  bool is_remembered_half(JobId id) const;
  void remember_half(const Record& record);
  void settle_half_written();
  bool place_all(Instant now);
  bool place_tombstone();

  Disk& disk_;
  Engine& engine_;
  Segments& segments_;
  ReplayWatcher watcher_;
  FolderNote note_;
  std::uint32_t epoch_ = 0;
  Duration wall_offset_;
  Instant now_;
  FolderPlan plan_;
  FolderRead read_;
  // Files are not needed below that number, as far as what took their place is whole; and the
  // newest file that lacks records.
  std::uint32_t epoch_read_ = 0;         // The last one that a file was of.
  std::uint64_t unneeded_for_sure_ = 0;  // By what was said since that epoch.
  std::uint64_t newest_hurt_ = 0;
  FileKind kind_ = FileKind::empty;  // Of the file that is being read.
  TextParts text_;                   // What stands in front of the next record.
  // Where a hole begins in which a part of that may have been.
  std::optional<std::uint64_t> hole_in_front_;
  // A record that has lost its text, or that was read without a part of it. If a loss of power took
  // the text, the record counts as not written, too.
  struct HalfWritten {
    std::size_t file;  // Its index.
    std::uint64_t hole;
    JobId id;
    bool is_deletion;
  };
  std::vector<HalfWritten> half_written_;
  ReplayReport report_;
  std::string error_;
};

}  // namespace haricot::binlog
