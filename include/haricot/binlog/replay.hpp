// Reads a folder of binlog files and brings the jobs back.
//
// A replay only reads. It puts the jobs that it finds into an engine and a list of segments, and
// what is wrong into a report. So the server and the tool that checks a folder see the same.
//
// A full record replaces a job that is known already. A change of a job that is not known is passed
// over. A deletion ends a job. So reading the same records twice changes nothing.
//
// A key that outlives its job counts only together with the deletion that it stands in front of, or
// where it says that it stands alone: a crash may have cut the deletion off.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/time.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/file_scan.hpp"
#include "haricot/binlog/folder_note.hpp"
#include "haricot/binlog/folder_survey.hpp"
#include "haricot/binlog/problem.hpp"
#include "haricot/binlog/segment_writer.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/binlog/text_record.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot::binlog {

// What was found in one file that was read.
struct FileReport {
  std::uint64_t number = 0;      // N of its name.
  std::uint64_t written_as = 0;  // N of the name that it should have.
  FileKind kind = FileKind::empty;
  std::uint64_t bytes = 0;            // Its length.
  std::uint64_t accepted_bytes = 0;   // What of it was read.
  std::uint64_t records = 0;          // Those that were there at one time, as far as is known.
  std::uint32_t records_counted = 0;  // The same without those that only the next file knows of.
  std::uint64_t records_read = 0;
  std::uint64_t unproven = 0;  // Of these: what nothing can check, and stands after damage.
  std::uint32_t digest = 0;
  bool has_signature = false;
  bool has_known_end = false;  // By the next file, or by its own seal.
  bool is_sealed = false;
  bool is_last_of_a_run = false;  // A server was stopped after it, and has synced everything.
  bool is_cut = false;            // The note of the folder knows more of it than is there.
  MarksRead marks;
  bool is_as_told = false;    // As the next file, which tells of it, has it.
  bool is_head_torn = false;  // By a crash: nothing tells how the file before ended.
  // What a loss of power took away: from the first byte of that to the last.
  Damage torn;
  std::vector<Damage> damages;
  // Jobs whose body is damaged and known from nowhere else.
  struct LostJob {
    JobId id;
    std::uint64_t offset;
  };
  std::vector<LostJob> lost_jobs;

  // Whether it has bytes that are neither a record nor zero.
  bool has_rubbish() const { return !damages.empty() || torn.bytes > 0; }
  // Whether it is ours, and ended because the next file was begun.
  bool was_followed() const { return kind == FileKind::checked && is_sealed && !is_last_of_a_run; }
};

struct ReplayReport {
  std::vector<FileReport> files;     // In the order in which they were read.
  std::vector<Problem> problems;     // All that was found wrong.
  std::vector<std::string> spares;   // Files that were being made when the server stopped.
  std::uint64_t highest_number = 0;  // Of all names, those of files left aside or missing, too.
  std::uint64_t records_lost = 0;    // As far as can be counted.
  std::uint64_t store_id = 0;        // 0: no file of ours is there.
  std::uint32_t run = 0;  // In which the newest file with records was begun. 0: no file tells.
  JobId next_id = 1;
  std::int64_t last_stamp = 0;  // The highest of a buried job.
  bool was_surveyed = false;  // Something was wrong with whole files: each was read several times.

  // Nothing is lost or in doubt. The torn end that a crash leaves does not count.
  bool is_sound() const;
  // The sentences of all problems, and of those that are damage.
  std::vector<std::string> sentences() const;
  std::vector<std::string> warnings() const;
};

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

// The N of binlog.N; nothing if that is not what it is called, or N is no number of a file.
std::optional<std::uint64_t> binlog_file_number(std::string_view name);

class Replay {
 public:
  // All of these outlive it. The engine's store has notes.
  Replay(Disk& disk, Engine& engine, Segments& segments)
      : disk_(disk), engine_(engine), segments_(segments) {}

  void set_watcher(ReplayWatcher watcher) { watcher_ = watcher; }
  // What was noted of the folder outside of its files. By its id a file is known whose signature is
  // damaged and that has no other beside it.
  void set_note(const FolderNote& note) { note_ = note; }

  // Reads everything and puts each job into its place. False: the folder must not be used, error()
  // says why, and nothing was changed on disk. Once only. May throw std::bad_alloc. A sound folder
  // is read once.
  [[nodiscard]] bool run(Duration wall_offset, Instant now);

