#include "haricot/queue/tube_list.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/queue/tube_table.hpp"

namespace haricot {

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

}  // namespace haricot
