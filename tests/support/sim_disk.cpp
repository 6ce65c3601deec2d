#include "support/sim_disk.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "haricot/base/check.hpp"

namespace haricot::binlog {
namespace {

constexpr std::uint32_t kClosed = std::numeric_limits<std::uint32_t>::max();
using Kind = TraceEntry::Kind;
using SyncEffect = TraceEntry::SyncEffect;

TraceEntry entry_of(Kind kind, std::uint32_t file, std::uint64_t value = 0) {
  TraceEntry entry;
  entry.kind = kind;
  entry.file = file;
  entry.value = value;
  return entry;
}

TraceEntry entry_of(Kind kind, const std::string& name, const std::string& to = {}) {
  TraceEntry entry;
  entry.kind = kind;
  entry.name = name;
  entry.to = to;
  return entry;
}

}  // namespace

// Calls ---------------------------------------------------------------------------------------

std::optional<Fault> SimDisk::begin(DiskCall call) {
  ++calls_[static_cast<std::size_t>(call)];
  std::optional<Fault> hit;
  for (ArmedFault& armed : faults_) {
    const Fault& fault = armed.fault;
    if (fault.call ? *fault.call != call : call == DiskCall::close) continue;
    ++armed.seen;
    const bool hits = armed.seen == fault.nth || (fault.lasts && armed.seen > fault.nth);
    if (hits && !hit) hit = fault;
  }
  if (hit) ++faults_hit_;
  return hit;
}

DiskStatus SimDisk::fail(DiskStatus status, std::string_view why) {
  last_error_ = why;
  return status;
}

std::uint32_t SimDisk::file_of(FileHandle handle) const {
  const auto index = static_cast<std::size_t>(handle);
  CHECK(index < handles_.size() && handles_[index] != kClosed);
  return handles_[index];
}

std::uint32_t SimDisk::file_named(const std::string& name) const {
  const auto found = names_.seen().find(name);
  CHECK(found != names_.seen().end());
  return found->second;
}

DiskStatus SimDisk::list(std::vector<std::string>& names) {
  names.clear();
  if (const auto fault = begin(DiskCall::list)) return fail_by(*fault);
  if (!is_in_folder()) return DiskStatus::ok;  // The folder lists no files.
  for (const auto& [name, file] : names_.seen()) names.push_back(name);
  return DiskStatus::ok;
}

DiskStatus SimDisk::read(const std::string& name, FileBytes& bytes) {
  const auto fault = begin(DiskCall::read);
  if (fault && fault->takes_file_away) take_away(name);
  if (fault && !fault->takes_file_away) return fail_by(*fault);
  if (!has(name)) return fail(DiskStatus::missing, "no such file");
  const Image& image = files_[file_named(name)].file.seen();
  if (!bytes.resize(image.size)) return fail(DiskStatus::failed, "no memory");
  const auto zeros_from = image.bytes.copy(bytes.data(), image.bytes.size());
  std::fill(bytes.data() + zeros_from, bytes.data() + image.size, '\0');
  return DiskStatus::ok;
}

DiskStatus SimDisk::create(const std::string& name, FileHandle& file) {
  const auto fault = begin(DiskCall::create);
  if (!is_file_name(name)) return fail(DiskStatus::failed, "not a file's name");
  if (!is_in_folder()) return fail_without_folder();
  if (fault && !fault->takes_effect) return fail_by(*fault);
  apply(entry_of(Kind::create, name));
  const std::uint32_t number = file_named(name);
  if (fault) {
    apply(entry_of(Kind::close, number));
    return fail_by(*fault);
  }
  file = static_cast<FileHandle>(handles_.size());
  handles_.push_back(number);
  return DiskStatus::ok;
}

DiskStatus SimDisk::open_existing(const std::string& name, FileHandle& file) {
  const auto fault = begin(DiskCall::open_existing);
  if (!has(name)) return fail(DiskStatus::failed, "no such file");
  if (fault) return fail_by(*fault);
  const std::uint32_t number = file_named(name);
  apply(entry_of(Kind::open, number));
  file = static_cast<FileHandle>(handles_.size());
  handles_.push_back(number);
  return DiskStatus::ok;
}

bool SimDisk::space(DiskSpace& space) const {
  if (!capacity_ || !tells_space_) return false;
  const std::uint64_t used = used_bytes();
  space = {*capacity_ > used ? *capacity_ - used : 0, *capacity_};
  return true;
}

std::uint64_t SimDisk::size_limit(std::uint32_t file) const {
  if (!capacity_) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t used = used_bytes();
  const std::uint64_t free = *capacity_ > used ? *capacity_ - used : 0;
  return taken_by(files_[file].file.seen().size) + free / block_bytes_ * block_bytes_;
}

DiskStatus SimDisk::resize(std::uint32_t file, std::uint64_t bytes,
                           const std::optional<Fault>& fault) {
  if (fault && !fault->takes_effect) return fail_by(*fault);
  if (bytes > size_limit(file)) return fail(DiskStatus::full, "no space left");
  if (bytes != files_[file].file.seen().size) apply(entry_of(Kind::resize, file, bytes));
  return fault ? fail_by(*fault) : DiskStatus::ok;
}

DiskStatus SimDisk::allocate(FileHandle file, std::uint64_t bytes) {
  const auto fault = begin(DiskCall::allocate);
  const std::uint32_t number = file_of(file);
  return resize(number, std::max(bytes, files_[number].file.seen().size), fault);
}

DiskStatus SimDisk::truncate(FileHandle file, std::uint64_t bytes) {
  const auto fault = begin(DiskCall::truncate);
  const std::uint32_t number = file_of(file);
  return resize(number, std::min(bytes, files_[number].file.seen().size), fault);
}

DiskStatus SimDisk::write(FileHandle file, std::uint64_t offset,
                          std::span<const std::string_view> pieces) {
  const auto fault = begin(DiskCall::write);
  TraceEntry entry = entry_of(Kind::write, file_of(file));
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (fault && !fault->takes_effect && i == fault->pieces_written) {
      limit = entry.bytes.size() + std::min(fault->bytes_written, pieces[i].size());
    }
    entry.bytes.append(pieces[i]);
  }
  if (entry.bytes.size() > limit) entry.bytes.resize(limit);

