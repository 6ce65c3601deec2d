// The jobs of a binlog folder, restored in memory, and written to a new folder. The folder is only
// read.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/time.hpp"
#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "haricot/binlog/segments.hpp"
#include "haricot/queue/engine.hpp"
#include "os/disk.hpp"
#include "tool/binlog/repair/guesses.hpp"

namespace haricot::tool {

class FolderJobs {
 public:
  FolderJobs();
  FolderJobs(const FolderJobs&) = delete;
  FolderJobs& operator=(const FolderJobs&) = delete;

  // read() reads the folder like a server. rescue() also reads a folder that a server refuses, and
  // adds the guesses that it makes. Call one of them, once. Return false and set `error` on
  // failure.
  [[nodiscard]] bool read(const std::string& path, std::string& error);
  [[nodiscard]] bool rescue(const std::string& path, std::vector<Guess>& guesses,
                            std::string& error);

  const binlog::ReplayReport& report() const { return report_; }
  const binlog::Segments& segments() const { return segments_; }
  const Engine& engine() const { return engine_; }
  // Returns files that servers could not read, or left aside.
  const std::vector<std::string>& names_aside() const { return aside_; }
  // Returns the process that uses the folder, or 0.
  int user() const { return user_; }

  // Return all jobs by id; with_buried_last() puts buried jobs last, in the order of their burial.
  std::vector<JobRef> by_id() const;
  std::vector<JobRef> with_buried_last();
  // Returns the jobs that live in a file, in any order.
  std::vector<JobRef> all_in(const binlog::Segment& segment) const;
  // Returns the number of jobs that live in a file.
  std::uint64_t jobs_in(const binlog::Segment& segment) const;

  Instant now() const { return now_; }
  Duration wall_offset() const { return wall_offset_; }

 private:
  void add_all_in(const binlog::Segment& segment, std::vector<JobRef>& refs) const;
  bool open(const std::string& path, std::string& error);
  bool replay(const std::string& path, std::vector<Guess>* guesses, std::string& error);
  bool read_or_rescue(const std::string& path, std::vector<Guess>* guesses, std::string& error);

  os::FolderDisk disk_;
  binlog::Binlog journal_;  // Never opened. The engine needs it for the journal's fields of jobs.
  Instant now_;
  Duration wall_offset_;
  Engine engine_;
  binlog::Segments segments_;
  binlog::ReplayReport report_;
  std::vector<std::string> aside_;
  int user_ = 0;
};

// Prints a line to stderr. Escapes it for a terminal, because names of files may contain anything.
void complain(const std::string& line);

// Returns ready, delayed or buried.
std::string_view state_name(JobState state);

// Restore a job or a tombstone in the other engine and record it in the binlog. Return false on
// failure.
[[nodiscard]] bool copy_job(const Engine& from, JobRef ref, Engine& to, binlog::Binlog& binlog);
[[nodiscard]] bool copy_tombstone(const Engine& from, JobRef tombstone_ref, Engine& to,
                                  binlog::Binlog& binlog);
// Writes all jobs and tombstones to a folder that is new or empty. Returns false and sets `error`
// on failure. May throw std::bad_alloc.
[[nodiscard]] bool write_to_new_folder(FolderJobs& folder_jobs, const std::string& to,
                                       bool is_quiet, std::string& error);

}  // namespace haricot::tool
