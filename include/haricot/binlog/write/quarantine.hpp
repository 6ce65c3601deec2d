// Puts away what nobody understood, under names that nothing removes.
//
// A copy is written under a temporary name, synced and renamed. So after a crash no half of a copy
// has the name of a whole one. Each copy has its own number in its name, so no copy replaces
// another.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/binlog/disk.hpp"
#include "haricot/binlog/format/file_name.hpp"

namespace haricot::binlog {

class Quarantine {
 public:
  // The disk outlives this.
  explicit Quarantine(Disk& disk) : disk_(disk) {}
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  // How a name is made of the number of a file and a serial number: damaged_name() and such.
  using NameOf = std::string (*)(std::uint64_t number, std::uint64_t serial);

  struct Kept {
    std::string name;
    bool is_new = false;  // Else a copy with the same bytes was there.
  };
  // Keeps a copy of these bytes of a file. It is durable after sync(). All of these may throw
  // std::bad_alloc.
  [[nodiscard]] DiskStatus keep(std::string_view bytes, std::uint64_t number, NameOf name_of,
                                Kept& kept);
  // Gives a file another name, which is then `to`.
  [[nodiscard]] DiskStatus move(const std::string& from, std::uint64_t number, NameOf name_of,
                                std::string& to);
  // Makes sure that the names survive a loss of power, if any is new.
  [[nodiscard]] DiskStatus sync();

 private:
  DiskStatus list();
  bool has(std::string_view name) const;
  DiskStatus find_copy(std::string_view bytes, std::uint64_t number, NameOf name_of, Kept& kept);
  DiskStatus free_name(std::uint64_t number, NameOf name_of, std::string& name);

  Disk& disk_;
  std::vector<std::string> names_;  // Of the folder.
  bool is_listed_ = false;
  bool has_to_sync_ = false;
};

// Takes a file out of the way of the next start: removes it, or gives it another name if it
// `has_to_be_kept`, because not all of it could be read and there is no copy. May throw
// std::bad_alloc.
[[nodiscard]] DiskStatus remove_or_keep(Disk& disk, std::uint64_t number, bool has_to_be_kept);

}  // namespace haricot::binlog
