#include "haricot/binlog/write/quarantine.hpp"
#include "haricot/binlog/format/file_identity.hpp"

#include <algorithm>

namespace haricot::binlog {
namespace {

// Copies of earlier versions include the zeros at the end of a file.
std::string_view without_zeros_at_end(std::string_view bytes) {
  return bytes.substr(0, bytes.find_last_not_of('\0') + 1);
}

}  // namespace

DiskStatus Quarantine::list() {
  if (is_listed_) return DiskStatus::ok;
  const DiskStatus status = disk_.list(names_);
  is_listed_ = status == DiskStatus::ok;
  return status;
}

bool Quarantine::has(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

// Returns the first unused name. Requires: list().
DiskStatus Quarantine::free_name(std::uint64_t number, NameOf name_of, std::string& name) {
  const DiskStatus status = list();
  if (status != DiskStatus::ok) return status;
  std::uint64_t serial = 1;
  while (has(name_of(number, serial))) ++serial;
  name = name_of(number, serial);
  return DiskStatus::ok;
}

// Finds an existing copy with exactly these bytes; an unreadable one does not count.
DiskStatus Quarantine::find_copy(std::string_view bytes, std::uint64_t number, NameOf name_of,
                                 Kept& kept) {
  const DiskStatus status = list();
  if (status != DiskStatus::ok) return status;
  for (std::uint64_t serial = 1; has(name_of(number, serial)); ++serial) {
    FileBytes copy;
    const std::string name = name_of(number, serial);
    if (disk_.read(name, copy) != DiskStatus::ok ||
        without_zeros_at_end(copy.view()) != without_zeros_at_end(bytes)) {
      continue;
    }
    kept.name = name;
    return DiskStatus::ok;
  }
  return DiskStatus::ok;
}

DiskStatus Quarantine::keep(std::string_view bytes, std::uint64_t number, NameOf name_of,
                            Kept& kept) {
  kept = {};
  DiskStatus status = find_copy(bytes, number, name_of, kept);
  if (status != DiskStatus::ok) return status;
  if (!kept.name.empty()) {
    // The process that made it may have been killed before the name was durable.
    has_to_sync_ = true;
    return DiskStatus::ok;
  }
  std::string name;
  status = free_name(number, name_of, name);
  if (status != DiskStatus::ok) return status;
  const std::string unfinished = name + ".tmp";
  FileHandle file = FileHandle::none;
  status = disk_.create(unfinished, file);
  if (status != DiskStatus::ok) return status;
  status = disk_.write(file, 0, {&bytes, 1});
  if (status == DiskStatus::ok) status = disk_.sync(file);
  disk_.close(file);
  if (status == DiskStatus::ok) status = disk_.rename(unfinished, name);
  if (status != DiskStatus::ok) {
    const DiskStatus removed = disk_.remove(unfinished);
    (void)removed;  // The next attempt overwrites it.
    return status;
  }
  names_.push_back(name);
  kept = {.name = name, .is_new = true};
  has_to_sync_ = true;
  return DiskStatus::ok;
}

DiskStatus Quarantine::move(const std::string& from, std::uint64_t number, NameOf name_of,
                            std::string& to) {
  DiskStatus status = free_name(number, name_of, to);
  if (status == DiskStatus::ok) status = disk_.rename(from, to);
  if (status != DiskStatus::ok) return status;
  names_.push_back(to);
  has_to_sync_ = true;
  return DiskStatus::ok;
}

DiskStatus Quarantine::sync() {
  if (!has_to_sync_) return DiskStatus::ok;
  const DiskStatus status = disk_.sync_folder();
  has_to_sync_ = status != DiskStatus::ok;
  return status;
}

DiskStatus remove_or_keep(Disk& disk, std::uint64_t number, bool has_to_be_kept) {
  const std::string name = binlog_file_name(number);
  if (!has_to_be_kept) return disk.remove(name);
  Quarantine quarantine(disk);
  std::string to;
  return quarantine.move(name, number, damaged_name, to);
}

}  // namespace haricot::binlog
