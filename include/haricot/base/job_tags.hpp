// The tags of a job: what a producer says of it after the four numbers of a put.
//
// They are a text, `tag:value` and `tag:value` with one blank between: in the line of a put in any
// order, and everywhere else in the order of kTagTable. So a job keeps its tags in that form, in
// memory as well as in the binlog, and whoever asks for one reads the text. A text is short, and
// few jobs have one.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace haricot {

// A line of a put has room for no more.
inline constexpr std::size_t kTagTextBytesMax = 210;
// The longest key of a tag.
inline constexpr std::size_t kKeyBytesMax = 100;
// The largest limit of a lane.
inline constexpr std::uint32_t kLaneLimitMax = 65535;
// The longest time for which a key outlives its job.
inline constexpr std::uint32_t kTombstoneSecondsMax = 4294967295;
// The largest number of tries.
inline constexpr std::uint32_t kTriesMax = 65535;
// In front of the key of `idp`.
inline constexpr std::string_view kKeyPrefix = "idp:";

struct JobTags {
  std::uint32_t tries = 0;  // try:<n>, 1 to kTriesMax. 0: the job has no such tag.
  // con:<key>[:<n>]: of 1 to kKeyBytesMax bytes as those of a tube's name. Empty: no such tag.
  std::string_view lane = {};
  std::uint32_t lane_limit = 1;  // 1 to kLaneLimitMax.
  // The seconds of idp: for so long the key outlives the job, 1 to kTombstoneSecondsMax. 0: it ends
  // with the job. It stands here because that costs no byte.
  std::uint32_t tombstone_s = 0;
  // idp:<key>[:<seconds>]: of 1 to kKeyBytesMax bytes as those of a tube's name. Empty: no such
  // tag.
  std::string_view unique_key = {};
  // grp:<name> and aft:<name>, never both with the same name: names as keys are. Empty: no such
  // tag.
  std::string_view group = {};
  std::string_view after = {};

  // Whether it says anything of groups.
  bool names_group() const { return group.size() + after.size() > 0; }
};

// A text of tags, and what it says: read once, and carried along.
struct ReadTags {
  std::string_view text = {};
  JobTags tags = {};  // They refer to the text.
};

// Whether a text that was read is a key and nothing else: such a text is in order as it stands.
inline bool is_key_alone(const ReadTags& read) {
  const std::size_t key_bytes = read.tags.unique_key.size();
  return key_bytes > 0 && read.text.size() == kKeyPrefix.size() + key_bytes;
}

// The words of all tags, in their order.
std::span<const std::string_view> tag_words();

// Reads what stands after the numbers of a put: each tag at most once, and nothing else. False: it
// is no such text, and `tags` has no meaning. The tags refer to the text.
[[nodiscard]] bool read_tags(std::string_view text, JobTags& tags);

// The tags in a text that was kept. What a later version may have added is passed over. The tags
// refer to the text.
JobTags tags_in(std::string_view text);

// Whether it is of 1 to kKeyBytesMax bytes as those of a tube's name.
[[nodiscard]] bool is_tag_key(std::string_view text);
// Whether a job can have that text: tags in their order, or none at all.
[[nodiscard]] bool is_tag_text(std::string_view text);

// A text of tags that is complete in itself.
class TagText {
 public:
  TagText() = default;
  // Requires: they were read from a text of at most kTagTextBytesMax bytes.
  explicit TagText(const JobTags& tags) { write(tags); }

  std::string_view view() const { return {bytes_.data(), size_}; }
  bool empty() const { return size_ == 0; }
  bool has_room(std::size_t bytes) const { return bytes_.size() - size_ >= bytes; }
  // Returns what was added: it refers to this text. Requires: there is room.
  std::string_view add(std::string_view text);
  void add(std::uint64_t number);
  void clear() { size_ = 0; }
  // Has these tags instead. Returns the same tags, which refer to this text. Requires: as above,
  // and `tags` do not refer to this text.
  JobTags write(const JobTags& tags);
  // The same for a key that outlives its job, and nothing else.
  JobTags write_tombstone_key(std::string_view key, std::uint32_t seconds);

 private:
  std::array<char, kTagTextBytesMax> bytes_;
  std::uint8_t size_ = 0;
};

}  // namespace haricot
