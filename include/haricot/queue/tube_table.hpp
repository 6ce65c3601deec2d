// All tubes: creates and frees them, finds them by name or reference, and lists them. The engine
// decides when a tube is freed.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/paged_array.hpp"
#include "haricot/base/ref_table.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/queue/tube.hpp"
#include "haricot/queue/tube_list.hpp"

namespace haricot {

class TubeTable {
 public:
  // Names are hashed with `key`. Clients choose the names, so the key must be unknown to them.
  explicit TubeTable(const HashKey& key = {}) : key_(key) {}
  ~TubeTable();
  TubeTable(const TubeTable&) = delete;
  TubeTable& operator=(const TubeTable&) = delete;

  // Returns null if there is no such tube.
  Tube* find(std::string_view name) const;
  // Returns null if memory is short; nothing has changed then. Requires: there is no such tube.
  [[nodiscard]] Tube* create(std::string_view name);
  // Returns the tube of that name, and creates it if necessary. Returns null if memory is short;
  // nothing has changed then.
  [[nodiscard]] Tube* find_or_create(std::string_view name);
  // Frees a tube. Returns how many names had to be written beforehand to a list in progress: at
  // most those of two pages. Requires: nothing refers to the tube, and its timer is not set.
  std::uint32_t destroy(Tube& tube);

  // Requires: the tube exists.
  Tube& operator[](TubeRef ref) const { return *by_ref_[ref]; }

  // Tubes in the order of their creation, except that the last one takes the position of a tube
  // that is freed. (Compat: the order of list-tubes, docs/compatibility.md.)
  std::uint32_t size() const { return listed_.size(); }
  const Tube& at(std::uint32_t index) const { return *listed_[index]; }
  // Reorders the tubes. Returns false and changes nothing if `tubes` does not have all tubes, each
  // once. Requires: list() has not been called.
  [[nodiscard]] bool arrange(std::span<Tube* const> tubes);
  // Iterate over the tubes in the order of their hashes, which depends only on the names and the
  // key. first_from() returns the tube of that name or, if there is none, the first tube after it;
  // for "*", the first of all. after() returns the next tube. Both return null at the end. O(1) on
  // average.
  const Tube* first_from(std::string_view name) const;
  const Tube* after(const Tube& tube) const;

  // Bytes of all names.
  std::uint64_t name_bytes() const { return name_bytes_; }

  // Returns the list of all names as text. The first call creates it, and may throw std::bad_alloc.
  TubeList& list();
  // Returns null if list() has not been called.
  TubeList* list_if_asked() const { return list_.get(); }

 private:
  Tube* find(std::string_view name, std::uint64_t hash) const;
  Tube* create(std::string_view name, std::uint64_t hash);

  HashKey key_;
  HashTable<Tube> by_name_;
  PagedArray<Tube*> listed_;
  std::uint64_t name_bytes_ = 0;
  std::unique_ptr<TubeList> list_;
  RefTable<Tube, TubeRef> by_ref_;
};

}  // namespace haricot
