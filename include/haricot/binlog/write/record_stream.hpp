// The stream of records: collected in memory during a turn, written with one call at its end,
// synced by the policy, and then safe. It is a table of its parts; each knows only those above it:
//
//   StreamState      the open file, the line of syncs, the note, and the progress of the records
//   Refusal          after a failure, refuses changes until all records in doubt are safe again
//   RecordSyncs      requests syncs and takes their ends
//   RecordCollector  collects records and writes them
//   JobRecorder      makes the records of jobs
//   FileSequence     begins and ends the files of the records

#pragma once

#include "haricot/binlog/binlog_state.hpp"
#include "haricot/binlog/folder_note.hpp"
#include "haricot/binlog/write/file_sequence.hpp"
#include "haricot/binlog/write/record_collector.hpp"
#include "haricot/binlog/write/record_syncs.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "haricot/binlog/write/stream_state.hpp"
#include "haricot/binlog/write/sync_line.hpp"

namespace haricot::binlog {

class RecordStream {
 public:
  // The state outlives this.
  RecordStream(BinlogState& state, const StreamEvents& events) : state_(state, events) {}
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  // Returns true if a file is open: records can be written.
  bool is_open() const { return state_.writer.is_open(); }
  // Returns true if all changes are refused after a failure.
  bool is_refusing() const { return refusal_.is_on(); }

  const StreamState& state() const { return state_; }
  const SegmentWriter& writer() const { return state_.writer; }
  const RecordProgress& progress() const { return state_.progress; }
  RecordProgress& progress() { return state_.progress; }
  SyncLine& sync_line() { return state_.sync_line; }
  const SyncLine& sync_line() const { return state_.sync_line; }
  NoteWriter& note() { return state_.note; }
  const NoteWriter& note() const { return state_.note; }

  Refusal& refusal() { return refusal_; }
  const Refusal& refusal() const { return refusal_; }
  RecordSyncs& syncs() { return syncs_; }
  const RecordSyncs& syncs() const { return syncs_; }
  RecordCollector& records() { return records_; }
  const RecordCollector& records() const { return records_; }
  JobRecorder& jobs() { return jobs_; }
  FileSequence& files() { return files_; }
  const FileSequence& files() const { return files_; }

 private:
  StreamState state_;
  Refusal refusal_{state_};
  RecordSyncs syncs_{state_, refusal_};
  RecordCollector records_{state_, refusal_, syncs_};
  JobRecorder jobs_{state_, records_};
  FileSequence files_{state_, refusal_, syncs_, records_};
};

}  // namespace haricot::binlog
