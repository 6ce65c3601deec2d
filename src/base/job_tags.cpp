#include "haricot/base/job_tags.hpp"

#include <charconv>
#include <cstring>

#include "haricot/base/check.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"

namespace haricot {
namespace {

bool read_number_up_to(std::string_view text, std::uint32_t max, std::uint32_t& value) {
  const auto number = read_number(text);
  if (!number || *number > max) return false;
  value = static_cast<std::uint32_t>(*number);
  return true;
}

// Parses a value. Returns false if it does not have the form; then its fields are undefined.
bool read_value(const TagValue& form, std::string_view value, JobTags& tags) {
  std::string_view number = value;
  if (!form.is_number()) {
    const std::size_t colon = value.find(':');  // A key has none.
    tags.*form.key = value.substr(0, colon);
    if (!is_tag_key(tags.*form.key)) return false;
    if (form.number == nullptr) return colon == std::string_view::npos;
    tags.*form.number = form.number_default;
    if (colon == std::string_view::npos) return true;
    number = value.substr(colon + 1);
  }
  return read_number_up_to(number, form.number_max, tags.*form.number) && tags.*form.number > 0;
}

// Appends a value. The key in `tags` refers to `text` afterwards. Requires: the tag has a value.
void write_value(const TagValue& form, JobTags& tags, TagText& text) {
  if (!form.is_number()) {
    tags.*form.key = text.add(tags.*form.key);
    if (form.number == nullptr || tags.*form.number == form.number_default) return;
    text.add(":");
  }
  text.add(tags.*form.number);
}

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
  return find_tag(tag.substr(0, colon));
}

// Not inlined, because it would slow down the common case.
[[gnu::noinline]] bool read_each_tag(std::string_view text, JobTags& tags) {
  if (text.empty() || text.size() > kTagTextBytesMax || text.back() == ' ') return false;
  tags = JobTags{};
  while (!text.empty()) {
    std::string_view value;
    const TagRow* row = find_row(next_tag(text), value);
    if (row == nullptr || row->value.is_set(tags) || !read_value(row->value, value, tags)) {
      return false;
    }
  }
  // A job must not wait for a group that it is in.
  return tags.group.empty() || tags.group != tags.after;
}

}  // namespace

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
    if (read_value(row->value, value, with)) tags = with;
  }
  return tags;
}

std::string_view value_in(std::string_view text, Tag tag) {
  std::string_view found;
  while (!text.empty()) {
    std::string_view value;
    const TagRow* row = find_row(next_tag(text), value);
    JobTags tags;
    if (row == &row_of(tag) && read_value(row->value, value, tags)) found = value;
  }
  return found;
}

JobTags TagText::write(const JobTags& tags) {
  clear();
  JobTags written = tags;
  const TagSet set = set_of(tags);
  if (set == TagSet{Tag::unique} && tags.tombstone_s == 0) {
    // The text that was read has it in the same form.
    const std::string_view key = tags.unique_key;
    const std::size_t prefix = kKeyPrefix.size();
    written.unique_key = add({key.data() - prefix, prefix + key.size()}).substr(prefix);
    return written;
  }
  for (const TagRow& row : kTagTable) {
    if (!set.has(row.tag)) continue;
    if (!empty()) add(" ");
    add(row.word);
    add(":");
    write_value(row.value, written, *this);
  }
  return written;
}

JobTags TagText::write_tombstone_key(std::string_view key, std::uint32_t seconds) {
  clear();
  add(kKeyPrefix);
  JobTags tags{.tombstone_s = seconds, .unique_key = key};
  write_value(row_of(Tag::unique).value, tags, *this);
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
