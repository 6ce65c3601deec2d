// The tags of a put (docs/beyond.md, tags) as the tool sends them: made from flags, from a line
// of JSON, or from a job that a server has listed.
//
// A server that lacks a tag answers BAD_FORMAT, and takes the body for commands. So whoever sends a
// tag asks TagSupport first.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/client/remote.hpp"
#include "tool/client/stats_text.hpp"

namespace haricot::tool {

// Their words, in the order in which the tool writes them. Where a job is shown, its tags are keys
// with these names.
inline constexpr std::string_view kTriesTag = "try";
inline constexpr std::string_view kLaneTag = "con";
inline constexpr std::string_view kUniqueTag = "idp";
inline constexpr std::string_view kGroupTag = "grp";
inline constexpr std::string_view kAfterTag = "aft";
inline constexpr std::array kTagWords = {kTriesTag, kLaneTag, kUniqueTag, kGroupTag, kAfterTag};

// The tags as they follow the numbers of a put: a blank before each of them.
class PutTags final {
 public:
  // Adds a tag. False: it is no value of this tag, and nothing has changed. Requires: the word is
  // one of kTagWords, and no tag with it was added.
  [[nodiscard]] bool add(std::string_view word, std::string_view value);

  bool empty() const { return text_.empty(); }
  // Whether a tag with this word was added, and its value; empty: none was.
  bool has(std::string_view word) const { return !value(word).empty(); }
  std::string_view value(std::string_view word) const;
  // " try:3 con:mail:2", say.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Whether a job of scan-jobs or list-jobs waits for the end of a group.
bool is_held(const StatsText& job);

// The tags of a job of scan-jobs or list-jobs, those that this tool knows: what a put needs to make
// another one like it. A job that waits for its group no more has no `aft`.
PutTags tags_of(const StatsText& job);

// The line of a put, with its CR LF. No server takes one that is_too_long().
struct PutNumbers {
  std::uint64_t priority = 0;
  std::uint64_t delay_s = 0;
  std::uint64_t ttr_s = 0;
  std::uint64_t body_bytes = 0;
};
std::string put_line(const PutNumbers& numbers, const PutTags& tags);
bool is_too_long(std::string_view put_line);

// Which tags a server takes. It is asked once, and only if somebody wants to know.
class TagSupport final {
 public:
  // What messages call a tag: by its word, or by the flag of put that makes it.
  enum class Names : bool { words, flags };

  // The server has to outlive it, and to stay connected.
  explicit TagSupport(Remote& server, Names names = Names::words)
      : server_(server), names_(names) {}

  // False: the server lacks one of these tags, or failed; its failure() says so, and lacks() says
  // which of the two it is. Requires: nothing else has set failure() since this was false.
  [[nodiscard]] bool takes(const PutTags& tags);
  // Whether it takes all tags that this tool knows. Nothing: it failed.
  std::optional<bool> takes_all();
  // Whether the last takes() was false because the server lacks a tag.
  bool lacks() const { return !missing_.empty(); }

 private:
  bool ask();
  // Requires: ask() went well.
  bool has(std::string_view word) const;

  Remote& server_;
  Names names_;
  std::optional<std::vector<std::string>> words_;  // Nothing: it was not asked yet.
  std::string_view missing_;                       // One of kTagWords, or empty.
  std::string_view refused_;                       // What failure() names.
};

// The job that has the key of a put already. The put has made no other one.
struct KeyOwner {
  std::uint64_t id = 0;
  std::string_view state;                 // ready, reserved, delayed, buried or deleted.
  std::optional<std::uint64_t> priority;  // The put has raised it to this.
};

// Nothing: the line is not `INSERTED <id> <STATE> [<pri>]`.
std::optional<KeyOwner> read_key_owner(std::string_view line);

// "a job with this key is there already: 12, ready", and the priority if it was raised.
std::string describe(const KeyOwner& owner);

}  // namespace haricot::tool
