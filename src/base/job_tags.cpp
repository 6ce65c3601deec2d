#include "haricot/base/job_tags.hpp"

#include <charconv>
#include <cstring>

#include "haricot/base/check.hpp"
#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"

namespace haricot {
namespace {

bool read_tag_number(std::string_view text, const TagNumber& form, JobTags& tags) {
  const auto number = read_number(text);
  if (!number || *number == 0 || *number > form.max) return false;
  tags.*form.field = static_cast<std::uint32_t>(*number);
  return true;
}

// Parses a value. Returns false if it does not have the form; then its fields are undefined.
bool read_value(const TagRow& row, std::string_view value, JobTags& tags) {
  const TagValue& form = row.value;
  const std::size_t colon = value.find(':');  // A key and a number have none.
  const std::string_view head = value.substr(0, colon);
  if (form.key != nullptr) {
    tags.*form.key = head;
    if (!is_tag_key(head)) return false;
  } else if (!read_tag_number(head, form.head, tags)) {
    return false;
  }
  tags.set.add(row.tag);
  if (form.tail.exists()) tags.*form.tail.field = form.tail.otherwise;
  if (colon == std::string_view::npos) return true;
  const std::string_view tail = value.substr(colon + 1);
  if (form.word.empty()) return form.tail.exists() && read_tag_number(tail, form.tail, tags);
  tags.*form.has_word = true;
  return tail == form.word;
}

// Appends a value. The key in `tags` refers to `text` afterwards. Requires: the tag has a value.
void write_value(const TagValue& form, JobTags& tags, TagText& text) {
  if (form.key != nullptr) {
    tags.*form.key = text.add(tags.*form.key);
  } else {
    text.add(tags.*form.head.field);
  }
  if (!form.word.empty() && tags.*form.has_word) {
    text.add(":");
    text.add(form.word);
  }
  if (!form.tail.exists() || tags.*form.tail.field == form.tail.otherwise) return;
  text.add(":");
  text.add(tags.*form.tail.field);
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
    if (row == nullptr || tags.set.has(row->tag) || !read_value(*row, value, tags)) {
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
    tags.set = {Tag::unique};
    tags.unique_key = text.substr(kKeyPrefix.size());
    return true;
  }
  return read_each_tag(text, tags);
}

JobTags with_missing(const JobTags& tags, const JobTags& others) {
  JobTags all = tags;
  for (const TagRow& row : kTagTable) {
    if (all.set.has(row.tag) || !others.set.has(row.tag)) continue;
    all.set.add(row.tag);
    const TagValue& form = row.value;
    if (form.key != nullptr) all.*form.key = others.*form.key;
    for (const TagNumber& number : {form.head, form.tail}) {
      if (number.exists()) all.*number.field = others.*number.field;
    }
    if (form.has_word != nullptr) all.*form.has_word = others.*form.has_word;
  }
  return all;
}

JobTags tags_in(std::string_view text) {
  JobTags tags;
  while (!text.empty()) {
    std::string_view value;
    const TagRow* row = find_row(next_tag(text), value);
    if (row == nullptr) continue;
    JobTags with = tags;
    if (read_value(*row, value, with)) tags = with;
  }
  return tags;
}

std::string_view value_in(std::string_view text, Tag tag) {
  std::string_view found;
  while (!text.empty()) {
    std::string_view value;
    const TagRow* row = find_row(next_tag(text), value);
    JobTags tags;
    if (row == &row_of(tag) && read_value(*row, value, tags)) found = value;
  }
  return found;
}

JobTags TagText::write(const JobTags& tags) {
  clear();
  JobTags written = tags;
  if (tags.set == TagSet{Tag::unique} && tags.tombstone_s == 0) {
    // The text that was read has it in the same form.
    const std::string_view key = tags.unique_key;
    const std::size_t prefix = kKeyPrefix.size();
    written.unique_key = add({key.data() - prefix, prefix + key.size()}).substr(prefix);
    return written;
  }
  for (const TagRow& row : kTagTable) {
    if (!tags.set.has(row.tag)) continue;
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
  JobTags tags{.set = {Tag::unique}, .tombstone_s = seconds, .unique_key = key};
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
