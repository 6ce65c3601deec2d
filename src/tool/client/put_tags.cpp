#include "tool/client/put_tags.hpp"

#include <algorithm>
#include <utility>

#include "haricot/protocol/command.hpp"
#include "haricot/protocol/reply.hpp"

namespace haricot::tool {
namespace {

struct StateRow {
  std::string_view answer;
  std::string_view name;
};
constexpr StateRow kStates[] = {{"READY", "ready"},
                                {"RESERVED", "reserved"},
                                {"DELAYED", "delayed"},
                                {"BURIED", "buried"},
                                {"DELETED", "deleted"}};

// Returns a tag in the form in which jobs have it, or nothing if the value is invalid.
std::optional<TagText> tag_text(const TagRow& tag, std::string_view value) {
  std::string text = std::string(tag.word) + ":";
  text += value;
  JobTags tags;
  if (value.find(' ') != std::string_view::npos || !read_tags(text, tags)) return std::nullopt;
  return TagText(tags);
}

}  // namespace

bool PutTags::add(Tag tag, std::string_view value) {
  const std::optional<TagText> added = tag_text(row_of(tag), value);
  if (!added) return false;
  std::string text = text_ + " ";
  text += added->view();
  // No line has room for more, whatever the tags are: is_too_long().
  const bool may_fit = text.size() - 1 <= kTagTextBytesMax;
  JobTags tags;
  if (may_fit && !read_tags(std::string_view(text).substr(1), tags)) return false;
  text_ = std::move(text);
  return true;
}

bool is_held(const StatsText& job) {
  return job.is_true("held");
}

bool is_copied(const TagRow& tag, bool is_held) {
  return tag.copied == TagCopies::always || is_held;
}

PutTags tags_of(const StatsText& job) {
  PutTags tags;
  for (const TagRow& row : kTagTable) {
    const std::string* value = is_copied(row, is_held(job)) ? job.find(row.word) : nullptr;
    // Skips values that only a newer server can have.
    if (value != nullptr) static_cast<void>(tags.add(row.tag, *value));
  }
  return tags;
}

std::string put_line(const PutNumbers& numbers, const PutTags& tags) {
  std::string line = "put";
  for (const std::uint64_t number :
       {numbers.priority, numbers.delay_s, numbers.ttr_s, numbers.body_bytes}) {
    line += ' ';
    line += std::to_string(number);
  }
  line += tags.text();
  return line += "\r\n";
}

bool is_too_long(std::string_view put_line) {
  return put_line.size() > kLineBytesMax;
}

bool TagSupport::ask() {
  if (words_) return true;
  const std::optional<Response> response = server_.ask("capabilities");
  if (!response) return false;
  // beanstalkd answers UNKNOWN_COMMAND. Any answer that is not a list means no tags.
  if (response->code == ReplyCode::ok) words_ = parse_list(response->body);
  if (!words_) words_.emplace();
  return true;
}

bool TagSupport::has(std::string_view word) const {
  return std::find(words_->begin(), words_->end(), word) != words_->end();
}

std::optional<bool> TagSupport::takes_command(std::string_view word) {
  return ask() ? std::optional(has(word)) : std::nullopt;
}

std::optional<bool> TagSupport::takes_all() {
  if (!ask()) return std::nullopt;
  return std::all_of(kTagTable.begin(), kTagTable.end(),
                     [this](const TagRow& row) { return has(row.word); });
}

bool TagSupport::takes(const PutTags& tags) {
  missing_ = nullptr;
  if (tags.empty()) return true;
  if (!ask()) return false;
  for (const TagRow& row : kTagTable) {
    if (!tags.has(row.tag) || has(row.word)) continue;
    missing_ = &row;
    // refuse() asks for the server's version, so call it once for each tag.
    if (refused_ != &row) {
      const std::string name = names_ == Names::flags
                                   ? "--" + std::string(row.flag)
                                   : "the tag " + std::string(row.word) + " of put";
      server_.refuse(name, ReplyCode::unknown_command, {});
    }
    refused_ = &row;
    return false;
  }
  return true;
}

std::optional<KeyOwner> read_key_owner(std::string_view line) {
  ReplyLine reply;
  if (!read_reply_line(line, reply)) return std::nullopt;
  const bool is_raised = reply.code == ReplyCode::inserted_raised;
  if (!is_raised && reply.code != ReplyCode::inserted_again) return std::nullopt;
  const auto* const row =
      std::find_if(std::begin(kStates), std::end(kStates),
                   [&reply](const StateRow& one) { return one.answer == reply.name; });
  if (row == std::end(kStates)) return std::nullopt;
  KeyOwner owner{.id = reply.number, .state = row->name, .priority = {}};
  if (is_raised) owner.priority = reply.other_number;
  return owner;
}

std::string describe(const KeyOwner& owner) {
  const bool is_gone = owner.state == "deleted";
  std::string text = is_gone ? "the key is still taken: job " : "the key is taken: job ";
  text += std::to_string(owner.id) + ", " + std::string(owner.state);
  if (owner.priority) text += ", now with priority " + std::to_string(*owner.priority);
  return text;
}

}  // namespace haricot::tool
