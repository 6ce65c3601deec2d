// A folder in memory, for tests: any call can fail, and a crash can happen at any time.
//
// It has two states of everything: the one that the program sees, and the one that would survive a
// loss of power. Bytes and sizes of a file are durable after a sync of the file, names after a sync
// of the folder. crash() makes a new disk as a crash may leave this one, a different one at each
// call. With a trace, this is also possible for every earlier moment.
//
//   SimDisk disk;
//   disk.start_trace();
//   ... run the program, with disk.note(id) wherever it acknowledges something ...
//   const auto past = disk.replay_until(0);
//   for (std::size_t cut = 0; cut <= disk.trace().size(); ++cut) {
//     disk.replay_more(*past, cut);
//     const auto crashed = past->crash(random);
//     ... open it, compare with the notes until there: past->notes() ...
//   }

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/folder_note.hpp"
#include "support/random.hpp"
#include "support/sim_file.hpp"
#include "support/sim_names.hpp"

namespace haricot::binlog {

enum class DiskCall : std::uint8_t {
  list,
  read,
  create,
  allocate,
  write,
  truncate,
  close,
  rename,
  remove,
  sync,
  sync_folder,
  start_sync,
  open_existing,
  return_to_folder,
};
inline constexpr std::size_t kDiskCalls = 14;

// A call to fail.
struct Fault {
  std::uint64_t nth = 1;              // Counts these calls from now on, from 1.
  std::optional<DiskCall> call = {};  // None: any call except close, which cannot fail.
  DiskStatus status = DiskStatus::failed;
  bool lasts = false;              // All later ones fail, too.
  bool takes_effect = false;       // It takes effect, but reports a failure.
  std::size_t pieces_written = 0;  // Pieces of a write that take effect all the same.
  std::size_t bytes_written = 0;   // Bytes of the next piece that take effect.
  // The file of a read disappears before it.
  bool takes_file_away = false;
};

// Events to a folder that a server has open.
enum class FolderState : std::uint8_t {
  there,
  moved,     // It has another path; servers that have it open can use it.
  removed,   // It is gone with all its files; open files can still be written.
  replaced,  // It is gone as above, and an empty one is in its place.
  foreign,   // As above, and another server uses the new one.
};

enum class SyncMode : std::uint8_t { at_once, when_told };

// Effect of a failed sync of a file on its unsynced data.
enum class FailedSync : std::uint8_t {
  drops,  // Like Linux: no later sync writes it, even if it reports success.
  keeps,  // The next good sync writes it.
};

struct CrashPolicy {
  Unsynced data = Unsynced::any;
  UnsyncedNames names = UnsyncedNames::any;
};

// An event of the folder. Calls without an effect are not included; a call that failed half way is,
// with its effect.
struct TraceEntry {
  enum class Kind : std::uint8_t {
    create,
    write,
    resize,
    open,
    close,
    rename,
    remove,
    sync,  // Sync of a file; recorded at its end.
    folder_sync,
    folder_note,
    folder_note_sync,
    note,
  };
  enum class SyncEffect : std::uint8_t { none, durable, in_doubt };

  Kind kind = Kind::note;
  std::string name;
  std::string to;                      // New name of a rename.
  std::uint32_t file = 0;              // Number of the file; names may change.
  std::uint64_t offset = 0;            // Offset of a write.
  std::string bytes;                   // Data of a write.
  std::uint64_t value = 0;             // New size; changes covered by a sync; a note.
  DiskStatus status = DiskStatus::ok;  // Status of a sync.
  SyncEffect effect = SyncEffect::none;
  FolderNote folder_note = {};
};

class SimDisk final : public Disk {
 public:
  using Random = test::Random;

  SimDisk() = default;

