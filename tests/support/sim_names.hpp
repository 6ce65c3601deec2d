// The names in the simulated folder, those that are seen and those that would survive a crash.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace haricot::binlog {

// What a crash makes of names that were created, renamed, removed, but not synced. A rename is
// always whole: the file has the one name or the other.
enum class UnsyncedNames : std::uint8_t {
  lost,       // All changes.
  kept,       // All changes.
  in_order,   // Kept up to one, lost from there on: what file systems with a journal do.
  any_order,  // Each for itself: all that is promised.
  any,        // One of these.
};

class SimNames {
 public:
  using Map = std::map<std::string, std::uint32_t>;  // To the number of the file.

  const Map& seen() const { return seen_; }
  const Map& durable() const { return durable_; }
  bool is_clean() const { return changes_.empty(); }

  void set(const std::string& name, std::uint32_t file);
  void rename(const std::string& from, const std::string& to);  // Requires: `from` is there.
  void remove(const std::string& name);
  // As if it had always been there.
  void put(const std::string& name, std::uint32_t file);

  std::uint64_t changes_made() const { return changes_made_; }
  void commit(std::uint64_t changes);

  Map after_crash(test::Random& random, UnsyncedNames policy) const;
  // Whether any name, now or after a crash, may lead to the file.
  bool may_need(std::uint32_t file) const;

 private:
  struct Change {
    std::uint64_t number;  // From 1.
    std::string removed;   // Empty: nothing.
    std::string set;       // Empty: nothing.
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
