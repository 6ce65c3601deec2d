#include "tool/client/put_tags.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/job_tags.hpp"
#include "haricot/base/number.hpp"
#include "haricot/protocol/limits.hpp"

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

// The tag without a blank. Nothing: it is no value of it.
std::optional<std::string> tag_text(std::string_view word, std::string_view value) {
  std::string text = std::string(word) + ":";
  text += value;
  JobTags tags;
  return value.find(' ') == std::string_view::npos && read_tags(text, tags) ? std::optional(text)
                                                                            : std::nullopt;
}

// Takes the next word off the front of a line.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

}  // namespace

bool PutTags::add(std::string_view word, std::string_view value) {
  const std::optional<std::string> tag = tag_text(word, value);
  if (tag) text_ += " " + *tag;
  return tag.has_value();
}

PutTags tags_of(const StatsText& job) {
  PutTags tags;
  for (const std::string_view word : kTagWords) {
    const std::string* value = job.find(word);
    // What a newer server may write there is no value for this tool to send.
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
  // beanstalkd answers UNKNOWN_COMMAND; whatever else is no list says as little of tags.
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
    const bool is_used = tags.text().find(" " + std::string(word) + ":") != std::string::npos;
    if (!is_used || has(word)) continue;
    missing_ = word;
    // It asks for the server's version, once.
    if (word != refused_) {
      server_.refuse("the tag " + std::string(word) + " of put", ReplyCode::unknown_command, {});
    }
    refused_ = word;
    return false;
  }
  return true;
}

std::optional<KeyHolder> read_key_holder(std::string_view line) {
  if (take_word(line) != "INSERTED") return std::nullopt;
  const std::optional<std::uint64_t> id = read_number(take_word(line));
  const std::string_view state = take_word(line);
  const auto* const row =
      std::find_if(std::begin(kStates), std::end(kStates),
                   [state](const StateRow& one) { return one.answer == state; });
  if (!id || row == std::end(kStates)) return std::nullopt;
  KeyHolder holder{.id = *id, .state = row->name, .priority = {}};
  if (line.empty()) return holder;
  holder.priority = read_number(line);
  return holder.priority ? std::optional(holder) : std::nullopt;
}

std::string describe(const KeyHolder& holder) {
  const bool is_gone = holder.state == "deleted";
  std::string text = is_gone ? "a job that is gone still has this key: "
                             : "a job with this key is there already: ";
  text += std::to_string(holder.id) + ", " + std::string(holder.state);
  if (holder.priority) text += ", now with priority " + std::to_string(*holder.priority);
  return text;
}

}  // namespace haricot::tool