  [[nodiscard]] DiskStatus list(std::vector<std::string>& names) override;
  [[nodiscard]] DiskStatus read(const std::string& name, binlog::FileBytes& bytes) override;
  void read_ahead(const std::string& name) override { read_ahead_.push_back(name); }
  // Fails like a read, but calls() counts only whole files.
  [[nodiscard]] DiskStatus read_ends(const std::string& name, FileEnds& ends) override;
  [[nodiscard]] DiskStatus create(const std::string& name, FileHandle& file) override;
  [[nodiscard]] DiskStatus open_existing(const std::string& name, FileHandle& file) override;
  [[nodiscard]] DiskStatus allocate(FileHandle file, std::uint64_t bytes) override;
  [[nodiscard]] DiskStatus write(FileHandle file, std::uint64_t offset,
                                 std::span<const std::string_view> pieces) override;
  [[nodiscard]] DiskStatus truncate(FileHandle file, std::uint64_t bytes) override;
  void close(FileHandle file) override;
  [[nodiscard]] DiskStatus rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] DiskStatus remove(const std::string& name) override;
  [[nodiscard]] DiskStatus sync(FileHandle file) override;
  [[nodiscard]] DiskStatus sync_file(const std::string& name) override;
  [[nodiscard]] DiskStatus sync_folder() override;
  void start_sync(FileHandle file, std::uint64_t ticket) override;
  void start_remove(const std::string& name, bool sync, std::uint64_t ticket) override;
  void write_note(const FolderNote& note) override;
  void sync_note() override;
  [[nodiscard]] bool next_sync_done(SyncDone& done) override;
  void wait_for_sync() override;
  [[nodiscard]] Presence look_for(FileHandle file, const std::string& name) override;
  [[nodiscard]] DiskStatus return_to_folder(bool& is_new) override;
  [[nodiscard]] bool space(DiskSpace& space) const override;
  [[nodiscard]] std::string last_error() const override { return last_error_; }

  // Crashes ---------------------------------------------------------------------------------

  // Returns the folder as a crash at this moment may leave it. All of it is durable then, no file
  // is open, and no fault is left; the capacity remains.
  std::unique_ptr<SimDisk> crash(Random& random, CrashPolicy policy = {}) const;

  // Records events from now on. Requires: no file is open, and everything is synced.
  void start_trace();
  const std::vector<TraceEntry>& trace() const { return trace_; }
  // Adds a note of the program to the trace, for instance an acknowledgement.
  void note(std::uint64_t value);
  // Notes so far, also of a replay.
  const std::vector<std::uint64_t>& notes() const { return notes_; }
  // Returns the folder after the first `entries` of the trace. Requires: start_trace() was called.
  std::unique_ptr<SimDisk> replay_until(std::size_t entries) const;
  // Advances a folder of replay_until().
  void replay_more(SimDisk& past, std::size_t entries) const;

  // Faults ----------------------------------------------------------------------------------

  void inject(const Fault& fault) { faults_.push_back({fault, 0}); }
  void clear_faults() { faults_.clear(); }
  // Number of calls that a fault has made fail; 0: none.
  std::uint64_t faults_hit() const { return faults_hit_; }

  void set_failed_sync(FailedSync failed) { failed_sync_ = failed; }
  // Limits the bytes of all files together; nothing: no limit. Files keep their bytes. An open file
  // takes its space until it is closed.
  void set_capacity(std::optional<std::uint64_t> bytes) { capacity_ = bytes; }
  // Makes a file take whole blocks of this size, as on a real file system, so that taken and
  // returned space is counted alike. Initially a block has one byte.
  void set_block_bytes(std::uint64_t bytes) { block_bytes_ = bytes; }
  // Makes space() report what the capacity leaves, or not: a quota limits a folder without such a
  // number.
  void set_tells_space(bool tells) { tells_space_ = tells; }
  std::uint64_t used_bytes() const;

  // Makes started syncs and removals end at once, which is the default, or wait for
  // complete_syncs().
  void set_sync_mode(SyncMode mode) { sync_mode_ = mode; }
  // Ends up to `count` of them. They fail if the status is not ok, unless a fault has hit them
  // before. Returns how many are left.
  std::size_t complete_syncs(std::size_t count = SIZE_MAX, DiskStatus status = DiskStatus::ok);
  std::size_t syncs_under_way() const { return syncs_.size(); }
  // Returns true if some have ended and were not collected, which would wake a server.
  bool has_ended_syncs() const { return !done_.empty(); }
  // Makes a blocking call end the program.
  void forbid_waiting(bool is_forbidden) { waiting_is_forbidden_ = is_forbidden; }

  // Removes or replaces the folder, as another process would. This is durable.
  void set_folder(FolderState state);
  FolderState folder() const { return folder_; }
  // Removes a file, or all files, as another process would. This is durable. Requires: they exist.
  void take_away(const std::string& name);
  void take_away_all();

  // Inspection and damage -------------------------------------------------------------------------

  std::uint64_t calls(DiskCall call) const { return calls_[static_cast<std::size_t>(call)]; }
  std::uint64_t calls() const;  // All, including close.
  // Names that were passed to read_ahead().
  const std::vector<std::string>& names_read_ahead() const { return read_ahead_; }
  std::uint64_t bytes_written() const { return bytes_written_; }
  std::size_t open_files() const;

