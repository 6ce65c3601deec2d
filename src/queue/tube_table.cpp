#include "haricot/queue/tube_table.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

std::unique_ptr<Tube> make_tube(std::string_view name) {
  try {
    auto tube = std::make_unique<Tube>();
    tube->name = name;
    return tube;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

TubeTable::~TubeTable() {
  for (std::uint32_t i = 0; i < listed_.size(); ++i) delete listed_[i];
}

Tube* TubeTable::find(std::string_view name) const {
  return find(name, hash_of(key_, name));
}

Tube* TubeTable::create(std::string_view name) {
  return create(name, hash_of(key_, name));
}

Tube* TubeTable::find_or_create(std::string_view name) {
  const std::uint64_t hash = hash_of(key_, name);
  Tube* tube = find(name, hash);
  return tube != nullptr ? tube : create(name, hash);
}

Tube* TubeTable::find(std::string_view name, std::uint64_t hash) const {
  return by_name_.find(hash, [name](const Tube& tube) { return tube.name == name; });
}

Tube* TubeTable::create(std::string_view name, std::uint64_t hash) {
  std::unique_ptr<Tube> tube = make_tube(name);
  if (tube == nullptr || !listed_.allocate_one()) return nullptr;
  tube->ref = by_ref_.add(tube.get());
  if (tube->ref == TubeRef{}) return nullptr;
  tube->hash = hash;
  if (!by_name_.insert(*tube)) {
    by_ref_.drop(tube->ref);
    return nullptr;
  }
  if (list_ != nullptr) list_->before_change(listed_.size());
  name_bytes_ += name.size();
  tube->index = listed_.size();
  listed_.push_back(tube.get());
  CHECK(listed_[tube->index] == tube.get());
  return tube.release();
}

std::uint32_t TubeTable::destroy(Tube& tube) {
  std::uint32_t written = 0;
  if (list_ != nullptr) {
    written = list_->before_change(tube.index) + list_->before_change(listed_.size() - 1);
  }
  CHECK(listed_[tube.index] == &tube && name_bytes_ >= tube.name.size());
  name_bytes_ -= tube.name.size();
  by_name_.erase(tube);
  Tube* last = listed_.back();
  listed_[tube.index] = last;
  last->index = tube.index;
  listed_.pop_back();
  by_ref_.drop(tube.ref);
  delete &tube;
  return written;
}

bool TubeTable::arrange(std::span<Tube* const> tubes) {
  CHECK(list_ == nullptr);
  if (tubes.size() != listed_.size()) return false;
  std::uint32_t index = 0;
  for (Tube* const tube : tubes) tube->index = index++;
  index = 0;
  const bool is_each_once = std::all_of(tubes.begin(), tubes.end(),
                                        [&](const Tube* tube) { return tube->index == index++; });
  index = 0;
  for (Tube* const tube : tubes) {
    if (is_each_once) listed_[index] = tube;
    listed_[index]->index = index;
    ++index;
  }
  return is_each_once;
}

const Tube* TubeTable::first_from(std::string_view name) const {
  const auto precedes = [](const Tube& a, const Tube& b) { return a.name < b.name; };
  if (name == "*") {
    return by_name_.first_from(
        0, [](const Tube&) { return true; }, precedes);
  }
  const std::uint64_t hash = hash_of(key_, name);
  const auto is_after = [&](const Tube& tube) {
    if (tube.hash == hash) return tube.name >= name;
    return HashTable<Tube>::hash_precedes(hash, tube.hash);
  };
  return by_name_.first_from(hash, is_after, precedes);
}

const Tube* TubeTable::after(const Tube& tube) const {
  const auto is_after = [&tube](const Tube& other) {
    if (other.hash == tube.hash) return other.name > tube.name;
    return HashTable<Tube>::hash_precedes(tube.hash, other.hash);
  };
  return by_name_.first_from(tube.hash, is_after,
                             [](const Tube& a, const Tube& b) { return a.name < b.name; });
}

TubeList& TubeTable::list() {
  if (list_ == nullptr) list_ = std::make_unique<TubeList>(*this);
  return *list_;
}

}  // namespace haricot