  // A write that grows the file is limited by the space; a write within it needs none.
  const std::uint64_t size = files_[entry.file].file.seen().size;
  const bool grows = offset + entry.bytes.size() > size;
  const std::uint64_t most = grows ? size_limit(entry.file) : size;
  const bool is_full = offset + entry.bytes.size() > most;
  if (is_full) entry.bytes.resize(most > offset ? most - offset : 0);

  bytes_written_ += entry.bytes.size();
  entry.offset = offset;
  if (!entry.bytes.empty()) apply(std::move(entry));
  if (fault) return fail_by(*fault);
  return is_full ? fail(DiskStatus::full, "no space left") : DiskStatus::ok;
}

void SimDisk::close(FileHandle file) {
  begin(DiskCall::close);
  const std::uint32_t number = file_of(file);
  for (const StartedSync& sync : syncs_) CHECK(sync.of_folder || sync.file != number);
  for (const EndedSync& sync : done_) CHECK(sync.of_folder || sync.file != number);
  handles_[static_cast<std::size_t>(file)] = kClosed;
  apply(entry_of(Kind::close, number));
}

DiskStatus SimDisk::rename(const std::string& from, const std::string& to) {
  const auto fault = begin(DiskCall::rename);
  if (!is_file_name(to)) return fail(DiskStatus::failed, "not a file's name");
  if (!has(from)) return fail(DiskStatus::failed, "no such file");
  if (fault && !fault->takes_effect) return fail_by(*fault);
  apply(entry_of(Kind::rename, from, to));
  return fault ? fail_by(*fault) : DiskStatus::ok;
}

