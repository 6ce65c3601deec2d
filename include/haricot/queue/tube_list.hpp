// The names of all tubes as one text, a line each, for lists that are too long to be written at
// once.
//
// A list shows the tubes of one moment, but it is written page by page, in as many calls as it
// takes. Meanwhile tubes come and go. Before a page that is not yet written changes for the first
// time, the table has this page written (before_change). Lists with equal pages share them, and so
// do all answers that wait for clients who do not read.
//
// One list is written at a time. Whoever asks while a list is under way gets the next list, because
// this one began before the question.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "haricot/base/blob.hpp"
#include "haricot/base/budget.hpp"

namespace haricot {

class TubeTable;

class TubeList {
 public:
  static constexpr std::uint32_t kTubesPerPage = 512;
  using Pages = std::vector<BlobRef>;

  // The table outlives the list, and tells it of changes.
  explicit TubeList(const TubeTable& tubes) : tubes_(tubes) {}
  TubeList(const TubeList&) = delete;
  TubeList& operator=(const TubeList&) = delete;

  // Asks for a list of the tubes at this moment or a later one. Returns its number. Throws
  // std::bad_alloc, and then nothing was asked for.
  std::uint64_t ask();
  // Writes pages of what was asked for, and counts a step for each of their tubes.
  void work(std::uint64_t& steps, const Budget& budget);
  bool is_working() const { return working_; }

  // Whether the list of that number, or a later one, is the last that was completed.
  bool is_complete(std::uint64_t number) const { return completed_ >= number; }
  // Of the last list that was completed. Without memory it has failed, and has no pages.
  bool has_failed() const { return complete_failed_; }
  const Pages& pages() const { return *complete_; }
  std::uint64_t bytes() const { return complete_bytes_; }  // Of all pages.
  // Shares the pages with an answer that is sent page by page. The pages do not change any more.
  std::shared_ptr<const Pages> share_pages() const { return complete_; }
  // Gives the last list up; its pages stay for the next one as far as they are still right.
  void drop_complete() { complete_ = none_; }

  // The tube at that index of the table is about to change. Returns how many names had to be
  // written.
  std::uint32_t before_change(std::uint32_t index);

 private:
  void begin();
  void complete();
  void fail();
  bool save(std::uint32_t page);
  BlobRef write(std::uint32_t page) const;

  const TubeTable& tubes_;
  // What was written and is still right; null pages are not.
  Pages pages_;

  bool working_ = false;
  bool next_wanted_ = false;  // Somebody asked since the list began.
  bool failed_ = false;
  std::uint64_t number_ = 0;  // Of the list under way, or the last one.
  std::uint32_t tubes_listed_ = 0;
  std::uint32_t next_page_ = 0;
  Pages saved_;  // The pages of the list under way; null: still to be written.

  std::uint64_t completed_ = 0;  // The number of `complete_`.
  bool complete_failed_ = false;
  std::uint64_t complete_bytes_ = 0;
  const std::shared_ptr<const Pages> none_ = std::make_shared<const Pages>();
  std::shared_ptr<const Pages> complete_ = none_;
};

}  // namespace haricot
