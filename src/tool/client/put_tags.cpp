#include "tool/client/put_tags.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/job_tags.hpp"
#include "haricot/protocol/limits.hpp"
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

// Returns the flag of `put` that makes the tag. Requires: the word is one of kTagWords.
std::string_view flag_of(std::string_view word) {
  if (word == kTriesTag) return "--tries";
  if (word == kLaneTag) return "--concurrency";
  if (word == kUniqueTag) return "--unique";
  return word == kGroupTag ? "--group" : "--after";
}

// Returns the tag without a leading blank, or nothing if the value is invalid for it.
std::optional<std::string> tag_text(std::string_view word, std::string_view value) {
  std::string text = std::string(word) + ":";
  text += value;
  JobTags tags;
  return value.find(' ') == std::string_view::npos && read_tags(text, tags) ? std::optional(text)
                                                                            : std::nullopt;
}

}  // namespace

bool PutTags::add(std::string_view word, std::string_view value) {
  const std::optional<std::string> tag = tag_text(word, value);
  if (tag) text_ += " " + *tag;
  return tag.has_value();
}

std::string_view PutTags::value(std::string_view word) const {
  const std::string front = " " + std::string(word) + ":";
  const std::size_t at = text_.find(front);
  if (at == std::string::npos) return {};
  const std::string_view rest = std::string_view(text_).substr(at + front.size());
  return rest.substr(0, rest.find(' '));
}

bool is_held(const StatsText& job) {
  return job.is_true("held");
}

PutTags tags_of(const StatsText& job) {
  PutTags tags;
  for (const std::string_view word : kTagWords) {
    const std::string* value = word == kAfterTag && !is_held(job) ? nullptr : job.find(word);
    // Skips values that only a newer server can have.
    if (value != nullptr) static_cast<void>(tags.add(word, *value));
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

std::optional<bool> TagSupport::takes_all() {
  if (!ask()) return std::nullopt;
  return std::all_of(kTagWords.begin(), kTagWords.end(),
                     [this](std::string_view word) { return has(word); });
}

bool TagSupport::takes(const PutTags& tags) {
  missing_ = {};
  if (tags.empty()) return true;
  if (!ask()) return false;
  for (const std::string_view word : kTagWords) {
    if (!tags.has(word) || has(word)) continue;
    missing_ = word;
    // refuse() asks for the server's version, so call it once for each tag.
    if (word != refused_) {
      const std::string name = names_ == Names::flags ? std::string(flag_of(word))
                                                      : "the tag " + std::string(word) + " of put";
      server_.refuse(name, ReplyCode::unknown_command, {});
    }
    refused_ = word;
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