DiskStatus SimDisk::remove(const std::string& name) {
  const auto fault = begin(DiskCall::remove);
  return remove_now(name, fault);
}

DiskStatus SimDisk::remove_now(const std::string& name, const std::optional<Fault>& fault) {
  if (!has(name)) return fail(DiskStatus::failed, "no such file");
  if (fault && !fault->takes_effect) return fail_by(*fault);
  apply(entry_of(Kind::remove, name));
  return fault ? fail_by(*fault) : DiskStatus::ok;
}

// Files that disappear ----------------------------------------------------------------------------

Presence SimDisk::look_for(FileHandle file, const std::string& name) {
  if (folder_ != FolderState::there) {
    last_error_ = "there is no such folder any more";
    return Presence::folder_gone;
  }
  const auto found = names_.seen().find(name);
  const bool is_there =
      found != names_.seen().end() && (file == FileHandle::none || found->second == file_of(file));
  if (is_there) return Presence::there;
  last_error_ = name + " is gone";
  return Presence::file_gone;
}

DiskStatus SimDisk::return_to_folder(bool& is_new) {
  is_new = false;
  if (const auto fault = begin(DiskCall::return_to_folder)) return fail_by(*fault);
  switch (folder_) {
    case FolderState::there:
      return DiskStatus::ok;
    case FolderState::moved:
    case FolderState::removed:
      return fail(DiskStatus::failed, "there is no such folder any more");
    case FolderState::foreign:
      return fail(DiskStatus::failed, "another server uses the folder");
    case FolderState::replaced:
      break;
  }
  is_new = true;
  folder_ = FolderState::there;
  return DiskStatus::ok;
}

void SimDisk::set_folder(FolderState state) {
  folder_ = state;
  if (!is_in_folder()) take_away_all();
}

void SimDisk::take_away(const std::string& name) {
  CHECK(has(name));
  apply(entry_of(Kind::remove, name));
  TraceEntry sync = entry_of(Kind::folder_sync, 0, names_.changes_made());
  sync.effect = SyncEffect::durable;
  apply(std::move(sync));
}

void SimDisk::take_away_all() {
  const SimNames::Map all = names_.seen();
  for (const auto& [name, file] : all) take_away(name);
}

// Syncs ---------------------------------------------------------------------------------------

DiskStatus SimDisk::end_sync(const StartedSync& sync, DiskStatus status, bool takes_effect) {
  TraceEntry entry =
      entry_of(sync.of_folder ? Kind::folder_sync : Kind::sync, sync.file, sync.changes);
  entry.status = status;
  if (status == DiskStatus::ok || takes_effect) {
    entry.effect = SyncEffect::durable;
  } else if (failed_sync_ == FailedSync::drops) {
    entry.effect = SyncEffect::in_doubt;
  }
  apply(std::move(entry));
  return status == DiskStatus::ok ? status : fail(status, "the sync failed");
}

DiskStatus SimDisk::sync(FileHandle file) {
  CHECK(!waiting_is_forbidden_);
  const auto fault = begin(DiskCall::sync);
  const std::uint32_t number = file_of(file);
  const StartedSync sync{0, false, number, files_[number].file.changes_made(), {}};
  return end_sync(sync, fault ? fault->status : DiskStatus::ok, fault && fault->takes_effect);
}

DiskStatus SimDisk::sync_file(const std::string& name) {
  CHECK(!waiting_is_forbidden_);
  const auto fault = begin(DiskCall::sync);
  if (!has(name)) return fail(DiskStatus::failed, "no such file");
  const std::uint32_t number = file_named(name);
  const StartedSync sync{0, false, number, files_[number].file.changes_made(), {}};
  return end_sync(sync, fault ? fault->status : DiskStatus::ok, fault && fault->takes_effect);
}

DiskStatus SimDisk::sync_folder() {
  CHECK(!waiting_is_forbidden_);
  const auto fault = begin(DiskCall::sync_folder);
  const StartedSync sync{0, true, 0, names_.changes_made(), {}};
  return end_sync(sync, fault ? fault->status : DiskStatus::ok, fault && fault->takes_effect);
}

