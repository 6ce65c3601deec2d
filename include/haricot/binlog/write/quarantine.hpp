// Keeps copies of unreadable data under names that nothing removes.
//
// A copy is written under a temporary name, synced and renamed. So after a crash no partial copy
// has the name of a whole one. Each copy has its own number in its name, so no copy replaces
// another.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/file_identity.hpp"

namespace haricot::binlog {

class Quarantine {
 public:
  // The disk outlives this.
  explicit Quarantine(Disk& disk) : disk_(disk) {}
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  // Function that makes a name from a file number and a serial number, such as damaged_name().
  using NameOf = std::string (*)(std::uint64_t number, std::uint64_t serial);

  struct Kept {
    std::string name;
    bool is_new = false;  // False: a copy with the same bytes existed.
  };
  // Keeps a copy of these bytes of a file. It is durable after sync(). May throw std::bad_alloc,
  // like all functions here.
  [[nodiscard]] DiskStatus keep(std::string_view bytes, std::uint64_t number, NameOf name_of,
                                Kept& kept);
  // Renames a file; `to` is set to the new name.
  [[nodiscard]] DiskStatus move(const std::string& from, std::uint64_t number, NameOf name_of,
                                std::string& to);
  // Makes new names durable, if there are any.
  [[nodiscard]] DiskStatus sync();

 private:
  DiskStatus list();
  bool has(std::string_view name) const;
  DiskStatus find_copy(std::string_view bytes, std::uint64_t number, NameOf name_of, Kept& kept);
  DiskStatus free_name(std::uint64_t number, NameOf name_of, std::string& name);

  Disk& disk_;
  std::vector<std::string> names_;  // Names in the folder.
  bool is_listed_ = false;
  bool has_to_sync_ = false;
};

// Moves a file out of the way of the next start: removes it, or renames it if `has_to_be_kept`,
// because a part was unreadable and there is no copy. May throw std::bad_alloc.
[[nodiscard]] DiskStatus remove_or_keep(Disk& disk, std::uint64_t number, bool has_to_be_kept);

}  // namespace haricot::binlog
