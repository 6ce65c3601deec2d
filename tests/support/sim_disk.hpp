// A folder in memory, for tests: any call can fail, and a crash can come at any time.
//
// It knows two states of everything, what the program sees and what would survive a loss of power.
// Bytes and sizes of files are durable once the file was synced, names once the folder was. crash()
// makes a new disk as a crash may leave this one, as often as a test likes, always another one.
// With a trace, that goes for every moment of the past as well.
//
//   SimDisk disk;
//   disk.start_trace();
//   ... run the program, with disk.note(id) wherever it acknowledges something ...
//   const auto past = disk.replay_until(0);
//   for (std::size_t cut = 0; cut <= disk.trace().size(); ++cut) {
//     disk.replay_more(*past, cut);
//     const auto crashed = past->crash(random);
//     ... open it, compare with what was noted until there: past->notes() ...
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
#include "haricot/binlog/format/folder_note.hpp"
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

// A call that fails.
struct Fault {
  std::uint64_t nth = 1;              // The first, second, ... of these calls from now on.
  std::optional<DiskCall> call = {};  // Nothing: a call of any kind, but close, which cannot fail.
  DiskStatus status = DiskStatus::failed;
  bool lasts = false;              // All calls after it fail, too.
  bool takes_effect = false;       // It is done, and then said to have failed.
  std::size_t pieces_written = 0;  // What of a write is done all the same: so many pieces
  std::size_t bytes_written = 0;   // and so many bytes of the next.
  // Of a read: somebody has taken the file away before it.
  bool takes_file_away = false;
};

// What became of the folder while a server has it open.
enum class FolderState : std::uint8_t {
  there,
  moved,     // It has another path; whoever has it open can use it.
  removed,   // It is gone with all its files; open files can still be written.
  replaced,  // The same, and an empty one is there in its place.
  foreign,   // The same, and another server uses the one in its place.
};

enum class SyncMode : std::uint8_t { at_once, when_told };

// What a failed sync of a file does to what it was to sync.
enum class FailedSync : std::uint8_t {
  drops,  // As Linux does: no later sync writes it, though that may say ok.
  keeps,  // The next good sync writes it.
};

struct CrashPolicy {
  Unsynced data = Unsynced::any;
  UnsyncedNames names = UnsyncedNames::any;
};

// One thing that happened to the folder. Calls that changed nothing are not here, those that failed
// half way with what they did.
struct TraceEntry {
  enum class Kind : std::uint8_t {
    create,
    write,
    resize,
    open,
    close,
    rename,
    remove,
    sync,  // Of a file; it is here when it ends.
    folder_sync,
    folder_note,
    folder_note_sync,
    note,
  };
  enum class SyncEffect : std::uint8_t { none, durable, in_doubt };

  Kind kind = Kind::note;
  std::string name;
  std::string to;                      // Of a rename.
  std::uint32_t file = 0;              // Which file; names come and go.
  std::uint64_t offset = 0;            // Of a write.
  std::string bytes;                   // Of a write.
  std::uint64_t value = 0;             // New size; changes that a sync covers; what was noted.
  DiskStatus status = DiskStatus::ok;  // Of a sync.
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
  // Fails as a read does, but calls() counts whole files only.
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

  // The folder as a crash at this moment may leave it. All of it is durable then, no file is open,
  // and no fault is left; the capacity stays.
  std::unique_ptr<SimDisk> crash(Random& random, CrashPolicy policy = {}) const;

  // Records what happens from now on. Requires: no file is open, and all is synced.
  void start_trace();
  const std::vector<TraceEntry>& trace() const { return trace_; }
  // Puts something the program did into the trace, for instance what it acknowledged.
  void note(std::uint64_t value);
  // The notes so far, also of a replay.
  const std::vector<std::uint64_t>& notes() const { return notes_; }
  // The folder as it was after the first so many entries. Requires: start_trace() was called.
  std::unique_ptr<SimDisk> replay_until(std::size_t entries) const;
  // Brings one from replay_until() further.
  void replay_more(SimDisk& past, std::size_t entries) const;

  // Faults ----------------------------------------------------------------------------------

  void inject(const Fault& fault) { faults_.push_back({fault, 0}); }
  void clear_faults() { faults_.clear(); }
  // How many calls failed by fault: 0 says that the run was clean.
  std::uint64_t faults_hit() const { return faults_hit_; }