  const std::string& error() const { return error_; }
  const ReplayReport& report() const { return report_; }

 private:
  enum class Outcome : std::uint8_t { done, failed, needs_survey };

  static constexpr std::string_view kNoMemory = "there is not enough memory for all jobs";

  bool fail(std::string error);
  bool list();
  Outcome read_all();
  bool survey();
  void forget_all();
  Outcome load(std::size_t index, FileBytes& bytes);
  Outcome load_next(std::size_t index, FileBytes& bytes);
  bool is_late(std::size_t index) const;
  bool is_unneeded(std::size_t index, std::uint64_t below) const;
  bool finds_unneeded() const;
  Outcome read_file(std::size_t index, const FileBytes& bytes);
  const Signature* witness_of(std::size_t index) const;
  bool apply(const FileScan::Found& found, bool is_whole_so_far, FileReport& report);
  bool apply_full(const FileScan::Found& found, FileReport& report);
  bool apply_change(const FileScan::Found& found, FileReport& report);
  bool is_of_that_job(const Record& record, JobRef known) const;
  bool is_likelier_than_known(JobId id) const;
  void note_order(JobId id);
  void note_oldest_needed(std::uint64_t number, bool is_for_sure);
  bool take_kept(JobId id);
  void drop_kept(JobId id);
  JobRef take_in(const Record& record, std::string_view tags);
  void change(JobRef ref, const Record& record);
  void drop(JobRef ref);
  void set_time(JobRef ref, const Record& record, bool was_buried);
  void judge_known_end(const FileScan& scan, std::string_view all, const Signature& witness,
                       Link link, FileReport& report);
  void judge_end(const FileScan& scan, std::string_view all, const Signature* witness, Link link,
                 FileReport& report);
  std::uint64_t noted_end_of(std::size_t index) const;
  bool report_progress(std::uint64_t offset, std::uint64_t bytes);

  bool is_half(const Record& record);
  void note_half(const Record& record);

  // replay_torn.cpp
  void settle_holes();
  std::vector<DurabilityFacts> durability_facts() const;
  bool may_have_lost_its_name(std::uint64_t number, std::size_t index) const;

  // replay_verdict.cpp
  void judge_folder();
  void judge_bytes(const FileReport& file, const FileReport* next);
  void judge_sequence();
  void judge_emptied();
  void judge_noted();
  void judge_noted_file(const FileReport& file);
  void judge_newest();
  void judge_run();
  bool is_end_of_last_run(const FileReport& newest) const;
  bool note_tells() const;
  bool had_no_safe_record(std::uint64_t number) const;
  bool note_tells_runs() const;
  bool note_tells_last_run() const;
  void report_missing(std::uint64_t number, std::size_t next);
  void report_doubt(const std::string& file, std::uint64_t number, std::uint64_t changes);
  void go_on_beyond_lost_ids();
  bool place_all(Instant now);
  bool place_kept();

  Disk& disk_;
  Engine& engine_;
  Segments& segments_;
  ReplayWatcher watcher_;
  FolderNote note_;
  Duration wall_offset_;
  Instant now_;
  std::vector<std::uint64_t> numbers_;  // Of the names.
  std::vector<PlannedFile> plan_;
  bool is_surveyed_ = false;
  // The highest N of a name whose file was left aside or belongs elsewhere. 0: none.
  std::uint64_t highest_odd_name_ = 0;
  bool newest_may_be_gone_ = false;
  std::vector<Problem> file_problems_;  // Of whole files, by the survey or by their names.
  std::size_t files_read_ = 0;
  std::uint64_t oldest_needed_ = 0;  // As the newest file that tells has it. 0: none does.
  std::uint64_t lost_before_ = 0;    // Records, as signatures tell.
  // Files of servers before the last one are not needed below that number. 0: not known yet.
  std::uint64_t unneeded_below_ = 0;
  // The same as far as what took their place is whole, and the newest file that lacks records.
  std::uint64_t unneeded_for_sure_ = 0;
  std::uint64_t newest_hurt_ = 0;
  JobId last_new_id_ = 0;            // Of the last record of a job that was not known.
  bool last_new_id_jumped_ = false;  // It left ids out.
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
