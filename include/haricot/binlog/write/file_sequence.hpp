// Begins and ends the files of the records, one after the other.
//
// The caller provides the file to begin, so this does not depend on where space comes from. It
// passes from one file to the next in three calls: end(), begin() with the ending of the file
// before, and seal(). The seal comes last, because a seal that names a next file proves that there
// was one.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/record.hpp"
#include "haricot/binlog/write/record_collector.hpp"
#include "haricot/binlog/write/record_syncs.hpp"
#include "haricot/binlog/write/segment_writer.hpp"
#include "haricot/binlog/write/stream_state.hpp"

namespace haricot::binlog {

// A file with its space and no record yet, under the name spare_name(number).
struct NewFile {
  FileHandle file = FileHandle::none;
  std::uint64_t number = 0;
  std::uint64_t allocated = 0;
  const RecordAroundBody* first = nullptr;  // Its first record, if the body is in the file.
  // Ending of the file before, which was ended for this one and is not sealed yet; null: none was.
  const SegmentWriter::Ending* after = nullptr;
};

class FileSequence {
 public:
  // All outlive this.
  FileSequence(StreamState& stream, Refusal& refusal, RecordSyncs& syncs, RecordCollector& records)
      : stream_(stream),
        state_(stream.binlog),
        refusal_(refusal),
        syncs_(syncs),
        records_(records) {}
  FileSequence(const FileSequence&) = delete;
  FileSequence& operator=(const FileSequence&) = delete;

  // Position from which the sequence continues after a folder was read.
  struct Start {
    std::uint64_t number = 1;  // Number of the next file.
    // A file of that number may exist, and is replaced.
    bool is_unsure = false;
    // Facts about the previous file for the next file's signature; nothing if its end is in doubt.
    std::optional<WrittenPoint> previous;
    std::uint64_t previous_number = 0;
    std::uint32_t records_lost = 0;
  };
  void start_from(const Start& start);

  // Returns the number of the next file. No file has had it or a higher one.
  std::uint64_t next_number() const { return next_number_; }
  // Returns the number that a file of ours may have without being known; 0: none.
  std::uint64_t unsure_number() const { return unsure_number_; }

  enum class Begun : std::uint8_t {
    yes,        // The stream owns the file.
    not_tried,  // There is no memory. The file is unchanged.
    failed,     // Its content is void, but it may exist under its name: see unsure_number().
    gone,       // Its content is void, and it has no name any more.
  };
  // Begins a file. Unless yes, the stream refuses. Requires: none is open.
  Begun begin(const NewFile& file);
  // Continues the newest file, in the run in which it was begun. Requires: none was begun yet.
  void resume(const ContinuedFile& file);
  // Ends the file: writes the collected records and releases it. Returns nothing if that fails or
  // no file is open. begin() and seal() have to follow.
  std::optional<SegmentWriter::Ending> end();
  // Writes the seal and requests the last sync of the file. Returns false if the stream has failed.
  // Writes no seal if no file was begun after it.
  bool seal(const SegmentWriter::Ending& ending, bool is_begun);
  // Ends the last file of a server, and requests its sync. Returns its end. May fail: see
  // Refusal::is_on(). Requires: a file is open, nothing is collected.
  WrittenPoint end_cleanly();

  // In a shared folder, a file that could not be begun may exist all the same, perhaps with a
  // record. Adds it as a file without jobs, which compaction removes: otherwise it would outlast
  // the deletion of its job. Returns false if its existence cannot be checked now. Requires: none
  // is open.
  [[nodiscard]] bool take_up_unsure_file();
  // Retries to truncate files after failed writes, if no sync is under way. O(files) if there is
  // something to truncate.
  void cut_back();

 private:
  Signature signature_of_next(const SegmentWriter::Ending* after) const;
  DiskStatus write_head(const NewFile& file, const std::string& from, const std::string& to);
  Begun give_up(const NewFile& file, const std::string& name, DiskStatus status);
  [[nodiscard]] bool truncate(const Segment& segment, std::uint64_t bytes);

  StreamState& stream_;
  BinlogState& state_;
  Refusal& refusal_;
  RecordSyncs& syncs_;
  RecordCollector& records_;
  Start start_;
  std::uint64_t next_number_ = 1;
  std::uint64_t unsure_number_ = 0;
  std::uint64_t unsure_bytes_ = 0;  // Upper bound of that file's bytes.
  bool has_begun_ = false;          // A file was begun or continued.
};

}  // namespace haricot::binlog
