// All tubes: found by name, by reference, or one after another. Makes and frees them; when a tube
// goes is the engine's to decide.

#pragma once

#include <cstdint>
#include <string_view>

#include "haricot/base/hash_table.hpp"
#include "haricot/base/paged_array.hpp"
#include "haricot/base/ref_table.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

class TubeTable {
 public:
  TubeTable() = default;
  ~TubeTable();
  TubeTable(const TubeTable&) = delete;
  TubeTable& operator=(const TubeTable&) = delete;

  // Null: there is no such tube.
  Tube* find(std::string_view name) const;
  // Null: no memory, and nothing has changed. Requires: there is no such tube.
  [[nodiscard]] Tube* create(std::string_view name);
  // Requires: nothing refers to the tube, and its timer is not set.
  void destroy(Tube& tube);

  // Requires: the tube exists.
  Tube& operator[](TubeRef ref) const { return *by_ref_[ref]; }

  // The tubes in the order in which they were made, except that the last one takes the place of one
  // that goes. (Compat: the order of list-tubes, docs/compatibility.md.)
  std::uint32_t size() const { return listed_.size(); }
  const Tube& at(std::uint32_t place) const { return *listed_[place]; }

 private:
  HashTable<Tube> by_name_;
  PagedArray<Tube*> listed_;
  RefTable<Tube, TubeRef> by_ref_;
};

}  // namespace haricot