  void set_failed_sync(FailedSync failed) { failed_sync_ = failed; }
  // The bytes all files may have together, nothing: no limit. Files keep what they have. An open
  // file has its bytes until it is closed.
  void set_capacity(std::optional<std::uint64_t> bytes) { capacity_ = bytes; }
  // From now on a file takes whole blocks of that size, as on a real file system, so that what is
  // given back and what is taken are counted alike. At first a block has one byte.
  void set_block_bytes(std::uint64_t bytes) { block_bytes_ = bytes; }
  // Whether space() says what the capacity leaves. A quota limits a folder and is in no such
  // number.
  void set_tells_space(bool tells) { tells_space_ = tells; }
  std::uint64_t used_bytes() const;

  // Whether syncs and removals that were started end at once (so it is at first) or wait for
  // complete_syncs().
  void set_sync_mode(SyncMode mode) { sync_mode_ = mode; }
  // Ends up to so many of them. On another status than ok they fail; a fault that hit one comes
  // first. Returns how many were left to end.
  std::size_t complete_syncs(std::size_t count = SIZE_MAX, DiskStatus status = DiskStatus::ok);
  std::size_t syncs_under_way() const { return syncs_.size(); }
  // Whether some have ended that were not taken out: a server would be woken by that.
  bool has_ended_syncs() const { return !done_.empty(); }
  // From now on the program must not wait for the disk: a call that blocks ends it.
  void forbid_waiting(bool is_forbidden) { waiting_is_forbidden_ = is_forbidden; }

  // Somebody takes the folder away, or brings one. All of it is durable.
  void set_folder(FolderState state);
  FolderState folder() const { return folder_; }
  // Somebody takes a file away, or all of them. Durably so. Requires: it is there.
  void take_away(const std::string& name);
  void take_away_all();

  // Looking on, and damage --------------------------------------------------------------------

  std::uint64_t calls(DiskCall call) const { return calls_[static_cast<std::size_t>(call)]; }
  std::uint64_t calls() const;  // All, close included.
  // The names that read_ahead() was given.
  const std::vector<std::string>& names_read_ahead() const { return read_ahead_; }
  std::uint64_t bytes_written() const { return bytes_written_; }
  std::size_t open_files() const;

  // What servers note of the folder outside of its files. It takes one sector: a crash leaves one
  // that was written since the last sync of it. The second is durable at once, and not in the
  // trace.
  const FolderNote& folder_note() const { return folder_notes_.back(); }
  void set_folder_note(const FolderNote& note) { folder_notes_ = {note}; }

  bool has(const std::string& name) const { return names_.seen().contains(name); }
  // What a reader would see, and what is durable under names that are. Requires: it is there.
  std::string bytes_of(const std::string& name) const;
  std::string durable_bytes_of(const std::string& name) const;
  bool has_durable(const std::string& name) const { return names_.durable().contains(name); }

  // Puts a durable file there, or replaces one, for what a test begins with. Not in the trace.
  void put(const std::string& name, std::string bytes);
  // Damages a file as it is on the disk. Requires: it is synced, and its bytes are there.
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
    std::string to_remove = {};  // Not empty: a removal, with a sync after it if `has_to_sync`.
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
  // The space that a file of so many bytes takes.
  std::uint64_t taken_by(std::uint64_t bytes) const {
    return (bytes + block_bytes_ - 1) / block_bytes_ * block_bytes_;
  }
  // The bytes that a file may have at most, as far as the capacity goes.
  std::uint64_t size_limit(std::uint32_t file) const;
  DiskStatus resize(std::uint32_t file, std::uint64_t bytes, const std::optional<Fault>& fault);
  DiskStatus remove_now(const std::string& name, const std::optional<Fault>& fault);
  const FolderNote& note_after_crash(Random& random, Unsynced unsynced) const;
  SyncDone end_removal(StartedSync removal, DiskStatus status);
  DiskStatus end_sync(const StartedSync& sync, DiskStatus status, bool takes_effect);

  // All that changes the folder, by the program or in a replay, goes through here.
  void apply(TraceEntry entry);
  void apply_create(const TraceEntry& entry);
  void apply_sync(const TraceEntry& entry);
  void forget_unused_files();

  std::vector<FileState> files_;  // By number; those that are gone stay, empty.
  SimNames names_;
  std::vector<std::uint32_t> handles_;  // By handle, the file or kClosed.
  std::deque<StartedSync> syncs_;
  std::deque<EndedSync> done_;
  std::string last_error_;
  std::vector<FolderNote> folder_notes_{FolderNote{}};  // The durable one first, the last one seen.

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