  // The note of servers about the folder, outside of its files. It takes one sector: a crash leaves
  // one of those written since its last sync. set_folder_note() is durable at once, and not in the
  // trace.
  const FolderNote& folder_note() const { return folder_notes_.back(); }
  void set_folder_note(const FolderNote& note) { folder_notes_ = {note}; }

  bool has(const std::string& name) const { return names_.seen().contains(name); }
  // Return the bytes that a reader sees, and the durable bytes under a durable name. Require: the
  // file exists.
  std::string bytes_of(const std::string& name) const;
  std::string durable_bytes_of(const std::string& name) const;
  bool has_durable(const std::string& name) const { return names_.durable().contains(name); }

  // Adds or replaces a durable file, as the initial state of a test. Not in the trace.
  void put(const std::string& name, std::string bytes);
  // Damage a file on the disk. Require: it is synced, and the bytes exist.
  void flip(const std::string& name, std::uint64_t offset, std::uint8_t bits = 1);
  void zero(const std::string& name, std::uint64_t offset, std::uint64_t bytes);
  void overwrite(const std::string& name, std::uint64_t offset, std::string_view bytes);

 private:
  struct ArmedFault {
    Fault fault;
    std::uint64_t seen;
  };
  struct FileState {
    SimFile file;
    std::uint32_t opens = 0;
  };
  // A sync that was started and has not ended.
  struct StartedSync {
    std::uint64_t ticket;
    bool of_folder;
    std::uint32_t file;
    std::uint64_t changes;
    std::optional<Fault> fault;
    std::string to_remove = {};  // Not empty: a removal, followed by a sync if `has_to_sync`.
    bool has_to_sync = true;
    std::optional<Fault> removal_fault = {};
  };

  struct EndedSync {
    SyncDone done;
    bool of_folder;
    std::uint32_t file;
  };

  std::optional<Fault> begin(DiskCall call);
  DiskStatus fail(DiskStatus status, std::string_view why);
  DiskStatus fail_by(const Fault& fault) { return fail(fault.status, "injected fault"); }
  std::uint32_t file_of(FileHandle handle) const;
  std::uint32_t file_named(const std::string& name) const;
  // Returns the space that a file of this size takes.
  std::uint64_t taken_by(std::uint64_t bytes) const {
    return (bytes + block_bytes_ - 1) / block_bytes_ * block_bytes_;
  }
  // Returns the maximum size of a file within the capacity.
  std::uint64_t size_limit(std::uint32_t file) const;
  DiskStatus resize(std::uint32_t file, std::uint64_t bytes, const std::optional<Fault>& fault);
  DiskStatus remove_now(const std::string& name, const std::optional<Fault>& fault);
  const FolderNote& note_after_crash(Random& random, Unsynced unsynced) const;
  SyncDone end_removal(StartedSync removal, DiskStatus status);
  DiskStatus end_sync(const StartedSync& sync, DiskStatus status, bool takes_effect);

  // All changes of the folder, by the program or in a replay, are made here.
  void apply(TraceEntry entry);
  void apply_create(const TraceEntry& entry);
  void apply_sync(const TraceEntry& entry);
  void forget_unused_files();

  std::vector<FileState> files_;  // By number; removed ones stay, empty.
  SimNames names_;
  std::vector<std::uint32_t> handles_;  // By handle: the file, or kClosed.
  std::deque<StartedSync> syncs_;
  std::deque<EndedSync> done_;
  std::string last_error_;
  // The first is durable; the last is visible.
  std::vector<FolderNote> folder_notes_{FolderNote{}};

  bool is_in_folder() const {
    return folder_ == FolderState::there || folder_ == FolderState::moved;
  }
  DiskStatus fail_without_folder() { return fail(DiskStatus::failed, "no such folder"); }

  FolderState folder_ = FolderState::there;
  bool waiting_is_forbidden_ = false;
  SyncMode sync_mode_ = SyncMode::at_once;
  FailedSync failed_sync_ = FailedSync::drops;
  std::optional<std::uint64_t> capacity_;
  bool tells_space_ = true;
  std::uint64_t block_bytes_ = 1;
  std::vector<ArmedFault> faults_;
  std::uint64_t faults_hit_ = 0;
  std::array<std::uint64_t, kDiskCalls> calls_{};
  std::vector<std::string> read_ahead_;
  std::uint64_t bytes_written_ = 0;

  bool tracing_ = false;
  std::vector<FileState> trace_base_files_;
  SimNames trace_base_names_;
  std::vector<FolderNote> trace_base_notes_;
  std::vector<TraceEntry> trace_;
  std::vector<std::uint64_t> notes_;
  std::size_t replayed_ = 0;
};

}  // namespace haricot::binlog
