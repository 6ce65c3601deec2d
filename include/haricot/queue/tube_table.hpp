// All tubes: creates and frees them, finds them by name or reference, and lists them. The engine
// decides when a tube is freed.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "haricot/base/blob.hpp"
#include "haricot/base/hash_table.hpp"
#include "haricot/base/paged_array.hpp"
#include "haricot/base/ref_table.hpp"
#include "haricot/base/sip_hash.hpp"
#include "haricot/base/turn_limits.hpp"
#include "haricot/queue/tube.hpp"

namespace haricot {

// The names of all tubes as text, one per line, for lists that are too long to be written at once.
//
// A list shows the tubes of one moment, but it is written page by page in several calls, while
// tubes come and go. Before an unwritten page changes for the first time, the table has it written
// (before_change). Lists share equal pages, and so do answers to clients that do not read.
//
// One list is written at a time. A request during a list gets the next one, because the current
// list began before the request.
class TubeTable;

class TubeList {
 public:
  static constexpr std::uint32_t kTubesPerPage = 512;
  using Pages = std::vector<BlobRef>;

  // Requires: the table outlives the list, and reports changes to it.
  explicit TubeList(const TubeTable& tubes) : tubes_(tubes) {}
  TubeList(const TubeList&) = delete;
  TubeList& operator=(const TubeList&) = delete;

  // Requests a list of the tubes at this moment or a later one. Returns its number. Throws
  // std::bad_alloc; nothing is requested then.
  std::uint64_t ask();
  // Writes requested pages, and counts a step for each page and each written name.
  void work(std::uint64_t& steps, const Budget& budget);
  bool is_working() const { return working_; }

  // Returns true if the list of that number, or a later one, has been completed.
  bool is_complete(std::uint64_t number) const { return completed_ >= number; }
  // The last completed list. If memory was short, it has failed and has no pages.
  bool has_failed() const { return complete_failed_; }
  const Pages& pages() const { return *complete_; }
  std::uint64_t bytes() const { return complete_bytes_; }  // Sum of all pages.
  // Shares the pages with an answer that is sent page by page. The pages no longer change.
  std::shared_ptr<const Pages> share_pages() const { return complete_; }
  // Drops the last list. Its pages that are still up to date are kept for the next list.
  void drop_complete() { complete_ = none_; }

  // Called before the tube at that index of the table changes. Returns the number of names that had
  // to be written.
  std::uint32_t before_change(std::uint32_t index);

 private:
  void begin();
  void complete();
  void fail();
  bool save(std::uint32_t page);
  BlobRef write(std::uint32_t page) const;

  const TubeTable& tubes_;
  // Pages that were written and are still up to date; others are null.
  Pages pages_;

  bool working_ = false;
  bool next_wanted_ = false;  // A list was requested since the current one began.
  bool failed_ = false;
  std::uint64_t number_ = 0;  // Number of the current or last list.
  std::uint32_t tubes_listed_ = 0;
  std::uint32_t next_page_ = 0;
  Pages saved_;  // Pages of the current list; null: not written yet.

  std::uint64_t completed_ = 0;  // Number of `complete_`.
  bool complete_failed_ = false;
  std::uint64_t complete_bytes_ = 0;
  const std::shared_ptr<const Pages> none_ = std::make_shared<const Pages>();
  std::shared_ptr<const Pages> complete_ = none_;
};

class TubeTable {
 public:
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
