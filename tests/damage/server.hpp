// A minimal server without sessions on a simulated folder. The suite starts hundreds of thousands
// of them.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/binlog.hpp"
#include "haricot/binlog/read/problem.hpp"
#include "haricot/queue/engine.hpp"
#include "known_folder.hpp"

namespace haricot::damage {

inline constexpr std::uint64_t kStoreId = 0x6b8f3c51;
// Small files, so that files are begun and removed often.
inline constexpr binlog::BinlogOptions kSmallFiles{.file_bytes = 4096,
                                                   .sync = binlog::SyncPolicy::every_turn};

// The result of reading a folder.
struct Reading {
  bool is_good = false;
  std::string error;
  Jobs jobs;
  JobId next_id = 0;
  std::vector<binlog::Problem> problems;
  bool is_sound = false;

  bool tells(binlog::Problem::Kind kind) const;
  // Returns true if the sentence of a problem has that part.
  bool says(std::string_view part) const;
  // Returns true if the order of the files is broken, so a server does not start.
  bool is_refused() const { return tells(binlog::Problem::Kind::unfit); }
  std::string text() const;  // The problems, for failures.
};

// Returns all jobs of an engine without holders.
Jobs jobs_of(const Engine& engine, Duration wall_offset);

// Checks a folder like the operator's tool, which only reads.
Reading check(SimDisk& disk, std::int64_t wall);
// Reads a folder like `haricot binlog repair`, without guesses. If `repaired` is set, writes the
// jobs to that empty folder.
Reading rescue(SimDisk& disk, std::int64_t wall, SimDisk* repaired = nullptr);

class Server {
 public:
  Server(SimDisk& disk, std::int64_t wall, const binlog::BinlogOptions& options = kSmallFiles,
         std::uint64_t store_id = kStoreId);
  ~Server() { engine_.close(client_, now_); }

  const Reading& reading() const { return reading_; }
  // Returns the current jobs.
  Jobs jobs() const { return jobs_of(engine_, wall_offset_); }
  JobId next_id() const { return engine_.next_id(); }
  std::uint64_t current_file() const { return binlog_.numbers().current_index; }
  // Returns the number of files from the oldest to the current one.
  std::uint64_t files() const { return current_file() - binlog_.numbers().oldest_index + 1; }

  // Commands. Requires: they succeed. They do not end the turn.
  JobId put(std::size_t body_bytes, std::uint32_t priority = 100, std::uint32_t delay_s = 0,
            std::string_view tags = {});
  void use(const std::string& tube);
  void delete_job(JobId id);
  void release(JobId id, std::uint32_t priority, std::uint32_t delay_s = 0);
  void bury(JobId id, std::uint32_t priority);
  void kick(JobId id);

  void end_turn();
  // Runs turns until the binlog needs no more, so that compaction ends.
  void idle();
  void close();

 private:
  SimDisk& disk_;
  Instant now_;
  Duration wall_offset_;
  binlog::Binlog binlog_;
  Engine engine_;
  Client client_{nullptr};
  Reading reading_;
};

}  // namespace haricot::damage
