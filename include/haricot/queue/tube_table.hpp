// All tubes: found by name, by reference, or one after another. Makes and frees them; when a tube
// goes is the engine's to decide.

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
  // Clients choose the names, so they must not know the key by which they are hashed.
  explicit TubeTable(const HashKey& key = {}) : key_(key) {}
  ~TubeTable();
  TubeTable(const TubeTable&) = delete;
  TubeTable& operator=(const TubeTable&) = delete;

  // Null: there is no such tube.
  Tube* find(std::string_view name) const;
  // Null: no memory, and nothing has changed. Requires: there is no such tube.
  [[nodiscard]] Tube* create(std::string_view name);
  // The tube of that name, which is made if there is none. Null: no memory, and nothing has
  // changed.
  [[nodiscard]] Tube* find_or_create(std::string_view name);
  // Requires: nothing refers to the tube, and its timer is not set. Returns how many names had to
  // be written for the list under way, if there is one: two pages of it at most.
  std::uint32_t destroy(Tube& tube);

  // Requires: the tube exists.
  Tube& operator[](TubeRef ref) const { return *by_ref_[ref]; }

  // The tubes in the order in which they were made, except that the last one takes the place of one
  // that goes. (Compat: the order of list-tubes, docs/compatibility.md.)
  std::uint32_t size() const { return listed_.size(); }
  const Tube& at(std::uint32_t index) const { return *listed_[index]; }
  // Has them in that order from here on. False: these are not all tubes, each once, and nothing has
  // changed. Requires: nobody has asked for the list.
  [[nodiscard]] bool arrange(std::span<Tube* const> tubes);
  // The tubes in another order, which depends on nothing but their names (and the key). The first
  // function returns the tube of that name or, if there is no such tube, the first that comes after
  // this name; for "*", the first of all. The second returns the tube after a tube. Null: there is
  // none. O(1) on average.
  const Tube* first_from(std::string_view name) const;
  const Tube* after(const Tube& tube) const;

  // Of all names together.
  std::uint64_t name_bytes() const { return name_bytes_; }

  // The list of all names as a text; made when somebody asks for it. Throws std::bad_alloc.
  TubeList& list();
  // Null: nobody has asked.
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