void SimDisk::start_sync(FileHandle file, std::uint64_t ticket) {
  CHECK(syncs_.size() + done_.size() < kSyncsUnderWayMax);
  StartedSync sync{ticket, file == FileHandle::none, 0, names_.changes_made(),
                   begin(DiskCall::start_sync)};
  if (!sync.of_folder) {
    sync.file = file_of(file);
    sync.changes = files_[sync.file].file.changes_made();
  }
  syncs_.push_back(sync);
  if (sync_mode_ == SyncMode::at_once) complete_syncs();
}

void SimDisk::start_remove(const std::string& name, bool sync, std::uint64_t ticket) {
  CHECK(syncs_.size() + done_.size() < kSyncsUnderWayMax && is_file_name(name));
  StartedSync removal{ticket, true, 0, 0, {}, name, sync, begin(DiskCall::remove)};
  if (sync) removal.fault = begin(DiskCall::start_sync);
  syncs_.push_back(removal);
  if (sync_mode_ == SyncMode::at_once) complete_syncs();
}

SyncDone SimDisk::end_removal(StartedSync removal, DiskStatus status) {
  SyncDone done{.ticket = removal.ticket};
  if (removal.has_to_sync && folder_notes_.size() > 1) apply(entry_of(Kind::folder_note_sync, 0U));
  done.removal = remove_now(removal.to_remove, removal.removal_fault);
  if (done.removal != DiskStatus::ok || !removal.has_to_sync) return done;
  removal.changes = names_.changes_made();
  const DiskStatus ends = removal.fault ? removal.fault->status : status;
  done.status = end_sync(removal, ends, removal.fault && removal.fault->takes_effect);
  return done;
}

void SimDisk::write_note(const FolderNote& note) {
  TraceEntry entry = entry_of(Kind::folder_note, 0U);
  entry.folder_note = note;
  apply(std::move(entry));
}

void SimDisk::sync_note() {
  CHECK(!waiting_is_forbidden_);
  apply(entry_of(Kind::folder_note_sync, 0U));
}

void SimDisk::wait_for_sync() {
  CHECK(!waiting_is_forbidden_);
  if (done_.empty()) complete_syncs(1);
}

std::size_t SimDisk::complete_syncs(std::size_t count, DiskStatus status) {
  for (; count > 0 && !syncs_.empty(); --count) {
    const StartedSync sync = syncs_.front();
    syncs_.pop_front();
    if (!sync.to_remove.empty()) {
      done_.push_back({end_removal(sync, status), true, 0});
      continue;
    }
    const DiskStatus ends = sync.fault ? sync.fault->status : status;
    const DiskStatus ended = end_sync(sync, ends, sync.fault && sync.fault->takes_effect);
    done_.push_back({{.ticket = sync.ticket, .status = ended}, sync.of_folder, sync.file});
  }
  return syncs_.size();
}

bool SimDisk::next_sync_done(SyncDone& done) {
  if (done_.empty()) return false;
  done = done_.front().done;
  done_.pop_front();
  return true;
}

// Effects on the folder ---------------------------------------------------------------------------

void SimDisk::apply(TraceEntry entry) {
  switch (entry.kind) {
    case Kind::create:
      apply_create(entry);
      break;
    case Kind::write:
      files_[entry.file].file.write(entry.offset, entry.bytes);
      break;
    case Kind::resize:
      files_[entry.file].file.resize(entry.value);
      break;
    case Kind::open:
      ++files_[entry.file].opens;
      break;
    case Kind::close:
      --files_[entry.file].opens;
      forget_unused_files();
      break;
    case Kind::rename:
      names_.rename(entry.name, entry.to);
      break;
    case Kind::remove:
      names_.remove(entry.name);
      break;
    case Kind::sync:
    case Kind::folder_sync:
      apply_sync(entry);
      break;
    case Kind::folder_note:
      folder_notes_.push_back(entry.folder_note);
      break;
    case Kind::folder_note_sync:
      folder_notes_.erase(folder_notes_.begin(), folder_notes_.end() - 1);
      break;
    case Kind::note:
      notes_.push_back(entry.value);
      break;
  }
  if (tracing_) trace_.push_back(std::move(entry));
}

