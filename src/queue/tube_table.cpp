#include "haricot/queue/tube_table.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

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

// TubeList ---------------------------------------------------------------------------------------

std::uint64_t TubeList::ask() {
  if (working_) {
    next_wanted_ = true;
    return number_ + 1;
  }
  begin();
  return number_;
}

void TubeList::begin() {
  const std::uint32_t tubes = tubes_.size();
  pages_.resize((tubes + kTubesPerPage - 1) / kTubesPerPage);
  saved_ = pages_;
  tubes_listed_ = tubes;
  next_page_ = 0;
  failed_ = false;
  working_ = true;
  ++number_;
}

void TubeList::work(std::uint64_t& steps, const Budget& budget) {
  while (working_ && !failed_ && next_page_ < saved_.size()) {
    if (budget.is_used_up()) return;
    ++steps;
    if (!saved_[next_page_]) {
      steps += kTubesPerPage;
      if (!save(next_page_)) break;
    }
    ++next_page_;
  }
  if (working_) complete();
}

// Writes the page as it was when the list began: before_change() would have saved it before any
// later change.
bool TubeList::save(std::uint32_t page) {
  CHECK(working_ && page < saved_.size() && saved_.size() == pages_.size());
  if (!pages_[page]) pages_[page] = write(page);
  saved_[page] = pages_[page];
  if (!saved_[page]) failed_ = true;
  return !failed_;
}

void TubeList::complete() {
  CHECK(working_ && completed_ < number_);
  complete_ = none_;
  try {
    if (!failed_) complete_ = std::make_shared<const Pages>(std::move(saved_));
  } catch (const std::bad_alloc&) {
    failed_ = true;
  }
  complete_bytes_ = 0;
  for (const BlobRef& page : *complete_) complete_bytes_ += page.size();
  Pages().swap(saved_);
  if (failed_) Pages().swap(pages_);
  completed_ = number_;
  complete_failed_ = failed_;
  working_ = false;
  if (!std::exchange(next_wanted_, false)) return;
  try {
    begin();
  } catch (const std::bad_alloc&) {
    ++number_;
    fail();
  }
}

void TubeList::fail() {
  completed_ = number_;
  complete_failed_ = true;
  drop_complete();
}

std::uint32_t TubeList::before_change(std::uint32_t index) {
  const std::uint32_t page = index / kTubesPerPage;
  if (page >= pages_.size()) return 0;
  std::uint32_t written = 0;
  if (working_ && !failed_ && !saved_[page]) {
    save(page);
    written = kTubesPerPage;
  }
  pages_[page] = BlobRef();
  return written;
}

// Returns null if memory is short.
BlobRef TubeList::write(std::uint32_t page) const {
  constexpr std::string_view kBefore = "- ";
  const std::uint32_t first = page * kTubesPerPage;
  const std::uint32_t end = std::min(tubes_listed_, first + kTubesPerPage);
  CHECK(first < end);
  std::size_t bytes = 0;
  for (std::uint32_t i = first; i < end; ++i) bytes += tubes_.at(i).name.size();
  BlobRef blob = BlobRef::allocate(bytes + (end - first) * (kBefore.size() + 1));
  if (!blob) return blob;
  char* to = blob.data();
  for (std::uint32_t i = first; i < end; ++i) {
    const std::string_view name = tubes_.at(i).name;
    std::memcpy(to, kBefore.data(), kBefore.size());
    std::memcpy(to + kBefore.size(), name.data(), name.size());
    to += kBefore.size() + name.size();
    *to++ = '\n';
  }
  return blob;
}

// TubeTable --------------------------------------------------------------------------------------

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
