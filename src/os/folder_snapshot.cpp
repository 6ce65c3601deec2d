#include "os/folder_snapshot.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "haricot/binlog/format/file_name.hpp"
#include "os/file_calls.hpp"
#include "os/folder_lock.hpp"

namespace haricot::os {

using binlog::DiskStatus;
using binlog::FileBytes;

DiskStatus FolderSnapshot::take() {
  constexpr int kTriesMax = 1000;  // A try takes about as long as reading the newest file.
  for (int i = 0; i < kTriesMax; ++i) {
    const Try result = try_to_take();
    is_taken_ = result == Try::good;
    if (is_taken_) return DiskStatus::ok;
    release();
    if (result == Try::failed) return DiskStatus::failed;
  }
  return files_.fail_because("the files of " + files_.path() + " change too quickly to be read");
}

void FolderSnapshot::release() {
  is_taken_ = false;
  kept_.clear();
  newest_ = {};
}

binlog::FolderNote FolderSnapshot::note() const {
  return is_taken_ ? note_ : FolderLock::note_in(files_.descriptor());
}

FolderSnapshot::Try FolderSnapshot::try_to_take() {
  note_ = note();
  std::vector<std::uint64_t> numbers;
  if (!find_numbers(numbers)) return Try::failed;
  kept_.resize(numbers.size());
  if (kept_.empty()) return Try::good;
  for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i].number = numbers[i];
  if (!open_kept()) return Try::changed;
  const File& newest = kept_.back();
  const std::string name = binlog::binlog_file_name(newest.number);
  const bool is_read =
      !newest.file || files_.read_open(newest.file.get(), newest_, name) == DiskStatus::ok;
  if (!find_numbers(numbers)) return Try::failed;
  if (numbers.empty() || numbers.back() != newest.number) return Try::changed;
  // A list may lack a file that gets its name meanwhile, even if it has a newer one.
  const bool are_kept = std::all_of(numbers.begin(), numbers.end(), [this](std::uint64_t number) {
    return std::any_of(kept_.begin(), kept_.end(),
                       [number](const File& held) { return held.number == number; });
  });
  if (!are_kept || note() != note_) return Try::changed;
  return is_read ? Try::good : Try::failed;
}

// Finds the numbers of the existing files, in ascending order. Returns false on failure: see
// last_error().
bool FolderSnapshot::find_numbers(std::vector<std::uint64_t>& numbers) {
  std::vector<std::string> names;
  if (files_.list(names) != DiskStatus::ok) return false;
  numbers.clear();
  for (const std::string& name : names) {
    if (const auto number = binlog::binlog_file_number(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return true;
}

// Opens the newest file, then the others from the oldest on, because that is removed first. Returns
// false if one of them is gone.
bool FolderSnapshot::open_kept() {
  File* before = nullptr;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    File& held = i == 0 ? kept_.back() : kept_[i - 1];
    const std::string name = binlog::binlog_file_name(held.number);
    Descriptor file = files_.open_file(name.c_str(), O_RDONLY | kOpenFlags);
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

void FolderSnapshot::replace_names(std::vector<std::string>& names) const {
  std::erase_if(names, [](const std::string& name) { return binlog::binlog_file_number(name); });
  for (const File& file : kept_) names.push_back(binlog::binlog_file_name(file.number));
}

// Returns null if no such file is kept.
const FolderSnapshot::File* FolderSnapshot::kept_named(const std::string& name) const {
  const auto number = binlog::binlog_file_number(name);
  const auto file = std::find_if(kept_.begin(), kept_.end(),
                                 [number](const File& held) { return held.number == number; });
  return file == kept_.end() ? nullptr : &*file;
}

DiskStatus FolderSnapshot::read(const std::string& name, FileBytes& bytes) {
  if (!binlog::binlog_file_number(name)) return files_.read(name, bytes);
  const File* const file = kept_named(name);
  if (file == nullptr) return files_.fail(ENOENT, "read", name);
  if (!file->file) return files_.read(name, bytes);
  if (file != &kept_.back()) return files_.read_open(file->file.get(), bytes, name);
  if (!bytes.resize(newest_.size())) return files_.fail(ENOMEM, "read", name);
  const std::string_view kept = newest_.view();
  if (!kept.empty()) std::memcpy(bytes.data(), kept.data(), kept.size());
  return DiskStatus::ok;
}

DiskStatus FolderSnapshot::read_ends(const std::string& name, binlog::FileEnds& ends) {
  const File* const kept = kept_named(name);
  if (kept == nullptr || !kept->file) return files_.read_ends(name, ends);
  return files_.read_ends_open(kept->file.get(), ends, name);
}

}  // namespace haricot::os