void SimDisk::apply_create(const TraceEntry& entry) {
  if (!has(entry.name)) {
    names_.set(entry.name, static_cast<std::uint32_t>(files_.size()));
    files_.emplace_back();
  }
  FileState& state = files_[file_named(entry.name)];
  state.file.resize(0);
  ++state.opens;
}

void SimDisk::apply_sync(const TraceEntry& entry) {
  if (entry.effect == SyncEffect::none) return;
  const bool durable = entry.effect == SyncEffect::durable;
  if (entry.kind == Kind::folder_sync) {
    // Names that could not be synced remain changes: the next good sync writes them.
    if (durable) names_.commit(entry.value);
    forget_unused_files();
  } else if (durable) {
    files_[entry.file].file.commit(entry.value);
  } else {
    files_[entry.file].file.put_in_doubt(entry.value);
  }
}

void SimDisk::forget_unused_files() {
  for (std::uint32_t i = 0; i < files_.size(); ++i) {
    FileState& state = files_[i];
    const bool is_empty = state.file.is_clean() && state.file.seen().size == 0;
    if (!is_empty && state.opens == 0 && !names_.may_need(i)) state.file = SimFile();
  }
}

// Crashes ---------------------------------------------------------------------------------------

const FolderNote& SimDisk::note_after_crash(Random& random, Unsynced unsynced) const {
  if (unsynced == Unsynced::lost) return folder_notes_.front();
  if (unsynced == Unsynced::kept) return folder_notes_.back();
  return folder_notes_[random.below(folder_notes_.size())];
}

std::unique_ptr<SimDisk> SimDisk::crash(Random& random, CrashPolicy policy) const {
  auto crashed = std::make_unique<SimDisk>();
  crashed->capacity_ = capacity_;
  crashed->block_bytes_ = block_bytes_;
  crashed->set_folder_note(note_after_crash(random, policy.data));
  for (const auto& [name, file] : names_.after_crash(random, policy.names)) {
    const auto number = static_cast<std::uint32_t>(crashed->files_.size());
    crashed->names_.put(name, number);
    crashed->files_.push_back({SimFile(files_[file].file.after_crash(random, policy.data)), 0});
  }
  return crashed;
}

void SimDisk::start_trace() {
  CHECK(names_.is_clean() && syncs_.empty());
  for (const FileState& state : files_) CHECK(state.opens == 0 && state.file.is_clean());
  tracing_ = true;
  trace_base_files_ = files_;
  trace_base_names_ = names_;
  trace_base_notes_ = {folder_note()};
  trace_.clear();
  notes_.clear();
}

void SimDisk::note(std::uint64_t value) {
  apply(entry_of(Kind::note, 0, value));
}

std::unique_ptr<SimDisk> SimDisk::replay_until(std::size_t entries) const {
  CHECK(tracing_);
  auto past = std::make_unique<SimDisk>();
  past->capacity_ = capacity_;
  past->block_bytes_ = block_bytes_;
  past->folder_notes_ = trace_base_notes_;
  past->files_ = trace_base_files_;
  past->names_ = trace_base_names_;
  replay_more(*past, entries);
  return past;
}

void SimDisk::replay_more(SimDisk& past, std::size_t entries) const {
  CHECK(entries <= trace_.size() && past.replayed_ <= entries);
  while (past.replayed_ < entries) past.apply(trace_[past.replayed_++]);
}

// Inspection --------------------------------------------------------------------------------------

std::size_t SimDisk::open_files() const {
  return handles_.size() -
         static_cast<std::size_t>(std::count(handles_.begin(), handles_.end(), kClosed));
}

}  // namespace haricot::binlog
