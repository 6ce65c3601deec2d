// The tags of a job: options that a producer adds after the four numbers of a put.
//
// A text of tags is a list of `word:value`, separated by single blanks: in any order in the line of
// a put, and in the order of tag_rows.inc everywhere else. A job stores its tags as such a text, in
// memory and in the binlog, and each reader parses it. A text is short, and few jobs have one.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace haricot {

// Maximum bytes of a text; the line of a put has room for no more.
inline constexpr std::size_t kTagTextBytesMax = 210;
// Maximum bytes of a key.
inline constexpr std::size_t kKeyBytesMax = 100;
// Maximum limit of a lane.
inline constexpr std::uint32_t kLaneLimitMax = 65535;
// Maximum time that a key outlives its job.
inline constexpr std::uint32_t kTombstoneSecondsMax = 4294967295;
// Maximum number of tries.
inline constexpr std::uint32_t kTriesMax = 65535;
// Maximum delay of a backoff, and its bound if a put names none.
inline constexpr std::uint32_t kBackoffSecondsMax = 4294967295;
inline constexpr std::uint32_t kBackoffSecondsBound = 3600;

// Names of all tags, in the order of their rows.
enum class Tag : std::uint8_t {
#define HARICOT_TAG(tag, ...) tag,
#include "haricot/base/tag_rows.inc"
};
inline constexpr std::size_t kTags =
    std::initializer_list<Tag>{
#define HARICOT_TAG(tag, ...) Tag::tag,
#include "haricot/base/tag_rows.inc"
    }
        .size();

// A set of tags, in one byte.
class TagSet {
 public:
  constexpr TagSet() = default;
  constexpr explicit TagSet(std::uint8_t bits) : bits_(bits) {}
  constexpr TagSet(std::initializer_list<Tag> tags) {
    for (const Tag tag : tags) add(tag);
  }

  constexpr void add(Tag tag) { bits_ = static_cast<std::uint8_t>(bits_ | bit(tag)); }
  constexpr bool has(Tag tag) const { return (bits_ & bit(tag)) != 0; }
  constexpr bool has_any(TagSet others) const { return (bits_ & others.bits_) != 0; }
  constexpr std::uint8_t bits() const { return bits_; }
  constexpr bool operator==(const TagSet&) const = default;

 private:
  static constexpr unsigned bit(Tag tag) { return 1U << static_cast<unsigned>(tag); }
  static_assert(kTags <= 8, "more tags need a second byte, in StoredTags too");

  std::uint8_t bits_ = 0;
};

// Values of the tags of a job. A field for each part of a value; a new tag adds its own.
struct JobTags {
  TagSet set = {};  // The tags that have a value.
  // try:<n>[:quiet]: the release that ends the last try is answered as if the job had no limit.
  bool tries_are_quiet = false;
  bool is_after_any = false;  // `any` of aft.
  std::uint32_t tries = 0;    // 1 to kTriesMax. 0: no such tag.
  // con:<key>[:<n>]: 1 to kKeyBytesMax bytes that a tube's name may have. Empty: no such tag.
  std::string_view lane = {};
  std::uint32_t lane_limit = 1;  // 1 to kLaneLimitMax.
  // Seconds of idp: time by which the key outlives the job, 1 to kTombstoneSecondsMax. 0: it ends
  // with the job. Placed here to fill padding.
  std::uint32_t tombstone_s = 0;
  // idp:<key>[:<seconds>]: 1 to kKeyBytesMax bytes that a tube's name may have. Empty: no such tag.
  std::string_view unique_key = {};
  // grp:<name> and aft:<name>[:any], never with the same name. Empty: no such tag.
  std::string_view group = {};
  std::string_view after = {};
  // back:<seconds>[:<max>], 1 to kBackoffSecondsMax. 0: no such tag. A bound below the seconds
  // counts as the seconds.
  std::uint32_t backoff_s = 0;
  std::uint32_t backoff_max_s = 0;
};

// A number in the value of a tag. The smallest one is 1.
struct TagNumber {
  std::uint32_t JobTags::*field = nullptr;
  std::uint32_t max = 0;
  std::uint32_t otherwise = 0;  // Value of the field if a value lacks the number.
  bool is_seconds = false;

  constexpr bool exists() const { return field != nullptr; }
};

// Form of the value of a tag: a key or a number, and perhaps a colon and a number or a word behind
// it.
struct TagValue {
  std::string_view JobTags::*key = nullptr;  // Null: the value begins with the number `head`.
  TagNumber head = {};
  TagNumber tail = {};
  std::string_view word = {};  // Empty: no word follows.
  bool JobTags::*has_word = nullptr;

  // Returns true if each value is a single number, perhaps with a word.
  constexpr bool is_plain_number() const { return key == nullptr && !tail.exists(); }
  constexpr bool has_tail() const { return tail.exists() || !word.empty(); }
};

