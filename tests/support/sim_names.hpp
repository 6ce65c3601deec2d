// The names in the simulated folder: the visible ones, and those that would survive a crash.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace haricot::binlog {

// Effect of a crash on names that were created, renamed or removed, but not synced. A rename is
// atomic: the file has one name or the other.
enum class UnsyncedNames : std::uint8_t {
  lost,       // All changes.
  kept,       // All changes.
  in_order,   // Kept up to one, then lost, as on file systems with a journal.
  any_order,  // Independently: the only guarantee.
  any,        // One of these.
};

class SimNames {
 public:
  using Map = std::map<std::string, std::uint32_t>;  // Maps to numbers of files.

  const Map& seen() const { return seen_; }
  const Map& durable() const { return durable_; }
  bool is_clean() const { return changes_.empty(); }

  void set(const std::string& name, std::uint32_t file);
  void rename(const std::string& from, const std::string& to);  // Requires: `from` exists.
  void remove(const std::string& name);
  // Adds a durable name.
  void put(const std::string& name, std::uint32_t file);

  std::uint64_t changes_made() const { return changes_made_; }
  void commit(std::uint64_t changes);

  Map after_crash(test::Random& random, UnsyncedNames policy) const;
  // Returns true if any name, now or after a crash, may lead to the file.
  bool may_need(std::uint32_t file) const;

 private:
  struct Change {
    std::uint64_t number;  // Starts at 1.
    std::string removed;   // Empty: none.
    std::string set;       // Empty: none.
    std::uint32_t file;
  };

  void change(Change change);
  static void apply(Map& names, const Change& change);

  Map seen_;
  Map durable_;
  std::vector<Change> changes_;
  std::uint64_t changes_made_ = 0;
};

}  // namespace haricot::binlog
