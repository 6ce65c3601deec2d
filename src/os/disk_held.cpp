// Keeps the files of the binlog as of one moment, for a reader of a folder that a server uses.
//
// Jobs move from the oldest file to the newest, and then the oldest is removed. A reader that opens
// one file after the other may miss a job in both places. So all files are opened first, and the
// newest is read. If there is no newer one afterwards, the open files have everything that was
// recorded up to this moment, because the server changes only the newest file. The note of the
// folder must be the same before and after.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "haricot/binlog/format/file_name.hpp"
#include "haricot/binlog/read/replay.hpp"
#include "os/disk.hpp"
#include "os/file_calls.hpp"
#include "os/folder_lock.hpp"

namespace haricot::os {

using binlog::DiskStatus;
using binlog::FileBytes;

DiskStatus FolderDisk::hold_files() {
  constexpr int kTriesMax = 1000;  // A try takes about as long as reading the newest file.
  for (int i = 0; i < kTriesMax; ++i) {
    const Held held = try_to_hold();
    is_holding_ = held == Held::all;
    if (is_holding_) return DiskStatus::ok;
    release_files();
    if (held == Held::failed) return DiskStatus::failed;
  }
  return fail_because("the files of " + path_ + " change too quickly to be read");
}

void FolderDisk::release_files() {
  is_holding_ = false;
  held_.clear();
  newest_ = {};
}

binlog::FolderNote FolderDisk::note() const {
  return is_holding_ ? held_note_ : FolderLock::note_in(folder_.get());
}

FolderDisk::Held FolderDisk::try_to_hold() {
  held_note_ = note();
  std::vector<std::uint64_t> numbers;
  if (!find_numbers(numbers)) return Held::failed;
  held_.resize(numbers.size());
  if (held_.empty()) return Held::all;
  for (std::size_t i = 0; i < held_.size(); ++i) held_[i].number = numbers[i];
  if (!open_held()) return Held::changed;
  const HeldFile& newest = held_.back();
  const std::string name = binlog::binlog_file_name(newest.number);
  const bool is_read =
      !newest.file || read_open(newest.file.get(), newest_, name) == DiskStatus::ok;
  if (!find_numbers(numbers)) return Held::failed;
  if (numbers.empty() || numbers.back() != newest.number) return Held::changed;
  // A list may lack a file that gets its name meanwhile, even if it has a newer one.
  const bool are_held = std::all_of(numbers.begin(), numbers.end(), [this](std::uint64_t number) {
    return std::any_of(held_.begin(), held_.end(),
                       [number](const HeldFile& held) { return held.number == number; });
  });
  if (!are_held || note() != held_note_) return Held::changed;
  return is_read ? Held::all : Held::failed;
}

// Finds the numbers of the existing files, in ascending order. Returns false on failure: see
// last_error().
bool FolderDisk::find_numbers(std::vector<std::uint64_t>& numbers) {
  std::vector<std::string> names;
  if (list_folder(names) != DiskStatus::ok) return false;
  numbers.clear();
  for (const std::string& name : names) {
    if (const auto number = binlog::binlog_file_number(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return true;
}

// Opens the newest file, then the others from the oldest on, because that is removed first. Returns
// false if one of them is gone.
bool FolderDisk::open_held() {
  HeldFile* before = nullptr;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    HeldFile& held = i == 0 ? held_.back() : held_[i - 1];
    const std::string name = binlog::binlog_file_name(held.number);
    Descriptor file = open_in_folder(name.c_str(), O_RDONLY | kOpenFlags);
    if (!file && errno == ENOENT) return false;
    if (!file && (errno == EMFILE || errno == ENFILE)) {
      // The rest is read by name, which needs one descriptor.
      if (before != nullptr) before->file = Descriptor();
      return true;
    }
    struct stat status {};
    const bool is_plain = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_plain) held.file = std::move(file);
    before = &held;
  }
  return true;
}

// Replaces the names of files of the binlog by those of the kept files.
void FolderDisk::name_held(std::vector<std::string>& names) const {
  std::erase_if(names, [](const std::string& name) { return binlog::binlog_file_number(name); });
  for (const HeldFile& file : held_) names.push_back(binlog::binlog_file_name(file.number));
}

// Returns null if no such file is kept.
const FolderDisk::HeldFile* FolderDisk::held_named(const std::string& name) const {
  const auto number = binlog::binlog_file_number(name);
  const auto file = std::find_if(held_.begin(), held_.end(),
                                 [number](const HeldFile& held) { return held.number == number; });
  return file == held_.end() ? nullptr : &*file;
}

DiskStatus FolderDisk::read_held(const std::string& name, FileBytes& bytes) {
  if (!binlog::binlog_file_number(name)) return read_by_name(name, bytes);
  const HeldFile* const file = held_named(name);
  if (file == nullptr) return fail(ENOENT, "read", name);
  if (!file->file) return read_by_name(name, bytes);
  if (file != &held_.back()) return read_open(file->file.get(), bytes, name);
  if (!bytes.resize(newest_.size())) return fail(ENOMEM, "read", name);
  const std::string_view kept = newest_.view();
  if (!kept.empty()) std::memcpy(bytes.data(), kept.data(), kept.size());
  return DiskStatus::ok;
}

}  // namespace haricot::os