// Forms of values, for the rows. A key has 1 to kKeyBytesMax bytes that a tube's name may have.
namespace tag_forms {
// <n>
constexpr TagValue number(std::uint32_t JobTags::*number, std::uint32_t max) {
  return {.head = {.field = number, .max = max}};
}
// <n>[:<word>]
constexpr TagValue number_and_word(std::uint32_t JobTags::*number, std::uint32_t max,
                                   std::string_view word, bool JobTags::*has_word) {
  return {.head = {.field = number, .max = max}, .word = word, .has_word = has_word};
}
// <key>
constexpr TagValue key(std::string_view JobTags::*key) {
  return {.key = key};
}
// <key>[:<n>]
constexpr TagValue key_and_number(std::string_view JobTags::*key, std::uint32_t JobTags::*number,
                                  std::uint32_t max, std::uint32_t otherwise) {
  return {.key = key, .tail = {.field = number, .max = max, .otherwise = otherwise}};
}
// <seconds>[:<seconds>]
constexpr TagValue seconds_and_seconds(std::uint32_t JobTags::*seconds,
                                       std::uint32_t JobTags::*then, std::uint32_t max,
                                       std::uint32_t otherwise) {
  return {.head = {.field = seconds, .max = max, .is_seconds = true},
          .tail = {.field = then, .max = max, .otherwise = otherwise, .is_seconds = true}};
}
// <key>[:<seconds>]; without a time the field is 0.
constexpr TagValue key_and_seconds(std::string_view JobTags::*key, std::uint32_t JobTags::*seconds,
                                   std::uint32_t max) {
  return {.key = key, .tail = {.field = seconds, .max = max, .is_seconds = true}};
}
// <key>[:<word>]
constexpr TagValue key_and_word(std::string_view JobTags::*key, std::string_view word,
                                bool JobTags::*has_word) {
  return {.key = key, .word = word, .has_word = has_word};
}
}  // namespace tag_forms

// Jobs whose copies get a tag.
enum class TagCopies : std::uint8_t {
  always,
  while_held,  // A job that no longer waits for its group is copied without the tag.
};

// Permission for a tag in the rules of the operator.
enum class TagRules : std::uint8_t { may_have, may_not_have };

// Columns of a tag's row that all layers use.
struct TagRow {
  Tag tag;
  std::string_view word;
  TagValue value;
  TagCopies copied;
  TagRules rules;
  std::string_view flag;
  std::string_view metavar;
  std::string_view help;
};

inline constexpr std::array<TagRow, kTags> kTagTable = {{
#define HARICOT_TAG(tag, word, value, part, node, copied, rules, flag, metavar, help, ...) \
  {Tag::tag, word, tag_forms::value, TagCopies::copied, TagRules::rules, flag, metavar, help},
#include "haricot/base/tag_rows.inc"
}};

constexpr const TagRow& row_of(Tag tag) {
  return kTagTable[static_cast<std::size_t>(tag)];
}
// Returns null if no tag has the word.
constexpr const TagRow* find_tag(std::string_view word) {
  for (const TagRow& row : kTagTable) {
    if (row.word == word) return &row;
  }
  return nullptr;
}

// Prefix of the key of `idp`, the most frequent tag.
inline constexpr std::string_view kKeyPrefix = "idp:";
static_assert(kKeyPrefix.substr(0, kKeyPrefix.size() - 1) == row_of(Tag::unique).word);

// A text of tags and its values, parsed once.
struct ReadTags {
  ReadTags() = default;
  // `tags_` refers to `text_`.
  ReadTags(std::string_view text_, const JobTags& tags_) : text(text_), tags(tags_) {}

  std::string_view text;
  JobTags tags;
};

// Returns true if a parsed text is a single `idp` without seconds. Such a text needs no sorting.
inline bool is_key_alone(const ReadTags& read) {
  const std::size_t key_bytes = read.tags.unique_key.size();
  return key_bytes > 0 && read.text.size() == kKeyPrefix.size() + key_bytes;
}

// Parses the tags of a put. Returns false if the text is malformed or names a tag twice; then
// `tags` is undefined. The tags refer to the text.
[[nodiscard]] bool read_tags(std::string_view text, JobTags& tags);

// Returns the tags with those of `others` that they lack.
JobTags with_missing(const JobTags& tags, const JobTags& others);

// Parses a stored text. Skips tags of later versions. The tags refer to the text.
JobTags tags_in(std::string_view text);
// Returns the value of a tag as a stored text has it; empty if the text lacks the tag.
std::string_view value_in(std::string_view text, Tag tag);

// Returns true for 1 to kKeyBytesMax bytes that a tube's name may have.
[[nodiscard]] bool is_tag_key(std::string_view text);
// Returns true if a job can have that text: tags in the order of tag_rows.inc, or none.
[[nodiscard]] bool is_tag_text(std::string_view text);

// A text of tags that owns its bytes.
class TagText {
 public:
  TagText() = default;
  // Requires: the tags were parsed from a text of at most kTagTextBytesMax bytes.
  explicit TagText(const JobTags& tags) { write(tags); }

  std::string_view view() const { return {bytes_.data(), size_}; }
  bool empty() const { return size_ == 0; }
  bool has_room(std::size_t bytes) const { return bytes_.size() - size_ >= bytes; }
  // Appends bytes and returns them; the result refers to this text. Requires: there is room.
  std::string_view add(std::string_view text);
  void add(std::uint64_t number);
  void clear() { size_ = 0; }
  // Replaces the text by these tags. Returns the tags, which refer to this text. Requires: as for
  // the constructor, and `tags` do not refer to this text.
  JobTags write(const JobTags& tags);
  // Replaces the text by a key that outlives its job. Returns it like write().
  JobTags write_tombstone_key(std::string_view key, std::uint32_t seconds);

 private:
  std::array<char, kTagTextBytesMax> bytes_;
  std::uint8_t size_ = 0;
};

}  // namespace haricot
