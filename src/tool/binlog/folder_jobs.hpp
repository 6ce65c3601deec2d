// The jobs of a binlog folder, brought back in memory. The folder is only read.

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

  // Reads the folder. False: it is not one that a server would start with, and `error` says why.
  // With `guesses`, what no server would guess is guessed, and told there.
  [[nodiscard]] bool read(const std::string& path, std::string& error,
                          std::vector<Guess>* guesses = nullptr);

  const binlog::ReplayReport& report() const { return replay_.report(); }
  const binlog::Segments& segments() const { return segments_; }
  const Engine& engine() const { return engine_; }
  // Files of what servers could not read, or left aside.
  const std::vector<std::string>& names_aside() const { return aside_; }
  // The process that has the folder in use, or 0.
  int user() const { return user_; }

  // Of all jobs, by id, or with the buried ones last and in their order.
  std::vector<JobRef> by_id() const;
  std::vector<JobRef> with_buried_last();
  // Those that live in a file, in no order.
  std::vector<JobRef> all_in(const binlog::Segment& segment) const;
  // How many jobs live in a file.
  std::uint64_t jobs_in(const binlog::Segment& segment) const;

  Instant now() const { return now_; }
  Duration wall_offset() const { return wall_offset_; }

 private:
  void add_all_in(const binlog::Segment& segment, std::vector<JobRef>& refs) const;
  bool replay(std::string& error, std::vector<Guess>* guesses);

  os::FolderDisk disk_;
  binlog::Binlog journal_;  // Never opened: it only says that jobs have notes.
  Instant now_;
  Duration wall_offset_;
  Engine engine_;
  binlog::Segments segments_;
  binlog::Replay replay_;
  std::vector<std::string> aside_;
  int user_ = 0;
};

// ready, delayed or buried.
std::string_view state_name(JobState state);

}  // namespace haricot::tool
