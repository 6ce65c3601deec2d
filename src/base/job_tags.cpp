#include "haricot/base/job_tags.hpp"

#include <charconv>
#include <cstring>

#include "haricot/base/check.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"

namespace haricot {
namespace {

// One row per tag: reading and writing its value.
struct TagRow {
  std::string_view word;
  // Returns false if the tag cannot have this value.
  bool (*read)(std::string_view value, JobTags& tags);
  bool (*is_set)(const JobTags& tags);
  // Requires: the tag is set. Views of the text that was read refer to `text` afterwards.
  void (*write)(JobTags& tags, TagText& text);
};

bool read_number_up_to(std::string_view text, std::uint32_t max, std::uint32_t& value) {
  const auto number = read_number(text);
  if (!number || *number > max) return false;
  value = static_cast<std::uint32_t>(*number);
  return true;
}

// <key>[:<n>]; a key has no colon.
bool read_lane(std::string_view value, JobTags& tags) {
  const std::size_t colon = value.find(':');
  tags.lane = value.substr(0, colon);
  tags.lane_limit = 1;
  if (!is_tag_key(tags.lane)) return false;
  if (colon == std::string_view::npos) return true;
  return read_number_up_to(value.substr(colon + 1), kLaneLimitMax, tags.lane_limit) &&
         tags.lane_limit > 0;
}

void write_lane(JobTags& tags, TagText& text) {
  tags.lane = text.add(tags.lane);
  if (tags.lane_limit == 1) return;
  text.add(":");
  text.add(tags.lane_limit);
}

// <key>[:<seconds>]
bool read_unique_key(std::string_view value, JobTags& tags) {
  const std::size_t colon = value.find(':');
  tags.unique_key = value.substr(0, colon);
  tags.tombstone_s = 0;
  if (!is_tag_key(tags.unique_key)) return false;
  if (colon == std::string_view::npos) return true;
  return read_number_up_to(value.substr(colon + 1), kTombstoneSecondsMax, tags.tombstone_s) &&
         tags.tombstone_s > 0;
}

void write_unique_key(JobTags& tags, TagText& text) {
  tags.unique_key = text.add(tags.unique_key);
  if (tags.tombstone_s == 0) return;
  text.add(":");
  text.add(tags.tombstone_s);
}

constexpr std::array kTagTable = {
    TagRow{.word = "try",
           .read =
               [](std::string_view value, JobTags& tags) {
                 return read_number_up_to(value, kTriesMax, tags.tries) && tags.tries > 0;
               },
           .is_set = [](const JobTags& tags) { return tags.tries > 0; },
           .write = [](JobTags& tags, TagText& text) { text.add(tags.tries); }},
    TagRow{.word = "con",
           .read = read_lane,
           .is_set = [](const JobTags& tags) { return !tags.lane.empty(); },
           .write = write_lane},
    TagRow{.word = "idp",
           .read = read_unique_key,
           .is_set = [](const JobTags& tags) { return !tags.unique_key.empty(); },
           .write = write_unique_key},
    TagRow{.word = "grp",
           .read = [](std::string_view value,
                      JobTags& tags) { return is_tag_key(tags.group = value); },
           .is_set = [](const JobTags& tags) { return !tags.group.empty(); },
           .write = [](JobTags& tags, TagText& text) { tags.group = text.add(tags.group); }},
    TagRow{.word = "aft",
           .read = [](std::string_view value,
                      JobTags& tags) { return is_tag_key(tags.after = value); },
           .is_set = [](const JobTags& tags) { return !tags.after.empty(); },
           .write = [](JobTags& tags, TagText& text) { tags.after = text.add(tags.after); }},
};

constexpr auto make_words() {
  std::array<std::string_view, kTagTable.size()> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = kTagTable[i].word;
  return words;
}
constexpr auto kTagWords = make_words();

// Removes the first tag of a text and returns it.
std::string_view next_tag(std::string_view& text) {
  const std::string_view tag = text.substr(0, text.find(' '));
  text.remove_prefix(tag.size());
  if (!text.empty()) text.remove_prefix(1);
  return tag;
}

// Returns the row of a tag and its value; null if there is no such tag.
const TagRow* find_row(std::string_view tag, std::string_view& value) {
  const std::size_t colon = tag.find(':');
  if (colon == std::string_view::npos) return nullptr;
  value = tag.substr(colon + 1);
  for (const TagRow& row : kTagTable) {
    if (row.word == tag.substr(0, colon)) return &row;
  }
  return nullptr;
}

// Not inlined, because it would slow down the common case.
[[gnu::noinline]] bool read_each_tag(std::string_view text, JobTags& tags) {
  if (text.empty() || text.size() > kTagTextBytesMax || text.back() == ' ') return false;
  tags = JobTags{};
  while (!text.empty()) {
    std::string_view value;
    const TagRow* row = find_row(next_tag(text), value);
    if (row == nullptr || row->is_set(tags) || !row->read(value, tags)) return false;
  }
  // A job must not wait for a group that it is in.
  return tags.group.empty() || tags.group != tags.after;
}

}  // namespace

std::span<const std::string_view> tag_words() {
  return kTagWords;
}

bool read_tags(std::string_view text, JobTags& tags) {
  // Common case: only a key, which has no blank.
  if (text.starts_with(kKeyPrefix) && is_tag_key(text.substr(kKeyPrefix.size()))) {
    tags = JobTags{};
    tags.unique_key = text.substr(kKeyPrefix.size());
    return true;
  }
  return read_each_tag(text, tags);
}

JobTags tags_in(std::string_view text) {
  JobTags tags;
  while (!text.empty()) {
    std::string_view value;
    const TagRow* row = find_row(next_tag(text), value);
    if (row == nullptr) continue;
    JobTags with = tags;
    if (row->read(value, with)) tags = with;
  }
  return tags;
}

JobTags TagText::write(const JobTags& tags) {
  clear();
  JobTags written = tags;
  const bool has_key_alone = tags.tries == 0 && tags.lane.empty() && tags.tombstone_s == 0 &&
                             !tags.unique_key.empty() && !tags.names_group();
  if (has_key_alone) {
    // The text that was read has it in the same form.
    const std::string_view key = tags.unique_key;
    const std::size_t prefix = kKeyPrefix.size();
    written.unique_key = add({key.data() - prefix, prefix + key.size()}).substr(prefix);
    return written;
  }
  for (const TagRow& row : kTagTable) {
    if (!row.is_set(tags)) continue;
    if (!empty()) add(" ");
    add(row.word);
    add(":");
    row.write(written, *this);
  }
  return written;
}

JobTags TagText::write_tombstone_key(std::string_view key, std::uint32_t seconds) {
  clear();
  add(kKeyPrefix);
  JobTags tags{.tombstone_s = seconds, .unique_key = key};
  write_unique_key(tags, *this);
  return tags;
}

bool is_tag_key(std::string_view text) {
  return !text.empty() && text.size() <= kKeyBytesMax && has_only_name_bytes(text);
}

bool is_tag_text(std::string_view text) {
  if (text.size() > kTagTextBytesMax) return false;
  JobTags tags;
  return text.empty() || (read_tags(text, tags) && TagText(tags).view() == text);
}

std::string_view TagText::add(std::string_view text) {
  CHECK(has_room(text.size()));
  char* const to = bytes_.data() + size_;
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  size_ = static_cast<std::uint8_t>(size_ + text.size());
  return {to, text.size()};
}

void TagText::add(std::uint64_t number) {
  std::array<char, 20> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  add(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

}  // namespace haricot
