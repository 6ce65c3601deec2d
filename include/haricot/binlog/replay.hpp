// Reads a folder of binlog files and brings the jobs back.
//
// It only reads: what it finds it puts into an engine and a list of segments, what is wrong into a
// report. So the server and the tool that checks a folder see the same.
//
// A full record of a job that is known already replaces it, a change of one that is not known is
// passed over, and a deletion ends it, so reading the same records twice changes nothing.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/file_scan.hpp"
#include "haricot/binlog/segment_writer.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/queue/engine.hpp"

namespace haricot::binlog {

// What was found in one file.
struct FileReport {
  std::uint64_t number = 0;
  FileKind kind = FileKind::empty;
  std::uint64_t bytes = 0;           // Its length.
  std::uint64_t accepted_bytes = 0;  // What of it was read.
  std::uint64_t records = 0;         // Those that were there at one time, as far as is known.
  std::uint64_t records_read = 0;
  std::uint32_t digest = 0;
  bool is_sealed = false;
  bool is_last_of_a_run = false;  // A server was stopped behind it, and has synced everything.
  std::uint64_t torn_bytes = 0;   // Behind the end of the last file: what a crash leaves.
  std::vector<Damage> damages;
  // Jobs whose body is damaged and known from nowhere else.
  std::vector<JobId> lost_jobs;
};

struct ReplayReport {
  std::vector<FileReport> files;       // In order of their numbers.
  std::vector<std::string> spares;     // Files that were being made when the server stopped.
  std::vector<std::string> warnings;   // What was lost, one sentence each.
  std::vector<std::uint64_t> missing;  // Numbers that the sequence does not have.
  std::uint64_t records_lost = 0;      // As far as can be counted.
  std::uint64_t store_id = 0;          // 0: no file of ours is there.
  JobId next_id = 1;
  std::int64_t last_stamp = 0;  // The highest of a buried job.
  bool is_sound() const { return warnings.empty(); }
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

// The N of binlog.N; nothing if that is not what it is called.
std::optional<std::uint64_t> segment_number(std::string_view name);

class Replay {
 public:
  // All of these outlive it. The engine's store has notes.
  Replay(Disk& disk, Engine& engine, Segments& segments)
      : disk_(disk), engine_(engine), segments_(segments) {}

  void set_watcher(ReplayWatcher watcher) { watcher_ = watcher; }

  // Reads everything and puts each job into its place. False: the folder must not be used, error()
  // says why, and nothing was changed on disk. Once only. May throw std::bad_alloc.
  [[nodiscard]] bool run(Duration wall_offset, Instant now);

  const std::string& error() const { return error_; }
  const ReplayReport& report() const { return report_; }

 private:
  struct File {
    std::uint64_t number = 0;
    FileBytes bytes;
    std::optional<Signature> signature;
  };

  bool fail(std::string error);
  bool list();
  void note_gap(std::uint64_t before, const File& next);
  bool load(std::size_t place, File& file);
  bool find_store_id(const File& file, std::size_t place);
  bool read_file(const File& file, const File* next);
  bool apply(const FileScan::Found& found, FileKind kind, FileReport& report);
  bool apply_full(const FileScan::Found& found, FileReport& report);
  JobRef take_in(const Record& record);
  void change(JobRef ref, const Record& record);
  void drop(JobRef ref);
  void set_time(JobRef ref, const Record& record, bool was_buried);
  void judge_end(const FileScan& scan, const File& file, const File* next, FileReport& report);
  void warn(const FileReport& report);
  bool tell_progress(std::uint64_t offset, std::uint64_t bytes);
  bool place_all(Instant now);

  Disk& disk_;
  Engine& engine_;
  Segments& segments_;
  ReplayWatcher watcher_;
  Duration wall_offset_;
  std::vector<std::uint64_t> numbers_;
  std::size_t files_read_ = 0;
  std::uint64_t lost_before_ = 0;    // Records, as signatures tell.
  FileKind kind_ = FileKind::empty;  // Of the file that is being read.
  ReplayReport report_;
  std::string error_;
};

}  // namespace haricot::binlog
