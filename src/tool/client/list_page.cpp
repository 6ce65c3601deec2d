#include "tool/client/list_page.hpp"

#include <algorithm>
#include <utility>

#include "haricot/base/check.hpp"
#include "haricot/base/number.hpp"
#include "tool/cli/output.hpp"

namespace haricot::tool {
namespace {

// Adds the item that these lines describe. Returns false if they are malformed.
bool add_item(const std::string& lines, ListPage& page) {
  std::optional<StatsText> item = StatsText::parse(std::string(kYamlBegin) + lines);
  if (!item || !item->number("id")) return false;
  page.items.push_back(std::move(*item));
  return true;
}

// Returns true if a line of an item, without its first two characters, is a key with lines below
// it, or one of these lines. Only a newer server could send such keys.
bool is_nested(std::string_view line) {
  const bool is_key_alone = line.ends_with(":\n") && line.find(':') + 2 == line.size();
  return is_key_alone || line.starts_with(' ') || line.starts_with("- ");
}

}  // namespace

std::optional<ListPage> parse_list_page(std::string_view answer, std::string_view name) {
  if (!answer.starts_with(kYamlBegin) || !answer.ends_with('\n')) return std::nullopt;
  answer.remove_prefix(kYamlBegin.size());
  const std::string begin = std::string(name) + ":\n";
  const std::string empty = std::string(name) + ": []\n";
  ListPage page;
  bool has_list = false;
  bool is_in_list = false;
  std::string lines;  // Lines of the current item.
  while (!answer.empty()) {
    const std::size_t bytes = answer.find('\n') + 1;
    std::string_view line = answer.substr(0, bytes);
    answer.remove_prefix(bytes);
    const bool is_first = line.starts_with("- ");
    if (is_first || line.starts_with("  ")) {
      if (!is_in_list) continue;  // Belongs to an unknown key, from a newer server.
      if (is_first && !lines.empty() && !add_item(lines, page)) return std::nullopt;
      if (is_first) lines.clear();
      if (!is_first && lines.empty()) return std::nullopt;
      line.remove_prefix(2);
      if (is_first || !is_nested(line)) lines += line;
      continue;
    }
    is_in_list = line == begin;
    has_list = has_list || is_in_list || line == empty;
    if (line.starts_with("next: ")) {
      line.remove_prefix(6);
      line.remove_suffix(1);
      const std::optional<std::uint64_t> next = read_number(line);
      if (!next) return std::nullopt;
      page.next = *next;
    } else if (line.find(':') == std::string_view::npos) {
      return std::nullopt;
    }  // Ignores other keys, which a newer server may send.
  }
  if (!lines.empty() && !add_item(lines, page)) return std::nullopt;
  return has_list ? std::optional(std::move(page)) : std::nullopt;
}

std::optional<JobPage> parse_job_page(std::string_view answer) {
  std::optional<ListPage> page = parse_list_page(answer, "jobs");
  if (!page) return std::nullopt;
  return JobPage{.next = page->next, .jobs = std::move(page->items)};
}

namespace {

bool ask_texts(Remote& server, const std::string& command, std::span<StatsText> jobs,
               const TakeText& take) {
  std::string commands;
  for (const StatsText& job : jobs) {
    commands += command + " " + std::to_string(job.number("id").value_or(0)) + "\r\n";
  }
  std::size_t at = 0;
  const auto take_answer = [&](const Answer& answer) {
    CHECK(at < jobs.size());
    StatsText& job = jobs[at++];
    // A job that is not found was deleted meanwhile, or has no note.
    if (answer.code == ReplyCode::found) take(job, answer.body);
  };
  return server.ask(command, commands, jobs.size(), take_answer);
}

}  // namespace

bool ask_bodies(Remote& server, std::span<StatsText> jobs, const TakeText& take) {
  return ask_texts(server, "peek", jobs, take);
}

bool ask_notes(Remote& server, std::span<StatsText> jobs, const TakeText& take) {
  return ask_texts(server, "peek-note", jobs, take);
}

void append_cell(std::string& line, std::string_view text, std::size_t width) {
  if (!line.empty()) line += ' ';
  line.append(width - std::min(width, text.size()), ' ');
  line += text;
}

std::string titles_of(std::span<const ListColumn> columns) {
  std::string line;
  for (const ListColumn& column : columns) append_cell(line, column.title, column.width);
  return line;
}

std::string row_of(std::span<const ListColumn> columns, const StatsText& item) {
  std::string line;
  for (const ListColumn& column : columns) {
    const std::string* value = item.find(column.key);
    append_cell(line, value == nullptr ? "-" : safe_word(*value), column.width);
  }
  return line;
}

bool ask_clients(Remote& server, std::uint64_t from, std::uint64_t page_items,
                 const std::function<bool(ListPage& page)>& take) {
  while (true) {
    const std::string command = "list-clients " + std::to_string(from) + " " +
                                std::to_string(std::min(page_items, kPageItemsMax));
    const std::optional<Response> response = server.ask(command, ReplyCode::ok);
    if (!response) return false;
    std::optional<ListPage> page = parse_list_page(response->body, "clients");
    if (!page || (page->next != 0 && page->next <= from)) {
      server.cannot_read(command);
      return false;
    }
    if (!take(*page) || page->next == 0) return true;
    from = page->next;
  }
}

}  // namespace haricot::tool
