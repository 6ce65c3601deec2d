// The tags of a job: options that a producer adds after the four numbers of a put.
//
// They are a text of `tag:value` with one blank between tags: in the line of a put in any order,
// and everywhere else in the order of kTagTable. A job stores its tags in that form, in memory and
// in the binlog, and readers parse the text. A text is short, and few jobs have one.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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
// Prefix of the key of `idp`.
inline constexpr std::string_view kKeyPrefix = "idp:";

struct JobTags {
  std::uint32_t tries = 0;  // try:<n>, 1 to kTriesMax. 0: no such tag.
  // con:<key>[:<n>]: 1 to kKeyBytesMax bytes that a tube's name may have. Empty: no such tag.
  std::string_view lane = {};
  std::uint32_t lane_limit = 1;  // 1 to kLaneLimitMax.
  // Seconds of idp: the key outlives the job for this time, 1 to kTombstoneSecondsMax. 0: it ends
  // with the job. The field stands here because it fills a gap.
  std::uint32_t tombstone_s = 0;
  // idp:<key>[:<seconds>]: 1 to kKeyBytesMax bytes that a tube's name may have. Empty: no such tag.
  std::string_view unique_key = {};
  // grp:<name> and aft:<name>, never with the same name. Empty: no such tag.
  std::string_view group = {};
  std::string_view after = {};

  // Returns true if there is a tag about groups.
  bool names_group() const { return group.size() + after.size() > 0; }
};

// A text of tags and its values, parsed once.
struct ReadTags {
  std::string_view text = {};
  JobTags tags = {};  // Refers to the text.
};

// Returns true if a parsed text is a key and nothing else: such a text is in order.
inline bool is_key_alone(const ReadTags& read) {
  const std::size_t key_bytes = read.tags.unique_key.size();
  return key_bytes > 0 && read.text.size() == kKeyPrefix.size() + key_bytes;
}

// Returns the words of all tags, in their order.
std::span<const std::string_view> tag_words();

// Parses the tags of a put: each at most once. Returns false for another text; then `tags` is
// undefined. The tags refer to the text.
[[nodiscard]] bool read_tags(std::string_view text, JobTags& tags);

// Parses a stored text. Skips tags of later versions. The tags refer to the text.
JobTags tags_in(std::string_view text);

// Returns true for 1 to kKeyBytesMax bytes that a tube's name may have.
[[nodiscard]] bool is_tag_key(std::string_view text);
// Returns true if a job can have that text: tags in their order, or none.
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
