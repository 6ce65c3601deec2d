// Jobs and keys that were restored into the engine at a start: promises of room to them, and
// records of those that are in no file, because the server before kept them in memory.
//
// All functions that record wait for the disk.

#pragma once

#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/write/changes.hpp"
#include "haricot/binlog/write/compaction.hpp"
#include "haricot/binlog/write/record_stream.hpp"
#include "haricot/queue/job_store.hpp"

namespace haricot::binlog {

class RestoredJobs {
 public:
  // All outlive this.
  RestoredJobs(BinlogState& state, RecordStream& stream, Compaction& compaction, Changes& changes)
      : state_(state), stream_(stream), compaction_(compaction), changes_(changes) {}
  RestoredJobs(const RestoredJobs&) = delete;
  RestoredJobs& operator=(const RestoredJobs&) = delete;

  // Makes the promises to the jobs that were read from files.
  void promise_room();
  // Records the jobs and keys that are in no file, and syncs them, so that the server that kept
  // them can drop them. Returns false if that failed: then the folder has a part of the jobs, each
  // of them whole. May throw std::bad_alloc.
  [[nodiscard]] bool record_all();
  // Record a job, or a key that outlived its job, that is in no file. Return false if that failed.
  [[nodiscard]] bool record(JobRef ref);
  [[nodiscard]] bool record_tombstone(JobRef tombstone_ref);
  // Records the highest id given out, if no job has it, so that a reader continues the ids after
  // it. Returns false if that failed.
  [[nodiscard]] bool remember_last_id();

 private:
  bool is_in_file(JobRef ref) const { return state_.segments->of(ref) != nullptr; }
  bool record_jobs();
  bool record_tombstones();

  BinlogState& state_;
  RecordStream& stream_;
  Compaction& compaction_;
  Changes& changes_;
};

}  // namespace haricot::binlog
