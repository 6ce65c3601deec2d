// The tags of a put (docs/beyond.md, tags), made from flags, from a line of JSON, or from a job
// that a server has listed.
//
// A server that does not know a tag answers BAD_FORMAT and parses the body as commands. So check
// TagSupport before sending a tag.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/base/job_tags.hpp"
#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// Tags in the form that follows the numbers of a put, each after a blank.
class PutTags final {
 public:
  // Adds a tag. Returns false and changes nothing if the value is invalid, or conflicts with a tag
  // that was added. Requires: the tag was not added.
  [[nodiscard]] bool add(Tag tag, std::string_view value);

  bool empty() const { return text_.empty(); }
  // Returns true if the tag was added. value() returns its value, or an empty text.
  bool has(Tag tag) const { return !value(tag).empty(); }
  std::string_view value(Tag tag) const { return value_in(text_, tag); }
  // Returns, for example, " try:3 con:mail:2".
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Returns true if a job of scan-jobs or list-jobs waits for the end of a group.
bool is_held(const StatsText& job);

// Returns true if a copy of a job gets the tag. `is_held`: the job waits for the end of a group.
bool is_copied(const TagRow& tag, bool is_held);

// Returns the tags of a job of scan-jobs or list-jobs that this tool knows and that is_copied().
PutTags tags_of(const StatsText& job);

// The numbers of a put. put_line() returns its line with CR LF; no server accepts a line for which
// is_too_long() is true.
struct PutNumbers {
  std::uint64_t priority = 0;
  std::uint64_t delay_s = 0;
  std::uint64_t ttr_s = 0;
  std::uint64_t body_bytes = 0;
};
std::string put_line(const PutNumbers& numbers, const PutTags& tags);
bool is_too_long(std::string_view put_line);

// The tags that a server accepts. Asks the server once, when they are first needed.
class TagSupport final {
 public:
  // The name of a tag in messages: its word, or the flag of `put` that makes it.
  enum class Names : bool { words, flags };

  // Requires: the server outlives the object and stays connected.
  explicit TagSupport(Remote& server, Names names = Names::words)
      : server_(server), names_(names) {}

  // Returns true if the server knows all these tags. Otherwise, or if the server failed, sets its
  // failure() and returns false; lacks() distinguishes the two cases. A missing tag sets failure()
  // only the first time. Requires: nothing else has set failure() since this returned false.
  [[nodiscard]] bool takes(const PutTags& tags);
  // Returns true if the server accepts all tags that this tool knows; nothing if it failed.
  std::optional<bool> takes_all();
  // Returns true if the server knows this extended command; nothing if it failed.
  std::optional<bool> takes_command(std::string_view word);
  // Returns true if the last takes() returned false because the server does not know a tag.
  bool lacks() const { return missing_ != nullptr; }

 private:
  bool ask();
  // Requires: ask() returned true.
  bool has(std::string_view word) const;

  Remote& server_;
  Names names_;
  std::optional<std::vector<std::string>> words_;  // Tags and commands of the server; empty until
                                                   // it was asked.
  const TagRow* missing_ = nullptr;                // Null: the last takes() has found all.
  const TagRow* refused_ = nullptr;                // The tag that failure() names.
};

// The job that owns the key of a put. The put created no other job.
struct KeyOwner {
  std::uint64_t id = 0;
  std::string_view state;                 // ready, reserved, delayed, buried or deleted.
  std::optional<std::uint64_t> priority;  // Set if the put raised the priority to this.
};

// Returns nothing unless the line is `INSERTED <id> <STATE> [<pri>]`.
std::optional<KeyOwner> read_key_owner(std::string_view line);

// Returns, for example, "the key is taken: job 12, ready", with the priority if it
// was raised.
std::string describe(const KeyOwner& owner);

}  // namespace haricot::tool
