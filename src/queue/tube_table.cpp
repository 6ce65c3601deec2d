#include "haricot/queue/tube_table.hpp"

#include <functional>
#include <memory>
#include <new>
#include <string>

#include "haricot/base/check.hpp"

namespace haricot {
namespace {

std::uint64_t hash_of(std::string_view name) {
  return std::hash<std::string_view>{}(name);
}

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
  return by_name_.find(hash_of(name), [name](const Tube& tube) { return tube.name == name; });
}

Tube* TubeTable::create(std::string_view name) {
  std::unique_ptr<Tube> tube = make_tube(name);
  if (tube == nullptr || !listed_.reserve_one()) return nullptr;
  tube->ref = by_ref_.add(tube.get());
  if (tube->ref == TubeRef{}) return nullptr;
  tube->hash = hash_of(name);
  if (!by_name_.insert(*tube)) {
    by_ref_.drop(tube->ref);
    return nullptr;
  }
  tube->place = listed_.size();
  listed_.push_back(tube.get());
  return tube.release();
}

void TubeTable::destroy(Tube& tube) {
  by_name_.erase(tube);
  Tube* last = listed_.back();
  listed_[tube.place] = last;
  last->place = tube.place;
  listed_.pop_back();
  by_ref_.drop(tube.ref);
  delete &tube;
}

}  // namespace haricot
